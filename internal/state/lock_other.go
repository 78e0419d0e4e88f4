//go:build !unix && !windows

package state

import (
	"io"
	"os"
)

// TryLock relies on a file that cannot be opened for writing twice; where the
// system allows that, a dead server's folder is told by the age of what is in it.
func TryLock(path string) (io.Closer, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}
