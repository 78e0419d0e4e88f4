package sandbox

import (
	"crypto/rand"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// system makes the targets that only this system has.
func (t *Targets) system() (undo []func(), err error) {
	t.Abstract = "@mcp-toolset-canary-" + rand.Text()
	abstract, err := listenUnix(t.Abstract)
	if err != nil {
		return nil, err
	}
	undo = append(undo, abstract)
	if id, err := unix.SysvShmGet(unix.IPC_PRIVATE, os.Getpagesize(), 0o600|unix.IPC_CREAT); err == nil {
		t.Memory = id
		undo = append(undo, func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	}
	if maker, name, err := newTerminal(); err == nil {
		t.Terminal = name
		undo = append(undo, func() { unix.Close(maker) })
	}
	return undo, nil
}

// newTerminal makes a terminal, which exists until its maker is closed.
func newTerminal() (maker int, name string, err error) {
	maker, err = unix.Open(terminalMaker, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, "", err
	}
	n, err := unix.IoctlGetInt(maker, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(maker, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		unix.Close(maker)
		return -1, "", err
	}
	return maker, fmt.Sprintf("%s/%d", terminals, n), nil
}
