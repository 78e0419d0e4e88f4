//go:build unix

package settings

import (
	"io/fs"
	"syscall"

	"mcp-toolset/internal/record/state"
)

// hasOwners is true because the mode bits show who can write a file.
const hasOwners = true

// noFollow makes opening a link fail and opening a pipe not wait.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

func rootOwns(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0
}

func userOwns(info fs.FileInfo) bool { return state.OwnedByUser(info) }
