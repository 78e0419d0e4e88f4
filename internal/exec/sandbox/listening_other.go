//go:build !linux

package sandbox

// listening returns nothing: this system has no sandbox, so sockets are not listed.
func listening() []string { return nil }
