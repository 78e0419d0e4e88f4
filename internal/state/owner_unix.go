//go:build unix

package state

import (
	"io/fs"
	"os"
	"syscall"
)

// Ours reports whether a file belongs to the user the server runs as.
func Ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
