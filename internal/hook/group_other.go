//go:build !unix

package hook

import "syscall"

// kin would be the processes that a hook started, if they could be told.
type kin struct{}

func ownGroup() *syscall.SysProcAttr { return nil }

// signal kills the shell. What it started is not reached here.
func (p *process) signal(kill bool) {
	if kill {
		_ = p.cmd.Process.Kill()
	}
}

func (p *process) kill() { _ = p.cmd.Process.Kill() }
