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

// lockFile returns a waiter for the lock file of name in dir, as another
// process would use it.
func lockFile(dir string) *waiter {
	return &waiter{dir: dir, path: filepath.Join(dir, fmt.Sprintf("%02x.lock", bucket(name)))}
}

// free reports whether w can take its lock.
func free(t *testing.T, w *waiter) bool {
	t.Helper()
	t.Cleanup(w.drop)
	ok, err := w.try()
	if err != nil {
		t.Error(err)
	}
	return ok
}

func take(t *testing.T, l *Locks, name string) (release func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // only a failing test waits this long
	defer cancel()
	release, err := l.Lock(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return release
}

// TestOrder checks that waiters get the lock in order of arrival, one at a
// time.
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
				got = append(got, i) // the race detector reports accesses that the lock does not order
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

// TestNames checks that names do not wait for each other unless they share a
// lock file.
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
	held, other := New(dir), New(dir) // the two act like different processes
	release := take(t, held, name)
	for who, l := range map[string]*Locks{"the same": held, "another process": other} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, err := l.Lock(ctx, name)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", who, err)
		}
	}
	release()
	release()              // does not release a lock taken by another since then
	take(t, other, name)() // waiters that gave up do not block it
	again := take(t, held, name)
	release()
	if w := lockFile(dir); free(t, w) {
		t.Error("released twice, taken by two")
	}
	again()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := held.Lock(ctx, name); !errors.Is(err, context.Canceled) {
		t.Errorf("free, but cancelled before: %v", err)
	}
}

// TestFolderRemoved checks that locks still work after the state folder was
// cleaned.
func TestFolderRemoved(t *testing.T) {
	l := New(filepath.Join(t.TempDir(), "locks"))
	release := take(t, l, name)
	if err := os.RemoveAll(l.dir); err != nil {
		release()
		t.Skip("an open file cannot be removed here:", err)
	}
	release()
	take(t, l, name)()
}

// TestHeld checks that all present waiters give up after half a minute if
// another process holds the lock, and that later ones wait as long.
func TestHeld(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, other := New(dir), New(dir)
		release := take(t, other, name)
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				start := time.Now()
				_, err := l.Lock(t.Context(), name)
				waited := time.Since(start)
				if !errors.Is(err, ErrHeld) || waited < timeout-10*time.Second || waited > timeout+lastPause {
					t.Errorf("after %v: %v", waited, err)
				}
			})
		}
		wg.Wait()
		start := time.Now()
		if _, err := l.Lock(t.Context(), name); !errors.Is(err, ErrHeld) || time.Since(start) < timeout {
			t.Errorf("later, after %v: %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Lock(ctx, name); errors.Is(err, ErrHeld) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller's own limit: %v", err)
		}
		release()
		take(t, l, name)()
	})
}

// TestLongQueue checks that waiting for calls of the same process does not
// count.
func TestLongQueue(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := New(dir)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				release, err := l.Lock(t.Context(), name)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(timeout / 3)
				release()
			})
		}
		wg.Wait()
	})
}

// TestHeldAfterQueue checks that waiting in the queue does not shorten the
// timeout for another process.
func TestHeldAfterQueue(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, other := New(dir), New(dir)
		q := &l.queues[bucket(name)]
		q.turn <- struct{}{} // a long call of this process
		release := take(t, other, name)
		var wg sync.WaitGroup
		wg.Go(func() {
			release, err := l.Lock(t.Context(), name)
			if err != nil {
				t.Error(err)
				return
			}
			release()
		})
		time.Sleep(2 * timeout)
		<-q.turn
		time.Sleep(timeout / 2)
		release()
		wg.Wait()
	})
}

// TestLock checks that Lock waits for the holder of an open file.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	open := func() *os.File {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		return file
	}
	synctest.Test(t, func(t *testing.T) {
		first, second := open(), open()
		if err := Lock(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := Lock(ctx, second); err != context.DeadlineExceeded {
			t.Error(err)
		}
		time.AfterFunc(time.Second, func() { first.Close() })
		if err := Lock(t.Context(), second); err != nil {
			t.Error(err)
		}
	})
}

func TestFolderRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := New(file)
	for range 2 { // the queue is released after the error
		if _, err := l.Lock(t.Context(), name); err == nil || !strings.Contains(err.Error(), "is not a folder") {
			t.Errorf("%v", err)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	l := New(b.TempDir())
	for b.Loop() {
		release, err := l.Lock(b.Context(), name)
		if err != nil {
			b.Fatal(err)
		}
		release()
	}
}

// TestLockAll checks that holders of several names, of which some share a lock, wait for each
// other in any order of names, and that a failed attempt holds none.
func TestLockAll(t *testing.T) {
	l := New(t.TempDir())
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprint("/work/", i))
	}
	inside := 0
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			own := slices.Clone(names[i:])
			if i%2 == 0 {
				slices.Reverse(own)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // only a failing test waits this long
			defer cancel()
			release, err := l.LockAll(ctx, own...)
			if err != nil {
				t.Error(err)
				return
			}
			inside++
			release()
		})
	}
	wg.Wait()
	if inside != 20 {
		t.Error(inside)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.LockAll(ctx, names...); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	take(t, l, names[0])()
}
