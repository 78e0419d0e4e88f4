//go:build !linux

package process

// threadID returns 0: the children of a thread are not known here.
func threadID() int { return 0 }

// killHalfStarted does nothing: the children of a thread are not known here.
func killHalfStarted(int) {}
