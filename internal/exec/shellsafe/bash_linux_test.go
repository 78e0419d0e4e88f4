package shellsafe

import (
	"io/fs"
	"syscall"
)

// changed returns the time of the last change of an inode.
func changed(info fs.FileInfo) any {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctim
	}
	return nil
}
