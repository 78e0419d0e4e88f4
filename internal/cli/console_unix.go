//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// consoleWidth is the width of a terminal in columns, 0 if it is not known.
func consoleWidth(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// takesEscapes reports whether a terminal takes escape sequences.
func takesEscapes(*os.File) bool { return true }
