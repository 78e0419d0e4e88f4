//go:build !linux && !windows

package approval

// checkPeer relies on the mode of the socket and its folder.
func checkPeer(conn) error { return nil }
