package store

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// onWindows reports that there are no modes.
const onWindows = runtime.GOOS == "windows"

// TestOwn checks that the lock of a server's folder is free once the
// server has ended, and that a lock file removed by a cleanup is created again.
func TestOwn(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state", "results", "server")
	lock, err := Own(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{folder, filepath.Dir(folder), filepath.Dir(filepath.Dir(folder))} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 && !onWindows {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}
	if other, err := tryLock(folder + lockExt); err == nil {
		t.Error("the lock was had twice")
		_ = other.Close()
	}
	if _, err := Own(folder); err == nil {
		t.Error("the folder was had twice")
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Own(folder)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}

// TestReclaim checks that only the folder of a server that has ended is
// cleaned, and that it remains while something is in it.
func TestReclaim(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state", "results", "server")
	own, err := Own(folder)
	if err != nil {
		t.Fatal(err)
	}
	if Reclaim(folder, func() { t.Error("a running server's folder is cleaned") }) {
		t.Error("a running server has ended")
	}
	if err := own.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !Reclaim(folder, func() {}) || !exists(file) || !exists(folder+lockExt) {
		t.Error("a folder with a file was removed")
	}
	if folders, err := Servers(filepath.Dir(folder)); err != nil || len(folders) != 1 || folders[0] != folder {
		t.Errorf("%v, %v", folders, err)
	}
	if !Reclaim(folder, func() { _ = os.Remove(file) }) || exists(folder) || exists(folder+lockExt) {
		t.Error("an empty folder was not removed")
	}
	own, err = Own(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Remove(); err != nil || exists(folder) || exists(folder+lockExt) {
		t.Errorf("the folder remains, %v", err)
	}
}
