//go:build unix && !linux

package socket

// maxSocketPath is the longest path of a socket, in bytes. sun_path has 104
// bytes, including the final NUL.
const maxSocketPath = 103
