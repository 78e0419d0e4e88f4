package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func newStore(t *testing.T, root string, bytes int64, now *time.Time) *Store {
	s := New(root, Limits{Bytes: bytes}, func() time.Time { return *now })
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// save stores a file in an entry, and begins to clean.
func save(t *testing.T, s *Store, entry, data string) string {
	t.Helper()
	n := int64(len(data))
	if err := s.Reserve(n, 0); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(entry, "file")
	if err := os.MkdirAll(entry, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Settle(n, n)
	s.Clean()
	return path
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

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
			before := newStore(t, root, 1<<20, &now)
			old = append(old, save(t, before, before.Hold("x"), "old"))
			_ = before.Close()
		}
		var s *Store
		asked, slow := 0, make(chan struct{})
		s = New(root, Limits{Bytes: 1 << 20}, func() time.Time {
			if asked++; asked == tc.slow {
				close(slow)
				for end := time.Now().Add(20 * time.Second); !s.closing.Load() && time.Now().Before(end); {
					time.Sleep(time.Millisecond)
				}
			}
			return now.Add(MaxAge + time.Hour)
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

// TestRemoved checks that the user may remove all results while a server runs.
func TestRemoved(t *testing.T) {
	root, now := filepath.Join(t.TempDir(), "results"), time.Now()
	s := newStore(t, root, 1<<20, &now)
	dir := s.Hold("x")
	for range 3 {
		save(t, s, dir, "data")
		<-s.cleaned
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
		now = now.Add(2 * SweepEvery)
	}
}

// TestHeldAgain checks that an entry that is held again after cleaning has seen it is not removed.
func TestHeldAgain(t *testing.T) {
	root, now := filepath.Join(t.TempDir(), "results"), time.Now()
	s := newStore(t, root, 1<<20, &now)
	var evicted []string
	s.Evicted = func(path string) { evicted = append(evicted, path) }
	entry := s.Hold("x")
	path := save(t, s, entry, "data")
	<-s.cleaned
	if s.evict(entry) || !exists(path) || len(evicted) > 0 {
		t.Error("an entry that is held was removed")
	}
	s.Release(entry)
	if !s.evict(entry) || exists(path) || len(evicted) != 1 || evicted[0] != entry {
		t.Errorf("an entry that nobody holds is there: %t; told of %v", exists(path), evicted)
	}
}

// TestReservations checks that bytes that are not written yet count through a sweep.
func TestReservations(t *testing.T) {
	root, now := filepath.Join(t.TempDir(), "results"), time.Now()
	s := newStore(t, root, 100, &now)
	save(t, s, s.Hold("x"), "0123456789")
	if room := s.ReserveSome(60); room != 60 {
		t.Errorf("room for %d, want 60", room)
	}
	if room := s.ReserveSome(60); room != 30 { // after a sweep
		t.Errorf("room for %d, want 30", room)
	}
	s.Settle(60, 0)
	s.Settle(30, 0)
	if bytes, _ := s.Usage(); bytes != 10 {
		t.Errorf("%d bytes are counted, want 10", bytes)
	}
}
