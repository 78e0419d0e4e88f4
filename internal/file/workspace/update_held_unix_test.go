//go:build unix

package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/file/filelock"
)

// openLocked opens a file and locks it, as another writer does.
func openLocked(t *testing.T, path string) *os.File {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	if ok, err := filelock.TryLock(file); !ok || err != nil {
		t.Skip("files cannot be locked here:", err)
	}
	return file
}

// Update waits for a file's lock. If the holder gave the name to another file, Update
// changes that one. It does not wait long for a holder that does not release the lock.
func TestUpdateHeld(t *testing.T) {
	dir := tempDir(t)
	files := NewFiles(openRoots(t, dir), anything)
	for name, tt := range map[string]struct {
		act  func(path string) error // the holder's action after a second, before it unlocks; nil: it does not unlock
		want string
		wait time.Duration
	}{
		"lets go": {func(string) error { return nil }, "old+", time.Second},
		"replaces": {func(path string) error {
			return errors.Join(os.WriteFile(path+"2", []byte("theirs"), 0o600), os.Rename(path+"2", path))
		}, "theirs+", time.Second},
		"writes":  {func(path string) error { return os.WriteFile(path, []byte("theirs"), 0o600) }, "theirs+", time.Second},
		"removes": {os.Remove, "+", time.Second},
		"keeps":   {nil, "old+", holdOne},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, "old", dir, "f")
			synctest.Test(t, func(t *testing.T) {
				file := openLocked(t, path)
				if tt.act != nil {
					time.AfterFunc(time.Second, func() {
						if err := errors.Join(tt.act(path), file.Close()); err != nil {
							t.Error(err)
						}
					})
				}
				start, calls := time.Now(), 0
				_, err := files.Update(t.Context(), path, adds("+", &calls))
				if waited := time.Since(start); err != nil || waited < tt.wait || waited > tt.wait+200*time.Millisecond {
					t.Errorf("after %v: %v", waited, err)
				}
				if got := content(path); got != tt.want || calls != 1 {
					t.Errorf("holds %q after %d calls; want %q", got, calls, tt.want)
				}
			})
		})
	}
	onlyNames(t, dir, "f")
}

// Other writers may come first many times, but not forever.
func TestUpdateHeldOften(t *testing.T) {
	for _, turns := range []int{5 * maxAttempts, 1000} {
		dir := tempDir(t)
		path := write(t, "0", dir, "f")
		files := NewFiles(openRoots(t, dir), anything)
		synctest.Test(t, func(t *testing.T) {
			file := openLocked(t, path)
			stop := make(chan struct{})
			var others sync.WaitGroup
			others.Go(func() {
				for turn := 1; turn < turns; turn++ {
					select {
					case <-time.After(100 * time.Millisecond):
					case <-stop:
						return
					}
					next := openLocked(t, write(t, fmt.Sprint(turn), path+"2"))
					if err := errors.Join(os.Rename(path+"2", path), file.Close()); err != nil {
						t.Error(err)
					}
					file = next
				}
				file.Close()
			})
			start, calls := time.Now(), 0
			_, err := files.Update(t.Context(), path, adds("+", &calls))
			waited := time.Since(start)
			close(stop)
			others.Wait()
			if want := time.Duration(turns) * 100 * time.Millisecond; want < holdAll {
				if err != nil || calls != 1 || content(path) != fmt.Sprint(turns-1, "+") {
					t.Errorf("%v, holds %q after %d calls", err, content(path), calls)
				}
			} else if err != nil || waited < holdAll || waited > holdAll+time.Second {
				t.Errorf("after %v: %v", waited, err)
			}
		})
	}
}

// The lock is released with the rename, not only after the sync.
func TestUpdateLetsGo(t *testing.T) {
	dir := tempDir(t)
	path := write(t, "old", dir, "f")
	old, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	var free []bool
	lock := func(file *os.File) {
		ok, err := filelock.TryLock(file)
		if err != nil {
			t.Skip("files cannot be locked here:", err)
		}
		free = append(free, ok)
	}
	defer func(was func(*os.File) error) { storeContent = was }(storeContent)
	defer func(was func(*os.Root) error) { storeNames = was }(storeNames)
	storeContent = func(*os.File) error { lock(old); return nil }
	storeNames = func(*os.Root) error {
		lock(old)
		written, err := os.Open(path)
		if err != nil {
			return err
		}
		defer written.Close()
		lock(written)
		return nil
	}
	_, err = NewFiles(openRoots(t, dir), anything).Update(t.Context(), path, set("new"))
	if diff := cmp.Diff([]bool{false, true, true}, free); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// A wait ends when the call is cancelled.
func TestUpdateHeldCancelled(t *testing.T) {
	dir := tempDir(t)
	path := write(t, "old", dir, "f")
	files := NewFiles(openRoots(t, dir), anything)
	synctest.Test(t, func(t *testing.T) {
		openLocked(t, path)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := files.Update(ctx, path, set("new")); err != context.DeadlineExceeded {
			t.Error(err)
		}
	})
	if content(path) != "old" {
		t.Errorf("holds %q", content(path))
	}
}
