package hook

import "golang.org/x/sys/unix"

// awaitExit waits until the shell has exited. The shell stays a zombie until
// reap, so that its id cannot be reused for another process group.
func (p *process) awaitExit() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}
