//go:build unix

package cli

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// TestPassedSocket checks which sockets of systemd are taken, and that no program that is started
// later has them.
func TestPassedSocket(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	local, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	connected, err := net.Dial("tcp", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connected.Close()
	type filer interface{ File() (*os.File, error) }
	own := strconv.Itoa(os.Getpid())
	for _, tc := range []struct {
		why        string
		of         filer
		count, pid string
		taken      bool
		want       string
	}{
		{"without systemd", tcp.(filer), "", "", false, ""},
		{"of another process", tcp.(filer), "1", "1", false, ""},
		{"one", tcp.(filer), "1", own, true, ""},
		{"two", tcp.(filer), "2", own, false, `systemd passes "2" sockets; use one ListenStream=`},
		{"a connection", connected.(filer), "1", own, false, "systemd passes no socket that listens; use ListenStream= and Accept=no"},
		{"not TCP", local.(filer), "1", own, false, "systemd passes a socket that is not one of TCP; use ListenStream=ADDRESS:PORT"},
	} {
		f, err := tc.of.File()
		if err != nil {
			t.Fatal(err)
		}
		fd, err := syscall.Dup(int(f.Fd())) // passedSocket closes it
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"LISTEN_FDS": tc.count, "LISTEN_PID": tc.pid, "LISTEN_FDNAMES": "x"}
		l, err := passedSocket(&Host{Getenv: func(k string) string { return env[k] }, Unsetenv: func(k string) { delete(env, k) }}, fd)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != tc.want || (l != nil) != tc.taken {
			t.Errorf("%s: %v, %v", tc.why, l, err)
		}
		if mine := tc.pid == own; mine != (len(env) == 0) {
			t.Errorf("%s: the variables are %v", tc.why, env)
		}
		if l == nil {
			_ = syscall.Close(fd)
			continue
		}
		if l.Addr().String() != tcp.Addr().String() {
			t.Errorf("it listens on %v", l.Addr())
		}
		if syscall.Close(fd) == nil {
			t.Error("the passed file is still open")
		}
		l.Close()
	}
}
