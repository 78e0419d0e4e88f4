//go:build unix

package filelock

import (
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// TestFileRemoved checks that a waiter for a removed lock file does not wait
// for its holder, and that locking a removed file does not count as having the
// lock.
func TestFileRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l, other := New(dir), New(dir)
		defer take(t, l, name)()
		path := lockFile(dir).path
		go func() {
			time.Sleep(10 * lastPause) // the other goroutine waits by then
			_ = os.Remove(path)
		}()
		start := time.Now()
		release := take(t, other, name)
		if waited := time.Since(start); waited > 10*lastPause+lookEvery+2*lastPause {
			t.Errorf("waited for %v", waited)
		}
		release()
		w := lockFile(dir)
		if err := w.open(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if free(t, w) {
			t.Error("took a file that nobody else will ask for")
		}
		if !free(t, w) {
			t.Error("the file that is there now was not taken")
		}
	})
}
