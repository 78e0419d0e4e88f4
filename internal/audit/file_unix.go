//go:build unix

package audit

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// openFlags: a link in the log's place is an error, and a pipe there is not
// waited for.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

func othersWrite(info fs.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }

// anybodys reports whether everybody can replace the files of others in a folder.
func anybodys(dir fs.FileInfo) bool {
	return dir.Mode().Perm()&0o002 != 0 && dir.Mode()&fs.ModeSticky == 0
}

// syncFolder makes the name of a new file outlive a loss of power, where the
// file system can do that.
func syncFolder(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// hasRoom is an error if less is free on the disk of a file.
func hasRoom(f *os.File, bytes uint64) error {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		return nil // it is not told here
	}
	if free := uint64(fs.Bavail) * uint64(fs.Bsize); fs.Blocks > 0 && free < bytes {
		return unix.ENOSPC
	}
	return nil
}
