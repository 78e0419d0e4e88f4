//go:build !linux

package sandbox

// listening returns nothing: sockets are listed on Linux only.
func listening() []string { return nil }

// listens returns false: commands have a network of their own on Linux only.
func listens(int) bool { return false }
