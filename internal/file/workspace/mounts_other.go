//go:build !linux

package workspace

// SeveralNames returns false: only on Linux mounts hide files.
func SeveralNames(string) bool { return false }
