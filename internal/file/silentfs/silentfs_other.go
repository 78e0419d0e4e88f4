//go:build !linux

// Package silentfs mounts a file system that does not answer, for tests. There is
// one on Linux only.
package silentfs
