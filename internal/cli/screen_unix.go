//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// screenWidth returns the width of a terminal in columns, or 0 if it is unknown.
func screenWidth(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// takesEscapes reports whether a terminal supports escape sequences.
func takesEscapes(*os.File) bool { return true }
