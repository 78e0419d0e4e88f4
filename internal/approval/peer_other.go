//go:build !linux

package approval

import "net"

// checkPeer relies on the mode of the socket and its folder.
func checkPeer(*net.UnixConn) error { return nil }
