//go:build unix && !linux

package approval

// maxSocketPath is the longest path of a socket in bytes: sun_path has 104, one
// of them for the end.
const maxSocketPath = 103
