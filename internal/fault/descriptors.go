package fault

import (
	"errors"
	"fmt"
	"syscall"
)

// Descriptors is the fault of an error that says there are no file descriptors
// left, and nil for any other error. what is what failed for it.
func Descriptors(what string, err error) *Fault {
	switch {
	case errors.Is(err, syscall.EMFILE):
		limit := ""
		if n, ok := mostDescriptors(); ok {
			limit = fmt.Sprintf(", which is %d", n)
		}
		return New(what+": the server has as many files open as its limit on file descriptors allows"+limit,
			"Wait for other calls to end, then try again; ask the user to start the server with a higher limit (ulimit -n 4096).")
	case errors.Is(err, syscall.ENFILE):
		return New(what+": all programs of this machine together have as many files open as the system allows",
			"Try again later; ask the user to end programs, or to raise the limit fs.file-max.")
	}
	return nil
}
