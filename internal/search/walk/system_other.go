//go:build !linux

package walk

import "os"

func tells(folder) bool { return false }

// Tells reports whether the stamps of the files in a folder tell of every change
// at once, and the device they are on. What stamps tell elsewhere than on Linux
// has not been looked into.
func Tells(*os.File) (ok bool, dev uint64) { return false, 0 }
