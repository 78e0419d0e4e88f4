package results

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/record/store"
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

// used returns the bytes that count against the quota.
func used(s *Store) int64 {
	bytes, _ := s.store.Usage()
	return bytes
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

func TestCleaning(t *testing.T) { synctest.Test(t, testCleaning) }

func testCleaning(t *testing.T) {
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

	synctest.Wait() // each store cleans once in the background, and then holds the locks of others
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
	now = now.Add(store.MaxAge + time.Hour)
	later := newStore(t, root, Quota, &now)
	save(t, later, later.Hold("x"), "newest")
	_ = later.Close()
	if exists(path) {
		t.Error("an old result of a dead server was kept")
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

// TestHolder checks that the name of a holder cannot lead to another folder.
func TestHolder(t *testing.T) {
	s := New("root", Quota, time.Now)
	if got := filepath.Base(s.Hold("../a b/c\x00")); got != "___a_b_c_" {
		t.Errorf("the folder is %q", got)
	}
}
