package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminalMaker is the device that makes a terminal. It is not /dev/ptmx, which could be that of
// another folder of terminals.
const terminalMaker = "/dev/pts/ptmx"

// openTerminal makes a terminal. It opens the other end without its name.
func openTerminal(size TerminalSize) (master, slave int, err error) {
	if master, err = unix.Open(terminalMaker, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err != nil {
		return -1, -1, &os.PathError{Op: "open", Path: terminalMaker, Err: err}
	}
	defer func() {
		if err != nil {
			_ = unix.Close(master)
		}
	}()
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return -1, -1, os.NewSyscallError("unlocking it", err)
	}
	if err := unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, &unix.Winsize{Col: size.Columns, Row: size.Rows}); err != nil {
		return -1, -1, os.NewSyscallError("setting its size", err)
	}
	fd, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if e != 0 {
		return -1, -1, os.NewSyscallError("opening its other end", e)
	}
	return master, int(fd), nil
}
