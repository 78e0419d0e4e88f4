//go:build !unix

package bash

import "syscall"

func signalName(syscall.Signal) string { return "" }
