package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// Where terminals are, and what makes one when it is opened. A terminal's file
// belongs to the user, so that rights over the folder would be rights over all
// terminals of this user: of the shell the server was started from, too.
const (
	terminals     = "/dev/pts"
	terminalMaker = "/dev/ptmx"
)

// ownTerminals mounts terminals of the command's own, for programs that make
// some. Where that fails they are left out, and no right is given to others.
func (m *mounter) ownTerminals() {
	if st, err := os.Lstat(terminals); err != nil || !st.IsDir() {
		return
	}
	// The mode is the one that C libraries want a terminal to have.
	err := unix.Mount("devpts", terminals, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
	if err != nil {
		m.told = append(m.told, "terminals: programs cannot make any: "+err.Error())
		return
	}
	// Often a link already.
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
