//go:build unix

package state

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// OwnedByUser reports whether a file belongs to the user that the server runs as.
func OwnedByUser(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// othersWrite reports whether users other than the owner may write to a file.
func othersWrite(info fs.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }

// syncFolder makes changes of names in a folder survive a crash of the system,
// if the file system supports that.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
