package hook

import "golang.org/x/sys/unix"

// awaitExit waits until the shell has exited. It stays a zombie until reap, so
// that its number still names its process group and no other.
func (p *process) awaitExit() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}
