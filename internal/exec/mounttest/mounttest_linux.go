package mounttest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// Own starts the test again in a process that has its own mount namespace. It returns
// true in that process, and false in the first one after the other has ended. It skips
// the test if the user may not create a mount namespace. The first lines of a test that
// mounts something are
//
//	if !mounttest.Own(t) {
//		return
//	}
func Own(t *testing.T) bool {
	t.Helper()
	if Inside() {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, fs.ErrPermission):
		t.Skip("may not mount:", err)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	case bytes.Contains(out, []byte("--- SKIP")):
		t.Skipf("%s", out)
	}
	return false
}
