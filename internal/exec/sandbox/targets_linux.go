package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// NewTargets makes targets in an existing empty folder that no policy lets commands
// read. The folder's path may have at most 90 bytes, because of the limit for paths
// of sockets. done closes and removes the targets.
func NewTargets(folder string) (t Targets, done func(), err error) {
	var undo []func()
	done = func() {
		for _, f := range undo {
			f()
		}
	}
	defer func() {
		if err != nil {
			done()
			err = fmt.Errorf("sandbox: making targets: %w", err)
		}
	}()
	t = Targets{
		Outside: filepath.Join(folder, "outside"), Inside: filepath.Join(folder, "inside"),
		PID: os.Getpid(), Memory: -1, Server: CurrentNamespaces(),
	}
	remove := func() { _ = os.RemoveAll(t.Outside); _ = os.RemoveAll(t.Inside) }
	remove() // left over if file descriptors ran out before
	undo = append(undo, remove)
	if err := errors.Join(os.Mkdir(t.Outside, 0o700), os.Mkdir(t.Inside, 0o700)); err != nil {
		return t, done, err
	}
	for _, path := range []string{t.Outside + "/file", t.Inside + "/protected", t.Inside + "/hidden", t.Inside + "/free"} {
		if err := os.WriteFile(path, []byte("canary\n"), 0o600); err != nil {
			return t, done, err
		}
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return t, done, err
	}
	undo = append(undo, func() { tcp.Close() })
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return t, done, err
	}
	undo = append(undo, func() { udp.Close() })
	go echo(udp)
	t.TCP, t.UDP = tcp.Addr().String(), udp.LocalAddr().String()
	t.Abstract = "@mcp-toolset-canary-" + rand.Text()
	for _, name := range []string{t.Socket(), t.Abstract} {
		s, err := net.Listen("unix", name)
		if err != nil {
			return t, done, err
		}
		s.(*net.UnixListener).SetUnlinkOnClose(false)
		undo = append(undo, func() { s.Close() })
	}
	if id, err := unix.SysvShmGet(unix.IPC_PRIVATE, os.Getpagesize(), 0o600|unix.IPC_CREAT); err == nil {
		t.Memory = id
		undo = append(undo, func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	}
	if maker, name, err := newTerminal(); err == nil {
		t.Terminal = name
		undo = append(undo, func() { unix.Close(maker) })
	}
	return t, done, nil
}

// echo sends datagrams back until c is closed.
func echo(c net.PacketConn) {
	buf := make([]byte, 64)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		_, _ = c.WriteTo(buf[:n], from)
	}
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
