//go:build !unix

package server

import "syscall"

// readerGone returns false: on this system only a write shows whether the
// reader is gone.
func readerGone(syscall.Conn) bool { return false }
