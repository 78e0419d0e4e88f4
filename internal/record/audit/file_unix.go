//go:build unix

package audit

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// openFlags makes opening fail on a link, and not wait on a pipe.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

func othersWrite(info fs.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }

// isWorldWritable reports whether every user can replace other users' files in a
// folder.
func isWorldWritable(dir fs.FileInfo) bool {
	return dir.Mode().Perm()&0o002 != 0 && dir.Mode()&fs.ModeSticky == 0
}

// syncFolder makes the name of a new file survive a power loss, if the file
// system supports that.
func syncFolder(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// checkSpace returns an error if fewer bytes are free on the disk of a file.
func checkSpace(f *os.File, bytes uint64) error {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		return nil // unknown on this file system
	}
	if free := uint64(fs.Bavail) * uint64(fs.Bsize); fs.Blocks > 0 && free < bytes {
		return unix.ENOSPC
	}
	return nil
}
