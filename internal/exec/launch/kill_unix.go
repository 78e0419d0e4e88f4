//go:build unix

package launch

import (
	"os/exec"
	"syscall"
)

// kill kills a process. If it leads a group, it kills the group, to which the processes
// belong that it has started.
func kill(cmd *exec.Cmd) {
	if attr := cmd.SysProcAttr; attr != nil && (attr.Setsid || attr.Setpgid && attr.Pgid == 0) {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	_ = cmd.Process.Kill()
}
