package results

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func newStore(t *testing.T, root string, quota int64, now *time.Time) *Store {
	s := New(root, quota, func() time.Time { return *now })
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func save(t *testing.T, s *Store, dir, data string) string {
	t.Helper()
	path, err := s.Save(dir, "Read", data)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != data {
		t.Fatalf("stored %d bytes, found %d, %v", len(data), len(got), err)
	}
	return path
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func TestNewTouchesNothing(t *testing.T) {
	root, now := filepath.Join(t.TempDir(), "state", "results"), time.Now()
	s := newStore(t, root, Quota, &now)
	s.Hold("a")
	if exists(filepath.Dir(root)) {
		t.Error("a store that stored nothing made a folder")
	}
	path := save(t, s, s.Hold("a"), "data")
	for p := path; len(p) >= len(filepath.Dir(root)); p = filepath.Dir(p) {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v %v; it must be private", p, info.Mode(), err)
		}
	}
}

func TestCleaning(t *testing.T) {
	root, now := filepath.Join(t.TempDir(), "results"), time.Now()
	live, dead, own := newStore(t, root, 100, &now), newStore(t, root, 100, &now), newStore(t, root, 100, &now)
	inLive := save(t, live, live.Hold("x"), strings.Repeat("l", 30))
	inDead := save(t, dead, dead.Hold("x"), strings.Repeat("d", 30))
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	kept, gone := own.Hold("kept"), own.Hold("gone")
	inKept, inGone := save(t, own, kept, strings.Repeat("k", 20)), save(t, own, gone, strings.Repeat("g", 20))
	own.Release(gone)
	own.Hold("kept")
	own.Release(kept) // still held once

	old := now.Add(-time.Hour)
	if err := os.Chtimes(inDead, old, old); err != nil {
		t.Fatal(err)
	}
	// 100 of 100 bytes are used. Those of the dead server, the oldest, are removed.
	save(t, own, kept, strings.Repeat("n", 20))
	if exists(inDead) || !exists(inGone) || !exists(inKept) || !exists(inLive) {
		t.Errorf("to make room: dead %v, released %v, held %v, live %v", exists(inDead), exists(inGone), exists(inKept), exists(inLive))
	}
	save(t, own, kept, strings.Repeat("n", 25))
	if exists(inGone) || !exists(inKept) || !exists(inLive) {
		t.Errorf("to make more room: released %v, held %v, live %v", exists(inGone), exists(inKept), exists(inLive))
	}
	if own.remove(kept) || !exists(inKept) {
		t.Error("what was held again behind the look was removed")
	}
	if _, err := own.Save(kept, "Read", strings.Repeat("x", 90)); !errors.Is(err, ErrQuota) {
		t.Errorf("over the quota of what is held: %v", err)
	}
}

func TestAge(t *testing.T) {
	root, now := filepath.Join(t.TempDir(), "results"), time.Now()
	before := newStore(t, root, Quota, &now)
	path := save(t, before, before.Hold("x"), "old")
	_ = before.Close()

	young := newStore(t, root, Quota, &now)
	save(t, young, young.Hold("x"), "new")
	_ = young.Close() // after the cleaning
	if !exists(path) {
		t.Error("a young result of a dead server was removed though there is room")
	}
	now = now.Add(maxAge + time.Hour)
	later := newStore(t, root, Quota, &now)
	save(t, later, later.Hold("x"), "newest")
	_ = later.Close()
	if exists(path) {
		t.Error("an old result of a dead server was kept")
	}
}

// TestCloseBreaksOffCleaning checks that Close does not wait for a slow disk, and that cleaning
// removes nothing on the basis of a partial survey.
func TestCloseBreaksOffCleaning(t *testing.T) {
	for _, tc := range []struct {
		name        string
		slow, stays int // which clock read is slow; number of old results that remain
	}{{"looking", 1, 2}, {"removing", 2, 1}} {
		root, now := filepath.Join(t.TempDir(), "results"), time.Now()
		var old []string
		for range 2 {
			before := newStore(t, root, Quota, &now)
			old = append(old, save(t, before, before.Hold("x"), "old"))
			_ = before.Close()
		}
		var s *Store
		asked, slow := 0, make(chan struct{})
		s = New(root, Quota, func() time.Time {
			if asked++; asked == tc.slow {
				close(slow)
				for end := time.Now().Add(20 * time.Second); !s.closing.Load() && time.Now().Before(end); {
					time.Sleep(time.Millisecond)
				}
			}
			return now.Add(maxAge + time.Hour)
		})
		dir := s.Hold("x")
		save(t, s, dir, "new")
		<-slow
		begin, stay := time.Now(), 0
		s.Release(dir) // as an ending session does
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for _, path := range old {
			if exists(path) {
				stay++
			}
		}
		if took := time.Since(begin); took > 10*time.Second || stay != tc.stays {
			t.Errorf("%s: closed after %v; %d old results are there", tc.name, took, stay)
		}
	}
}

// TestFirstResult checks that the first result waits for nothing, so it may exceed the quota, and
// that the next one fails.
func TestFirstResult(t *testing.T) {
	root, now := filepath.Join(t.TempDir(), "results"), time.Now()
	other, own := newStore(t, root, 100, &now), newStore(t, root, 100, &now)
	save(t, other, other.Hold("x"), strings.Repeat("o", 90))
	first := save(t, own, own.Hold("x"), strings.Repeat("f", 20))
	if _, err := own.Save(own.Hold("x"), "Read", "x"); !errors.Is(err, ErrQuota) || !exists(first) {
		t.Errorf("the second: %v, the first is there: %v", err, exists(first))
	}
	huge := newStore(t, root, 100, &now)
	if _, err := huge.Save(huge.Hold("x"), "Read", strings.Repeat("h", 101)); !errors.Is(err, ErrQuota) {
		t.Errorf("a first result above the quota: %v", err)
	}
}

// TestRemoved checks that the user may remove all results while a server runs.
func TestRemoved(t *testing.T) {
	root, now := filepath.Join(t.TempDir(), "results"), time.Now()
	s := newStore(t, root, Quota, &now)
	dir := s.Hold("x")
	for range 3 {
		save(t, s, dir, "data")
		<-s.cleaned
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
		now = now.Add(2 * sweepEvery)
	}
}

func TestManyServersAtOnce(t *testing.T) {
	root, now := filepath.Join(t.TempDir(), "results"), time.Now()
	var wg sync.WaitGroup
	for range 20 {
		s := newStore(t, root, Quota, &now)
		wg.Go(func() {
			for range 5 {
				path, err := s.Save(s.Hold("x"), "Read", "data")
				if err != nil || !exists(path) {
					t.Errorf("saved %q, %v", path, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestHolderName(t *testing.T) {
	if got := HolderName("../a b/c\x00"); got != "___a_b_c_" {
		t.Errorf("HolderName = %q", got)
	}
}
