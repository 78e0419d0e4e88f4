//go:build unix

package launch

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Apart starts a command in a process group of its own. Cancelling the command kills the group.
func Apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
