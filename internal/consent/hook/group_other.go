//go:build !unix

package hook

import "syscall"

// descendants is empty: the descendants of a hook cannot be found on this system.
type descendants struct{}

func ownGroup() *syscall.SysProcAttr { return nil }

// signal kills the shell. It does not reach the shell's descendants on this
// system.
func (p *process) signal(kill bool) {
	if kill {
		_ = p.cmd.Process.Kill()
	}
}

func (p *process) kill() { _ = p.cmd.Process.Kill() }
