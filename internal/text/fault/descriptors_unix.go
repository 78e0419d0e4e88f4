//go:build unix

package fault

import "syscall"

// mostDescriptors returns the limit of file descriptors of this process.
func mostDescriptors() (n uint64, ok bool) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return uint64(limit.Cur), err == nil
}
