//go:build !windows

package workspace

// begin returns where to resolve an absolute path from, and through which names.
func begin(path string) (top, rest string, err error) {
	top, rest = splitVolume(path)
	return top, rest, nil
}
