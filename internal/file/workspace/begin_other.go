//go:build !windows

package workspace

// begin returns the folder at which to begin resolving an absolute path, and the rest
// of the path.
func begin(path string) (top, rest string, err error) {
	top, rest = splitVolume(path)
	return top, rest, nil
}
