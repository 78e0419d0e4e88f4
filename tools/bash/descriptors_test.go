package bash

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// TestDescriptorLimit checks that the error names the limit if a command could not be
// started for lack of file descriptors.
func TestDescriptorLimit(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		err := (&call{readOnly: readOnly}).startError(t.Context(), &fs.PathError{Op: "open", Path: "/x", Err: syscall.EMFILE})
		const want = "the command could not be started: the server has as many files open as its limit on file descriptors allows"
		if !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
