//go:build !linux

package walk

import "os"

func tells(folder) bool { return false }

// Tells reports whether the stamps of the files in a folder show every change at once,
// and returns their device. It returns false: stamps on other systems than Linux have
// not been examined.
func Tells(*os.File) (ok bool, dev uint64) { return false, 0 }
