//go:build unix

package approval

// offered: the mode of its folder keeps other users from a socket.
const offered = true
