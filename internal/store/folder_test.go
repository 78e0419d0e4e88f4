package store

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// onWindows reports that there are no modes.
const onWindows = runtime.GOOS == "windows"

// TestOwnFolder checks that the lock of a server's folder is free once the
// server has ended, and that a lock file removed by a cleanup is created again.
func TestOwnFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state", "results", "server")
	lock, err := OwnFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{folder, filepath.Dir(folder), filepath.Dir(filepath.Dir(folder))} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 && !onWindows {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}
	if other, err := TryLock(folder + LockExt); err == nil {
		t.Error("the lock was had twice")
		_ = other.Close()
	}
	if _, err := OwnFolder(folder); err == nil {
		t.Error("the folder was had twice")
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := OwnFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}
