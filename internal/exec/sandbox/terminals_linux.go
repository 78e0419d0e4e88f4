package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// Paths of the terminals and of the device that makes one when opened. A terminal's
// file belongs to the user. So a right to the folder would be a right to all
// terminals of this user, including that of the shell that started the server.
const (
	terminals     = "/dev/pts"
	terminalMaker = "/dev/ptmx"
	// ownTerminal is the controlling terminal of whoever opens it. A command has a session of
	// its own, so it has none or one that it or its supervisor made.
	ownTerminal = "/dev/tty"
)

// ownTerminals mounts a terminal folder of the command's own, for programs that
// make terminals. If that fails, no terminal is granted.
func (m *mounter) ownTerminals() {
	if st, err := os.Lstat(terminals); err != nil || !st.IsDir() {
		return
	}
	// C libraries expect this mode of a terminal.
	err := unix.Mount("devpts", terminals, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
	if err != nil {
		m.told = append(m.told, "terminals: programs cannot make any: "+err.Error())
		return
	}
	// It is often a link already.
	if st, err := os.Lstat(terminalMaker); err == nil && st.Mode()&os.ModeSymlink == 0 {
		fd, err := clone(terminals + "/ptmx")
		if err == nil {
			err = attach(fd, terminalMaker)
			unix.Close(fd)
		}
		if err != nil {
			m.told = append(m.told, "terminals: programs cannot make any: "+err.Error())
			return
		}
	}
	m.terminals = true
}
