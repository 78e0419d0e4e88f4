//go:build !linux

package walk

import "os"

func hasReliableStamps(folder) bool { return false }

// HasReliableStamps reports whether the stamps of the files in a folder show every change at once,
// and returns their device. It returns false: stamps on other systems than Linux have
// not been examined.
func HasReliableStamps(*os.File) (ok bool, dev uint64) { return false, 0 }
