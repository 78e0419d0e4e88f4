//go:build !linux && !windows

package approval

// checkPeer accepts every peer. Access is limited by the modes of the socket
// and its folder.
func checkPeer(conn) error { return nil }
