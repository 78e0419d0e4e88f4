//go:build !unix && !windows

package approval

// offered: sockets have no permissions here, so any user could approve.
const offered = false

const maxSocketPath = 0
