package fault

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// TestDescriptors checks the faults for a process and for a system without free
// file descriptors.
func TestDescriptors(t *testing.T) {
	limit, known := mostDescriptors()
	shown, higher := "", ""
	if known {
		shown, higher = fmt.Sprintf(", which is %d", limit), fmt.Sprintf(" (ulimit -n %d)", max(2*limit, 4096))
	}
	for _, tc := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "opening", Path: "/w/a", Err: syscall.EMFILE}, "a cannot be opened: the server has as many files open as its limit on file descriptors allows" + shown +
			". Wait for other calls to end, then try again; ask the user to start the server with a higher limit" + higher + "."},
		{fmt.Errorf("starting: %w", syscall.ENFILE), "a cannot be opened: all programs of this machine together have as many files open as the system allows" +
			". Try again later; ask the user to end programs, or to raise the limit fs.file-max."},
	} {
		if got := Descriptors("a cannot be opened", tc.err).Error(); got != tc.want {
			t.Errorf("%v:\n got %s\nwant %s", tc.err, got, tc.want)
		}
	}
	if f := Descriptors("a", syscall.ENOENT); f != nil || strings.Contains(fmt.Sprint(f), "limit") {
		t.Errorf("another error: %v", f)
	}
}
