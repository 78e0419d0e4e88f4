//go:build unix

package cli

import (
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// firstSocket is the number of the first socket that systemd passes (sd_listen_fds(3)).
const firstSocket = 3

// passedSocket returns the socket that systemd passes to this process as the file fd, or nil. It must
// be called before the process starts another one.
func passedSocket(host *Host, fd int) (net.Listener, error) {
	count := host.Getenv("LISTEN_FDS")
	if count == "" || host.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	for _, v := range []string{"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"} {
		host.Unsetenv(v)
	}
	if count != "1" {
		return nil, usagef("systemd passes %q sockets; use one ListenStream=", count)
	}
	if listens, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil || listens == 0 {
		return nil, usagef("systemd passes no socket that listens; use ListenStream= and Accept=no")
	}
	unix.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "systemd")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("taking the socket of systemd: %w", err)
	}
	if _, ok := l.(*net.TCPListener); !ok {
		l.Close()
		return nil, usagef("systemd passes a socket that is not one of TCP; use ListenStream=ADDRESS:PORT")
	}
	return l, nil
}
