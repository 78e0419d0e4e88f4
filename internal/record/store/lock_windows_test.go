package store

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTryLock(t *testing.T) {
	dir, err := os.MkdirTemp("", "state-test-") // the cleanup of t.TempDir fails under Wine
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "a.lock")
	lock, err := tryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tryLock(path); err == nil {
		t.Error("locked twice")
	}
	if err := os.Remove(path); err != nil {
		t.Error("the name of a lock cannot be removed by who holds it:", err)
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
	if lock, err = tryLock(path); err != nil {
		t.Fatal(err)
	}
	_ = lock.Close()
}
