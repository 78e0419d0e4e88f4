//go:build !linux

package process

// threadID returns 0: the children of a thread cannot be listed on this system.
func threadID() int { return 0 }

// killHalfStarted does nothing: the children of a thread cannot be listed on this
// system.
func killHalfStarted(int) {}
