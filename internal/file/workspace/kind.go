package workspace

import (
	"fmt"
	"io/fs"
)

// KindError is the error for a path that is not a regular file. Kind is one of
// "directory", "named pipe", "socket", "character device", "block device" and "special
// file".
type KindError struct{ Path, Kind string }

func (e *KindError) Error() string {
	return fmt.Sprintf("%s is a %s, not a regular file", e.Path, e.Kind)
}

// kindOf returns the kind of a file that is not regular; "" for a regular file.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return ""
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeCharDevice != 0:
		return "character device"
	case mode&fs.ModeDevice != 0:
		return "block device"
	}
	return "special file"
}
