package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// screenWidth returns the width of a terminal in columns, or 0 if it is unknown.
func screenWidth(f *os.File) int {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info) != nil {
		return 0
	}
	return int(info.Window.Right-info.Window.Left) + 1
}

// takesEscapes enables escape sequences and reports whether that succeeded. Old consoles lack them.
func takesEscapes(f *os.File) bool {
	var mode uint32
	console := windows.Handle(f.Fd())
	return windows.GetConsoleMode(console, &mode) == nil &&
		windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
