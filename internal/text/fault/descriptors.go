package fault

import (
	"errors"
	"fmt"
	"syscall"
)

// Descriptors returns the fault for an error that means that no file
// descriptors are left, and nil for any other error. what names the operation
// that failed.
func Descriptors(what string, err error) *Fault {
	switch {
	case errors.Is(err, syscall.EMFILE):
		limit, higher := "", ""
		if n, ok := mostDescriptors(); ok {
			limit, higher = fmt.Sprintf(", which is %d", n), fmt.Sprintf(" (ulimit -n %d)", max(2*n, 4096))
		}
		return New(what+": the server has as many files open as its limit on file descriptors allows"+limit,
			"Wait for other calls to end, then try again; ask the user to start the server with a higher limit"+higher+".")
	case errors.Is(err, syscall.ENFILE):
		return New(what+": all programs of this machine together have as many files open as the system allows",
			"Try again later; ask the user to end programs, or to raise the limit fs.file-max.")
	}
	return nil
}
