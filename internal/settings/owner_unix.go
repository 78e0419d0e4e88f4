//go:build unix

package settings

import (
	"io/fs"
	"syscall"

	"mcp-toolset/internal/state"
)

// hasOwners says that the mode bits tell who can write a file.
const hasOwners = true

// noFollow has opening fail at a link, and not wait for a pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

func rootOwns(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0
}

func userOwns(info fs.FileInfo) bool { return state.Ours(info) }
