//go:build linux || windows

package socket

import (
	"errors"
	"os"
)

// CheckSelf returns an error if a server, or a command of one, has started this process.
func CheckSelf() error {
	// No other process of this program may be above. No server has the id 0.
	err := checkAncestors(os.Getpid(), 0, lookFrom(os.Getpid()))
	if errors.Is(err, errUnknown) {
		return nil // the sockets of the servers check it again
	}
	return err
}
