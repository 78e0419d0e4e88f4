package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// networkRunner returns a Runner of the tier that has networks.
func networkRunner(t testing.TB) *Runner {
	t.Helper()
	r := newRunner(t, Config{Tiers: []Tier{PIDNamespace}, Spares: 1})
	if _, err := r.Tier(t.Context()); err != nil {
		t.Skip(err)
	}
	return r
}

func newNetwork(t testing.TB, r *Runner) *Network {
	t.Helper()
	n, err := r.NewNetwork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// runIn runs a script in a network until it ends.
func runIn(t testing.TB, r *Runner, n *Network, text string) (Exit, string) {
	t.Helper()
	s := script(t, text)
	s.Network = n
	p, o := start(t, r, s)
	e := wait(t, p)
	return e, strings.TrimSuffix(o.all(t), "\n")
}

// namespaceOf returns the id of the network namespace of a descriptor's file.
func namespaceOf(t testing.TB, f *os.File) string {
	t.Helper()
	info, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

const showNetwork = "readlink /proc/self/ns/net"

// TestNetwork checks that a command is in the network it was started in, with the
// loopback interface up, and others are in that of the server.
func TestNetwork(t *testing.T) {
	r := networkRunner(t)
	a, b := newNetwork(t, r), newNetwork(t, r)
	own, _ := os.Readlink("/proc/self/ns/net")
	for range 3 {
		for n, want := range map[*Network]string{nil: own, a: namespaceOf(t, a.space), b: namespaceOf(t, b.space)} {
			if e, out := runIn(t, r, n, showNetwork); e.Code != 0 || out != want {
				t.Errorf("%+v, %s, want %s", e, out, want)
			}
		}
	}
	if namespaceOf(t, a.space) == namespaceOf(t, b.space) {
		t.Error("two networks are the same")
	}
	if _, out := runIn(t, r, a, "cat /proc/net/dev | tail -n +3 | cut -d: -f1; cat /proc/net/if_inet6 2>/dev/null | cut -c1-32; ls /proc/self/fd | tr '\\n' ' '"); !strings.HasPrefix(strings.TrimSpace(out), "lo") || !strings.HasSuffix(out, "0 1 2 3 ") {
		t.Errorf("got %q", out)
	}
}

// echo accepts connections and sends each back what it reads.
func echo(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_, _ = io.Copy(c, c)
		}()
	}
}

// TestNetworkSockets checks that the server accepts connections of commands and
// connects to their listeners.
func TestNetworkSockets(t *testing.T) {
	r := networkRunner(t)
	n, other := newNetwork(t, r), newNetwork(t, r)
	l, err := n.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go echo(l)
	defer l.Close()
	addr := l.(*net.TCPListener).Addr().(*net.TCPAddr).AddrPort()
	ask := fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d && echo hello >&3 && read -r x <&3 && echo got $x", addr.Port())
	if _, out := runIn(t, r, n, ask); out != "got hello" {
		t.Errorf("got %q", out)
	}
	for _, out := range []*Network{other, nil} {
		if e, out := runIn(t, r, out, ask); e.Code == 0 || strings.Contains(out, "got") {
			t.Errorf("from another network: %+v, %q", e, out)
		}
	}
	c, err := n.Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.(*net.TCPConn).RemoteAddr().String(); got != addr.String() {
		t.Errorf("connected to %s, not %s", got, addr)
	}
	buf := make([]byte, 2)
	if _, err := c.Write([]byte("hi")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, buf); err != nil || string(buf) != "hi" {
		t.Errorf("%q, %v", buf, err)
	}
	for _, to := range []string{"127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"} {
		if _, err := n.Dial(t.Context(), netip.MustParseAddrPort(to)); !errors.Is(err, unix.ECONNREFUSED) {
			t.Errorf("%s: %v", to, err)
		}
	}
	for _, to := range []string{"192.0.2.1:80", "[2001:db8::1]:80"} {
		if _, err := n.Dial(t.Context(), netip.MustParseAddrPort(to)); !errors.Is(err, unix.ENETUNREACH) {
			t.Errorf("%s: %v", to, err)
		}
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	began := time.Now()
	if _, err := other.Dial(t.Context(), addr); err == nil || time.Since(began) > failTime/2 {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	if _, err := n.Dial(t.Context(), netip.AddrPort{}); err == nil {
		t.Error("connected to no address")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.Dial(cancelled, addr); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestNetworkGone checks that all ends with the spawner, and that the next network
// has a new one.
func TestNetworkGone(t *testing.T) {
	r := networkRunner(t)
	n := newNetwork(t, r)
	s := script(t, "echo; exec sleep 1000")
	s.Network = n
	p, o := start(t, r, s)
	sp := n.spawner
	if err := unix.Kill(sp.child.pid(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	const want = "the supervisor of a command ended: signal: killed"
	if e := wait(t, p); e.Lost == nil || e.Lost.Error() != want || e.Stuck {
		t.Errorf("got %+v", e)
	}
	o.all(t)
	<-sp.exited
	if !n.Gone() {
		t.Error("the network is there")
	}
	if _, err := n.Listen(t.Context()); !errors.Is(err, ErrNetworkGone) {
		t.Error(err)
	}
	in, input, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	o = newOutput(t)
	s.Output, s.Input = o.w, in
	if _, err := r.Start(t.Context(), s); !errors.Is(err, ErrNetworkGone) {
		t.Error(err)
	}
	if err := in.Close(); err != nil {
		t.Error("the input is not there for another attempt:", err)
	}
	if out := o.all(t); out != "" {
		t.Errorf("it ran: %q", out)
	}
	again := newNetwork(t, r)
	if e, out := runIn(t, r, again, showNetwork); e.Code != 0 || out != namespaceOf(t, again.space) {
		t.Errorf("%+v, %s", e, out)
	}
}

// TestSpawnerKilled checks that a supervisor starts just after the spawner was killed.
func TestSpawnerKilled(t *testing.T) {
	r := newRunner(t, Config{Tiers: []Tier{PIDNamespace}})
	if _, err := r.Tier(t.Context()); err != nil {
		t.Skip(err)
	}
	for range 10 {
		r.mu.Lock()
		n := r.spawners.current
		r.mu.Unlock()
		if n != nil {
			n.child.signal(unix.SIGKILL)
		}
		s, err := r.fresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.discard()
		<-s.exited
	}
}

// TestSpawnerStopped checks that a spawner that was stopped continues, and that one
// that does not answer is replaced.
func TestSpawnerStopped(t *testing.T) {
	r := newRunner(t, Config{Tiers: []Tier{PIDNamespace}})
	if _, err := r.Tier(t.Context()); err != nil {
		t.Skip(err)
	}
	n := newNetwork(t, r)
	old := n.spawner
	if err := unix.Kill(old.child.pid(), unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if l, err := n.Listen(t.Context()); err != nil {
		t.Error(err)
	} else {
		_ = l.Close()
	}
	s := script(t, "echo; exec sleep 1000")
	s.Network = n
	p, o := start(t, r, s)
	r.wait = 50 * time.Millisecond
	if err := unix.Kill(old.child.pid(), unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is stopped", func() bool { return stopped(old.child.pid()) })
	if _, err := n.Listen(t.Context()); err == nil {
		t.Error("it answers")
	}
	r.wait = patience
	if !n.Gone() {
		t.Error("it is not replaced")
	}
	if e, out := run(t, r, "echo next"); e.Code != 0 || out != "next" {
		t.Errorf("%+v, %s", e, out)
	}
	if p.isDone() {
		t.Error("a command of the replaced spawner has ended")
	}
	if err := unix.Kill(old.child.pid(), unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := p.End(0); err != nil {
		t.Error(err)
	}
	o.all(t)
	_ = n.Close()
	eventually(t, "it has ended", old.hasExited)
}

// TestEndWhileStopped checks that commands are ended, and how they ended is known, while
// the spawner is stopped, and that Close does not wait for it.
func TestEndWhileStopped(t *testing.T) {
	r := networkRunner(t)
	p, o := start(t, r, script(t, "echo; exec sleep 1000"))
	q, _ := start(t, r, script(t, "echo; exec sleep 1000"))
	pid := r.spawners.current.child.pid()
	stop := func() {
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is stopped", func() bool { return stopped(pid) })
	}
	stop()
	p.sup.kill()
	const want = "the supervisor of a command ended: signal: killed"
	if e := wait(t, p); e.Lost == nil || e.Lost.Error() != want || e.Stuck {
		t.Errorf("got %+v", e)
	}
	o.all(t)
	stop()
	began := time.Now()
	if err := r.Close(0); err != nil {
		t.Error(err)
	}
	if e := q.Wait(); !e.Ended || e.Stuck {
		t.Errorf("got %+v", e)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Error("it took", took)
	}
}

// TestNotJoined checks that a command does not start in another network than its own.
func TestNotJoined(t *testing.T) {
	r := networkRunner(t)
	s := script(t, "echo ran")
	o := newOutput(t)
	s.Confine, s.Network, s.Output = []byte(`"astray"`), newNetwork(t, r), o.w
	if _, err := r.Start(t.Context(), s); err == nil || err.Error() != errNotJoined.Error() {
		t.Error(err)
	}
	if out := o.all(t); out != "" {
		t.Errorf("it ran: %q", out)
	}
}

// TestNoNetwork checks that other tiers have no networks.
func TestNoNetwork(t *testing.T) {
	r := newRunner(t, Config{Tiers: []Tier{Subreaper}})
	const want = "making a network for commands: it needs the tier PID namespace, and the tier is subreaper"
	if _, err := r.NewNetwork(t.Context()); err == nil || err.Error() != want {
		t.Error(err)
	}
	if r.spawners.current != nil {
		t.Error("there is a spawner")
	}
}

// TestNetworksLeft checks that networks leave no descriptor and no thread.
func TestNetworksLeft(t *testing.T) {
	r := networkRunner(t)
	run(t, r, "true")
	sp := r.spawners.current
	count := func(path string) int {
		entries, err := os.ReadDir(path)
		if err != nil {
			t.Log(err)
		}
		return len(entries)
	}
	pid := sp.child.pid()
	state := func() (n [3]int) {
		return [3]int{count("/proc/self/fd"), count(fmt.Sprintf("/proc/%d/task", pid)), sp.users}
	}
	use := func() {
		n := newNetwork(t, r)
		l, err := n.Listen(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e, out := runIn(t, r, n, "echo hi"); e.Code != 0 || out != "hi" {
			t.Errorf("%+v, %s", e, out)
		}
		if err := errors.Join(l.Close(), n.Close()); err != nil {
			t.Error(err)
		}
		if err := n.Close(); !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	}
	for range 5 {
		use()
	}
	settled := func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.ready) == 1 && r.filling == 0 && sp.users == 1
	}
	eventually(t, "there is a spare", settled)
	before := state()
	for range manyCalls {
		use()
	}
	eventually(t, "there is a spare", settled)
	eventually(t, "all is as it was", func() bool {
		now := state()
		return now[0] <= before[0] && now[1] <= before[1]+2 && now[2] == before[2]
	})
}

// BenchmarkNetwork measures what a network adds to a command: a new one, a listener,
// and a command that joins it.
func BenchmarkNetwork(b *testing.B) {
	r := networkRunner(b)
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			n, err := r.NewNetwork(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			_ = n.Close()
		}
	})
	n := newNetwork(b, r)
	b.Run("listen", func(b *testing.B) {
		for b.Loop() {
			l, err := n.Listen(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			_ = l.Close()
		}
	})
	for name, network := range map[string]*Network{"true, own network": n, "true, the server's": nil} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if e, _ := runIn(b, r, network, "true"); e.Code != 0 {
					b.Fatal(e)
				}
			}
		})
	}
}

// TestListening checks that a command's ports are those on which its own processes listen,
// whatever the address, and not those of other commands in its network.
func TestListening(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 here")
	}
	r := networkRunner(t)
	n := newNetwork(t, r)
	const listen = `python3 -c '
import socket, sys
for family, address, port in ((2, "127.0.0.1", 3001), (2, "0.0.0.0", 3000), (10, "::1", 3002), (10, "::", 3003)):
    s = socket.socket(family)
    s.bind((address, port + int(sys.argv[1])))
    s.listen()
    globals()["s%d" % port] = s
bound = socket.socket()
bound.bind(("127.0.0.1", 3009 + int(sys.argv[1])))
print("ready", file=sys.stderr, flush=True)
import time; time.sleep(3600)' `
	// begin starts a command and returns when its child listens.
	begin := func(offset int) *Process {
		s := script(t, fmt.Sprintf("%s %d & wait", listen, offset))
		ready, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer ready.Close()
		s.Network, s.Errors = n, w
		p, _ := start(t, r, s)
		if line, err := bufio.NewReader(ready).ReadString('\n'); line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
		return p
	}
	a, b := begin(0), begin(100)
	for p, want := range map[*Process][]uint16{a: {3000, 3001, 3002, 3003}, b: {3100, 3101, 3102, 3103}} {
		for range 2 {
			if got, err := p.Listening(t.Context(), n); err != nil || !slices.Equal(got, want) {
				t.Errorf("got %v, %v; want %v", got, err, want)
			}
		}
	}
	if got, err := n.Ports(t.Context()); err != nil || len(got) != 8 {
		t.Errorf("the network has %v, %v", got, err)
	}
	for _, p := range []*Process{a, b} {
		if err := p.End(0); err != nil {
			t.Error(err)
		}
		if got, err := p.Listening(t.Context(), n); err != nil || len(got) > 0 {
			t.Errorf("after the end: %v, %v", got, err)
		}
	}
}
