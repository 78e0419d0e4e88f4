//go:build linux || darwin

package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
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
	if err := errors.Join(os.Mkdir(t.Outside, 0o700), os.MkdirAll(filepath.Dir(t.deep()), 0o700)); err != nil {
		return t, done, err
	}
	for _, path := range []string{t.Outside + "/file", t.Inside + "/protected", t.Inside + "/hidden", t.Inside + "/free", t.deep()} {
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
	socket, err := listenUnix(t.Socket())
	if err != nil {
		return t, done, err
	}
	undo = append(undo, socket)
	more, err := t.system()
	undo = append(undo, more...)
	return t, done, err
}

// listenUnix makes a socket with a listener. Its file stays when it is closed.
func listenUnix(name string) (done func(), err error) {
	s, err := net.Listen("unix", name)
	if err != nil {
		return nil, err
	}
	s.(*net.UnixListener).SetUnlinkOnClose(false)
	return func() { s.Close() }, nil
}

// echo returns datagrams to their senders until c is closed.
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
