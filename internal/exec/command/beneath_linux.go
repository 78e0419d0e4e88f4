package command

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openOnly opens a folder for operations on names in it, without the right to list it.
const openOnly = unix.O_PATH

// remove removes the name and everything below it.
func (s *spot) remove() error {
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", s.dir))
	if err != nil {
		return err
	}
	defer root.Close()
	return removeIn(root, s.name)
}
