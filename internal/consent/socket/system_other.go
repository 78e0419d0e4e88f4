//go:build !unix && !windows

package socket

// offered is false because sockets have no permissions here: any user could
// approve.
const offered = false

const maxSocketPath = 0
