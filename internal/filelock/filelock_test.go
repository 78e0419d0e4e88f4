package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const name = "/work/a.txt"

func take(t *testing.T, l *Locks, name string) (release func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // only a failure waits for it
	defer cancel()
	release, err := l.Take(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return release
}

// Waiters get the lock in the order they came, one at a time.
func TestOrder(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := New(dir)
		release := take(t, l, name)
		var got []int
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				release := take(t, l, name)
				got = append(got, i) // the race detector sees what the lock does not order
				release()
			})
			synctest.Wait() // until it waits in its place
		}
		release()
		wg.Wait()
		if !slices.IsSorted(got) || len(got) != 50 {
			t.Errorf("served as %v", got)
		}
	})
}

// Names do not wait for each other unless they share one of the lock files.
func TestNames(t *testing.T) {
	l := New(filepath.Join(t.TempDir(), "a", "locks"))
	used := map[int]bool{bucket(name): true}
	defer take(t, l, name)()
	for i := range 10_000 {
		other := fmt.Sprintf("/work/%d", i)
		if b := bucket(other); !used[b] {
			used[b] = true
			defer take(t, l, other)()
		}
	}
	if len(used) != buckets {
		t.Errorf("10,000 names use %d buckets", len(used))
	}
	list, err := os.ReadDir(l.dir)
	if err != nil || len(list) != buckets {
		t.Errorf("%d lock files, %v", len(list), err)
	}
}

func TestCancelled(t *testing.T) {
	dir := t.TempDir()
	held, other := New(dir), New(dir) // of two Locks each is as another process
	release := take(t, held, name)
	for who, l := range map[string]*Locks{"the same": held, "another process": other} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, err := l.Take(ctx, name)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", who, err)
		}
	}
	release()
	release()              // does not free what another has taken since
	take(t, other, name)() // nobody who gave up is in the way
	again := take(t, held, name)
	release()
	if file, err := held.try(filepath.Join(dir, fmt.Sprintf("%02x.lock", bucket(name)))); file != nil || err != nil {
		t.Errorf("released twice, taken by two: %v, %v", file, err)
	}
	again()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := held.Take(ctx, name); !errors.Is(err, context.Canceled) {
		t.Errorf("free, but cancelled before: %v", err)
	}
}

// Cleaning the state folder stops nobody.
func TestFolderRemoved(t *testing.T) {
	l := New(filepath.Join(t.TempDir(), "locks"))
	release := take(t, l, name)
	if err := os.RemoveAll(l.dir); err != nil {
		t.Skip("an open file cannot be removed here:", err)
	}
	release()
	take(t, l, name)()
}

func TestFolderRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := New(file)
	for range 2 { // and the queue is free again
		if _, err := l.Take(t.Context(), name); err == nil || !strings.Contains(err.Error(), "is not a folder") {
			t.Errorf("%v", err)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	l := New(b.TempDir())
	for b.Loop() {
		release, err := l.Take(b.Context(), name)
		if err != nil {
			b.Fatal(err)
		}
		release()
	}
}
