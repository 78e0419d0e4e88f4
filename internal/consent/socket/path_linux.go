package socket

// maxSocketPath is the longest path of a socket, in bytes. sun_path has 108
// bytes, including the final NUL.
const maxSocketPath = 107
