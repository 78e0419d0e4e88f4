package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/exec/sandbox"
)

// networkCommands makes Commands in the mode Ask, and skips the test where it has no
// networks.
func networkCommands(t testing.TB) (*Commands, string) {
	t.Helper()
	c, root := newCommands(t, func(c *Config) { c.Network = Ask })
	c.report = trialWithNetwork()
	needNetwork(t, c)
	return c, root
}

// needNetwork skips a test where the kernel gives no networks.
func needNetwork(t testing.TB, c *Commands) {
	t.Helper()
	err := c.NetworkContained(t.Context())
	if err == nil {
		return
	}
	if n, failed := c.runner.NewNetwork(t.Context()); failed == nil {
		_ = n.Close()
		t.Fatal(err)
	}
	t.Skip("there are no networks here:", err)
}

// trialWithNetwork is trialOfTests in the mode Ask.
var trialWithNetwork = sync.OnceValue(func() *Report {
	dir, err := os.MkdirTemp("", "mcp-toolset-trial")
	if err != nil {
		return nil
	}
	defer os.RemoveAll(dir)
	c, err := New(Config{Roots: []string{dir}, Home: dir, State: filepath.Join(dir, "state"), Environ: os.Environ(), Network: Ask})
	if err != nil {
		return nil
	}
	defer c.Close()
	c.Report(context.Background())
	return c.report
})

// outside is a set of listeners in the network of the server. It counts what arrives.
type outside struct {
	mu      sync.Mutex
	arrived []string
	tcp4    string // ports
	tcp6    string
	udp     string
	name    string // of an abstract socket
}

func (o *outside) add(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.arrived = append(o.arrived, what)
}

func (o *outside) all() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.arrived)
}

// listenOutside listens on all addresses of the machine.
func listenOutside(t *testing.T) *outside {
	t.Helper()
	o := &outside{name: "mcp-toolset-test-" + rndName()}
	accept := func(network, address string) net.Addr {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				o.add(network)
				c.Close()
			}
		}()
		return l.Addr()
	}
	port := func(a net.Addr) string {
		_, p, _ := net.SplitHostPort(a.String())
		return p
	}
	o.tcp4, o.tcp6 = port(accept("tcp4", "0.0.0.0:0")), ""
	if l, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		l.Close()
		o.tcp6 = port(accept("tcp6", "[::]:0"))
	}
	accept("unix", "@"+o.name)
	u, err := net.ListenPacket("udp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	o.udp = port(u.LocalAddr())
	go func() {
		buf := make([]byte, 100)
		for {
			n, from, err := u.ReadFrom(buf)
			if err != nil {
				return
			}
			o.add("udp")
			_, _ = u.WriteTo(buf[:n], from)
		}
	}()
	return o
}

func rndName() string { return fmt.Sprint(time.Now().UnixNano()) }

// hostAddresses returns the addresses of this machine outside of its loopback interface.
func hostAddresses() (list []string) {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
			list = append(list, ip.IP.String())
		}
	}
	return append(list, "127.0.0.1")
}

// attack is a script for Python that tries to reach the listeners outside in every way,
// and prints what succeeded.
func (o *outside) attack() string {
	return fmt.Sprintf(`
import ctypes, os, socket, struct
def attempt(what, f):
    try:
        f()
        print("DONE", what)
    except OSError as e:
        print("no", what, e)
def tcp(family, host, port):
    s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(3); s.connect((host, int(port))); s.send(b"x")
def udp(family, host, port):
    s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(3); s.connect((host, int(port))); s.send(b"x"); s.recv(9)
for h in %q.split():
    attempt("tcp " + h, lambda: tcp(socket.AF_INET, h, %s))
    attempt("udp " + h, lambda: udp(socket.AF_INET, h, %s))
if %q:
    attempt("tcp6", lambda: tcp(socket.AF_INET6, "::1", %q))
    attempt("udp6", lambda: udp(socket.AF_INET6, "::1", %s))
def abstract():
    s = socket.socket(socket.AF_UNIX); s.connect("\0" + %q)
attempt("abstract", abstract)
def raw(family, kind, proto, to):
    s = socket.socket(family, kind, proto); s.settimeout(3)
    s.sendto(b"\x08\x00\xf7\xfe\x00\x00\x00\x01", (to, 0))
for to in ("192.0.2.1", %q.split()[0]):
    attempt("icmp", lambda: raw(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP, to))
    attempt("raw", lambda: raw(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP, to))
attempt("raw6", lambda: raw(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6, "::1"))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3))
attempt("vsock", lambda: socket.socket(40, socket.SOCK_STREAM).connect((2, 22)))
def multicast():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"x", ("224.0.0.1", %s))
attempt("multicast", multicast)
def netlink(kind, body):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); s.settimeout(3)
    s.sendto(struct.pack("=IHHII", 16 + len(body), kind, 5, 1, 0) + body, (0, 0))
    code = -struct.unpack_from("=i", s.recv(999), 16)[0]
    if code: raise OSError(code, os.strerror(code))
# a new dummy interface; a route by lo; lo down
attempt("netlink link", lambda: netlink(16, struct.pack("=BxHiII", 0, 0, 0, 1, 1) + struct.pack("=HH", 20, 32786) + struct.pack("=HH6sxx", 10, 1, b"dummy\0")))
attempt("netlink route", lambda: netlink(24, struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 254, 4, 0, 1, 0) + struct.pack("=HHI", 8, 4, 1)))
attempt("netlink down", lambda: netlink(16, struct.pack("=BxHiII", 0, 0, 1, 0, 1)))
libc = ctypes.CDLL(None, use_errno=True)
def check(code):
    if code: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
attempt("namespace", lambda: check(libc.setns(os.open("/proc/1/ns/net", os.O_RDONLY), 0x40000000)))
attempt("unshare", lambda: check(libc.unshare(0x40000000)))
attempt("user namespace", lambda: check(libc.unshare(0x50000000)))
print("end")
`, strings.Join(hostAddresses(), " "), o.tcp4, o.udp, o.tcp6, o.tcp6, o.udp, o.name, strings.Join(hostAddresses(), " "), o.udp)
}

// python returns the path of a Python interpreter that commands may run.
func python(t *testing.T) string {
	t.Helper()
	for _, path := range []string{"/usr/bin/python3", "/usr/local/bin/python3"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no Python")
	}
	return path
}

// TestNetworkAttacks checks that a command reaches no listener outside, at once or from a
// process that stays in the background, and that the attacks reach them without a
// network of their own.
func TestNetworkAttacks(t *testing.T) {
	c, root := networkCommands(t)
	py := python(t)
	o := listenOutside(t)
	if err := os.WriteFile(filepath.Join(root, "attack.py"), []byte(o.attack()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{
		py + " attack.py",
		"(setsid " + py + " attack.py; echo) > out 2>&1 & wait; cat out",
	} {
		text, res := run(t, c, Spec{Script: script, Owner: "a"})
		if strings.Contains(text, "DONE") || !strings.Contains(text, "\nend") || len(o.all()) > 0 {
			t.Errorf("%+v arrived: %q\n%s", res, o.all(), text)
		}
	}
	if testing.Verbose() {
		t.Log(run(t, c, Spec{Script: py + " attack.py", Owner: "a"}))
	}
	allowed, _ := newCommands(t, func(c *Config) { c.Roots = []string{root} })
	needContained(t, allowed)
	text, _ := run(t, allowed, Spec{Script: py + " attack.py", Owner: "a"})
	if got := o.all(); !slices.Contains(got, "tcp4") || !slices.Contains(got, "udp") || o.tcp6 != "" && !slices.Contains(got, "tcp6") {
		t.Errorf("the attacks do not work in the server's network: %q\n%s", got, text)
	}
}

// task starts a command that goes on, and waits until it has printed a line.
func task(t *testing.T, c *Commands, s Spec) (*Running, string) {
	t.Helper()
	s.Dir = c.config.Roots[0]
	r, err := c.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.End(Stopped, 0) })
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if v, err := r.Output.View(1 << 10); err == nil && strings.Contains(v.Head, "\n") {
			return r, strings.TrimSpace(v.Head)
		}
	}
	t.Fatal("it prints nothing")
	return nil, ""
}

// serve is a server for Python that prints its port.
const serve = `
import socket, sys
family, host = (socket.AF_INET, "127.0.0.1") if sys.argv[1] == "4" else (socket.AF_INET6, "::1")
s = socket.socket(family); s.bind((host, 0)); s.listen()
print(s.getsockname()[1], flush=True)
while True:
    c = s.accept()[0]; c.send(b"hello\n"); c.close()
`

// TestSharedLoopback checks that the next command of a session reaches a server that a
// command in the background runs, and those of other sessions do not.
func TestSharedLoopback(t *testing.T) {
	c, root := networkCommands(t)
	py := python(t)
	if err := os.WriteFile(filepath.Join(root, "serve.py"), []byte(serve), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct{ arg, host string }{{"4", "127.0.0.1"}, {"6", "::1"}} {
		server, port := task(t, c, Spec{Script: "exec " + py + " serve.py " + one.arg, Owner: "a"})
		if !server.policy.OwnNetwork {
			t.Error("it has no network of its own")
		}
		ask := fmt.Sprintf("read -r x < /dev/tcp/%s/%s && echo got $x", one.host, port)
		if text, _ := run(t, c, Spec{Script: ask, Owner: "a"}); text != "got hello\n" {
			t.Errorf("%s: %q", one.host, text)
		}
		for _, s := range []Spec{{Script: ask, Owner: "b"}, {Script: ask, Owner: "a", ReadOnly: true}, {Script: ask, Owner: "a", Uncontained: true}} {
			if text, res := run(t, c, s); strings.Contains(text, "got") || res.Code == 0 {
				t.Errorf("%s: %+v: %q", one.host, s, text)
			}
		}
		// The proxy of another command connects to it.
		var local Local
		run(t, c, Spec{Script: "true", Owner: "a", Proxy: func(_ net.Listener, l Local) func() []string {
			local = l
			return nil
		}})
		conn, err := local(t.Context(), netip.MustParseAddrPort(net.JoinHostPort(one.host, port)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); string(got) != "hello\n" {
			t.Errorf("%s: %q, %v", one.host, got, err)
		}
		conn.Close()
	}
}

// TestProxy checks that each command has a proxy of its own with its variables, which
// ends with the command.
func TestProxy(t *testing.T) {
	c, _ := newCommands(t, func(c *Config) {
		c.Network = Ask
		c.Environ = append(c.Environ, "NO_PROXY=localhost", "no_proxy=localhost", "https_proxy=http://corp:1", "FTP_PROXY=http://corp:1", "MAVEN_OPTS=-Xmx1g", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=a")
		c.Pass = []string{"GIT_CONFIG_*"}
	})
	c.report = trialWithNetwork()
	needNetwork(t, c)
	var listener net.Listener
	stopped := 0
	proxy := func(l net.Listener, _ Local) func() []string {
		listener = l
		served := make(chan struct{})
		go func() {
			defer close(served)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, "proxied\n")
				conn.Close()
			}
		}()
		return func() []string {
			<-served
			stopped++
			return []string{"example.com was refused"}
		}
	}
	text, res := run(t, c, Spec{Script: `env | grep -i proxy | grep -v ^HOME= | grep -v ^PWD= | grep -v ^TMPDIR= | LC_ALL=C sort; x=${HTTP_PROXY#http://127.0.0.1:}; read -r y < /dev/tcp/127.0.0.1/$x; echo $y`, Owner: "a", Proxy: proxy})
	url := "http://" + listener.Addr().String()
	java := fmt.Sprintf("-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=%[1]d -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=%[1]d", listener.Addr().(*net.TCPAddr).Port)
	want := strings.NewReplacer("URL", url, "JAVA", java).Replace(`ALL_PROXY=URL
CARGO_HTTP_PROXY=URL
GIT_CONFIG_KEY_1=http.proxy
GRADLE_OPTS=JAVA
HTTPS_PROXY=URL
HTTP_PROXY=URL
MAVEN_OPTS=-Xmx1g JAVA
NODE_USE_ENV_PROXY=1
PIP_PROXY=URL
SBT_OPTS=JAVA
YARN_HTTPS_PROXY=URL
YARN_HTTP_PROXY=URL
all_proxy=URL
http_proxy=URL
https_proxy=URL
npm_config_https_proxy=URL
npm_config_proxy=URL
`)
	if want += "proxied\n"; text != want {
		t.Errorf("got %q, want %q", text, want)
	}
	if !slices.Equal(res.Unreached, []string{"example.com was refused"}) || stopped != 1 {
		t.Errorf("refused %q, stopped %d", res.Unreached, stopped)
	}
	if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	// A read-only command in the network has the environment that the analysis has chosen: git
	// would run programs that a repository names otherwise.
	judged := []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false"}
	text, res = run(t, c, Spec{Script: "env | grep -E 'GIT_CONFIG_[CKV]|_proxy=' | LC_ALL=C sort", Owner: "a", ReadOnly: true, Judged: true, Env: judged, Proxy: proxy})
	if text != strings.Join(judged, "\n")+"\n" {
		t.Errorf("a read-only command has %q, unreached %q", text, res.Unreached)
	}
	text, res = run(t, c, Spec{Script: "env | grep -i _proxy=; true", Owner: "a"})
	if text != "" || res.Unreached != nil {
		t.Errorf("without a proxy: %q, %q", text, res.Unreached)
	}
	// A command that does not start ends its proxy, too.
	if _, err := c.Start(t.Context(), Spec{Script: "true", Dir: "/nonexistent", Owner: "a", Proxy: proxy}); err == nil || stopped != 2 {
		t.Errorf("%v, stopped %d", err, stopped)
	}
	// So does one that the server ends.
	r, _ := task(t, c, Spec{Script: "echo; sleep 1000", Owner: "a", Proxy: proxy})
	if err := r.End(Stopped, 0); err != nil || stopped != 3 {
		t.Errorf("%v, stopped %d", err, stopped)
	}
}

// networkFiles counts the descriptors of network namespaces that this process has open.
func networkFiles(t *testing.T) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if link, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasPrefix(link, "net:") {
			n++
		}
	}
	return n
}

// TestNetworksForgotten checks that the network of an owner ends with it, and that there
// are not too many.
func TestNetworksForgotten(t *testing.T) {
	c, _ := networkCommands(t)
	before := networkFiles(t)
	r, _ := task(t, c, Spec{Script: "echo; sleep 1000", Owner: "a"})
	if got := networkFiles(t); got != before+1 {
		t.Errorf("%d networks", got-before)
	}
	c.Forget("a") // as in a race with its last command
	if got := networkFiles(t); got != before+1 {
		t.Error("the network of a command that runs is gone")
	}
	if err := r.End(Stopped, 0); err != nil {
		t.Error(err)
	}
	if got := networkFiles(t); got != before {
		t.Errorf("%d networks are left", got-before)
	}
	run(t, c, Spec{Script: "true", Owner: "b"})
	c.Forget("b")
	if got := networkFiles(t); got != before {
		t.Errorf("%d networks are left", got-before)
	}
	for i := range maxNetworks + 3 {
		own, err := c.networks.of(t.Context(), fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		c.networks.release(own)
	}
	if got := networkFiles(t); got != before+maxNetworks || c.networks.owners["2"] != nil || c.networks.owners["3"] == nil {
		t.Errorf("%d networks", got-before)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if got := networkFiles(t); got != before {
		t.Errorf("%d networks are left", got-before)
	}
	if _, err := c.networks.of(t.Context(), "c"); !errors.Is(err, process.ErrClosed) {
		t.Error(err)
	}
}

// spawnerOf returns the pid of the spawner of c.
func spawnerOf(t *testing.T) (pids []int) {
	t.Helper()
	text, err := exec.Command("pgrep", "-P", fmt.Sprint(os.Getpid()), "-f", " "+process.Arg+"$").Output()
	if err != nil {
		t.Skip("pgrep:", err)
	}
	for f := range strings.FieldsSeq(string(text)) {
		var pid int
		if _, err := fmt.Sscan(f, &pid); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestSpawnerKilled checks that commands get a new network when theirs is gone, and
// never that of the server.
func TestSpawnerKilled(t *testing.T) {
	c, _ := networkCommands(t)
	const show = "readlink /proc/self/ns/net"
	own := sandbox.CurrentNamespaces().Net
	first, _ := run(t, c, Spec{Script: show, Owner: "a"})
	r, _ := task(t, c, Spec{Script: "echo; sleep 1000", Owner: "a"})
	for _, pid := range spawnerOf(t) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if res := r.Result(); res.Lost == nil {
		t.Errorf("%+v", res)
	}
	second, _ := run(t, c, Spec{Script: show, Owner: "a"})
	if !strings.HasPrefix(first, "net:[") || !strings.HasPrefix(second, "net:[") || strings.TrimSpace(first) == own || strings.TrimSpace(second) == own {
		t.Errorf("the server has %s; %q, then %q", own, first, second)
	}
}

// TestNetworkMissing checks that commands have the server's network where the trial had
// none, and that nothing starts where the trial had one and there is none now.
func TestNetworkMissing(t *testing.T) {
	without := process.NewRunner(process.Config{Tiers: []process.Tier{process.Subreaper}})
	c, _ := untriedCommands(t, func(c *Config) { c.Network = Ask })
	c.runner, c.networks.runner = without, without
	const want = "making a network for commands: it needs the tier PID namespace, and the tier is subreaper"
	if r := c.Report(t.Context()); r.Write.InForce() {
		if err := c.NetworkContained(t.Context()); err == nil || err.Error() != want {
			t.Error(err)
		}
		if !slices.Contains(r.Write.Broken(), "network: "+want) {
			t.Errorf("%q", r.Write.Broken())
		}
		if text, _ := run(t, c, Spec{Script: "readlink /proc/self/ns/net", Owner: "a"}); strings.TrimSpace(text) != sandbox.CurrentNamespaces().Net {
			t.Errorf("got %q", text)
		}
	}
	c.report = trialWithNetwork()
	if c.report.Write.held(promiseNetwork) {
		if _, err := c.Start(t.Context(), Spec{Script: "true", Dir: c.config.Roots[0]}); err == nil || err.Error() != want {
			t.Error(err)
		}
	}
	var none *Commands
	if err := none.NetworkContained(t.Context()); err != nil {
		t.Error(err)
	}
	for _, mode := range []NetworkMode{"", Allow, Deny} {
		c, _ := untriedCommands(t, func(c *Config) { c.Network = mode })
		if err := c.NetworkContained(t.Context()); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
	if _, err := New(Config{Network: "yes"}); err == nil || err.Error() != `the network of commands is "yes"; use allow, ask or deny` {
		t.Error(err)
	}
}

// TestNamesFailFast checks that a command that looks up names itself fails soon, and that
// the result has what to do.
func TestNamesFailFast(t *testing.T) {
	c, _ := networkCommands(t)
	began := time.Now()
	// A resolver that asks servers waits for 5 s each time.
	text, res := run(t, c, Spec{Script: "for i in 1 2 3 4 5 6; do getent hosts mcp-toolset.example.com && exit; done; { echo 'getent: Temporary failure in name resolution'; exit 2; }", Owner: "a"})
	if took := time.Since(began); res.Code == 0 || took > 25*time.Second {
		t.Errorf("after %v: %+v, %q", took, res, text)
	}
	if len(res.Blocked) != 1 || !strings.Contains(res.Blocked[0], "HTTPS_PROXY") {
		t.Errorf("blocked: %q", res.Blocked)
	}
}

// BenchmarkNetworkMode measures a command that does nothing in each mode, with a proxy
// that serves nobody in the mode Ask, and the first command of a server.
func BenchmarkNetworkMode(b *testing.B) {
	idle := func(net.Listener, Local) func() []string { return func() []string { return nil } }
	for _, mode := range []NetworkMode{Allow, Ask} {
		b.Run(string(mode), func(b *testing.B) {
			c, _ := newCommands(b, func(c *Config) { c.Network = mode })
			c.report = trialWithNetwork()
			for b.Loop() {
				if said, res := run(b, c, Spec{Script: "true", Owner: "a", Proxy: idle}); res.Code != 0 {
					b.Fatal(said)
				}
			}
		})
		b.Run(string(mode)+", spaced", func(b *testing.B) {
			c, _ := newCommands(b, func(c *Config) { c.Network = mode })
			c.report = trialWithNetwork()
			for b.Loop() {
				b.StopTimer()
				time.Sleep(20 * time.Millisecond) // a supervisor becomes ready
				b.StartTimer()
				if said, res := run(b, c, Spec{Script: "true", Owner: "a", Proxy: idle}); res.Code != 0 {
					b.Fatal(said)
				}
			}
		})
		b.Run(string(mode)+", first", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				c, _ := untriedCommands(b, func(c *Config) { c.Network = mode })
				b.StartTimer()
				if said, res := run(b, c, Spec{Script: "true", Owner: "a", Proxy: idle}); res.Code != 0 {
					b.Fatal(said)
				}
				b.StopTimer()
				_ = c.Close()
				b.StartTimer()
			}
		})
	}
}
