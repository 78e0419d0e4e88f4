//go:build unix

package engine

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// apart starts a command in a process group of its own. Cancelling the command kills the group.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
