//go:build unix

package hook

import "syscall"

// ownGroup puts a hook at the head of a process group, and of a session, which
// what it starts leaves less often. It has no terminal then.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// signal tells the hook and what it started to end, or kills them. Those that
// have left the group are looked for first, while their parents are there.
func (p *process) signal(kill bool) {
	leader := p.cmd.Process.Pid
	p.kin.freeze(leader)
	if kill {
		_ = syscall.Kill(-leader, syscall.SIGKILL)
		p.kin.signal(leader, syscall.SIGKILL)
		p.kin.release()
		return
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} { // what is stopped does not hear the first
		_ = syscall.Kill(-leader, sig)
		p.kin.signal(leader, sig)
	}
}

// kill kills the hook and what it started, as far as one look finds it. It may
// be called while the hook is being ended.
func (p *process) kill() {
	leader := p.cmd.Process.Pid
	var k kin
	k.look(leader)
	_ = syscall.Kill(-leader, syscall.SIGKILL)
	k.signal(leader, syscall.SIGKILL)
	k.release()
}
