//go:build unix

package hook

import "syscall"

// ownGroup makes a hook the leader of a process group and of a session, because
// processes leave a session less often than a group. The hook has no terminal
// then.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// signal asks the hook and its descendants to end, or kills them. It first
// searches for those that have left the group, while their parents still exist.
func (p *process) signal(kill bool) {
	leader := p.cmd.Process.Pid
	p.descendants.freeze(leader)
	if kill {
		_ = syscall.Kill(-leader, syscall.SIGKILL)
		p.descendants.signal(leader, syscall.SIGKILL)
		p.descendants.release()
		return
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} { // a stopped process handles SIGTERM only after SIGCONT
		_ = syscall.Kill(-leader, sig)
		p.descendants.signal(leader, sig)
	}
}

// kill kills the hook and the descendants that a single search finds. It may be
// called concurrently with end.
func (p *process) kill() {
	leader := p.cmd.Process.Pid
	var k descendants
	k.look(leader)
	_ = syscall.Kill(-leader, syscall.SIGKILL)
	k.signal(leader, syscall.SIGKILL)
	k.release()
}
