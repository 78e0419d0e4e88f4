package sandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-toolset/internal/testscale"

	"golang.org/x/sys/unix"
)

// job describes the work of a confined test process, which is this test binary
// started again.
type job struct {
	Policy   Policy
	Targets  Targets
	Switches switches
	Free     bool     // apply no policy, to show the result without one
	Canaries bool     // run the canaries
	Network  bool     // work in a new network namespace
	Args     []string // execute this command
}

// report is the output of that process on descriptor 3.
type report struct {
	Coverage Coverage
	Canaries []Canary
	Err      string
	Took     time.Duration
}

const jobVariable = "SANDBOX_TEST_JOB"

func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(jobVariable); ok {
		runtime.LockOSThread()
		os.Unsetenv(jobVariable)
		os.Exit(confined(text))
	}
	if text, ok := os.LookupEnv(starterVariable); ok {
		os.Exit(start(text))
	}
	os.Exit(m.Run())
}

const starterVariable = "SANDBOX_TEST_STARTER"

// start starts a command from a confined thread. The command tries to reach this
// process, which then ends it from another thread.
func start(text string) int {
	var p Policy
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		panic(err)
	}
	script := fmt.Sprintf("kill -0 %[1]d && echo signalled; cat /proc/%[1]d/environ && echo read; echo ready; exec sleep 1000", os.Getpid())
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command("bash", "-c", script)
	cmd.Stdout, cmd.Stderr = w, w
	if err := Within(p, nil, func(Coverage) error { return cmd.Start() }); err != nil {
		panic(err)
	}
	w.Close()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		switch lines.Text() {
		case "signalled", "read":
			fmt.Println("the command reached its starter:", lines.Text())
			return 1
		case "ready":
			if err := cmd.Process.Kill(); err != nil {
				panic(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		panic(err)
	}
	if err := os.WriteFile(os.DevNull, nil, 0); err != nil {
		panic(err)
	}
	if _, err := os.ReadDir("/"); err != nil { // this thread is not confined
		panic(err)
	}
	fmt.Println("ended by its starter")
	return 0
}

func confined(text string) int {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		panic(err)
	}
	if own(CurrentNamespaces().PID, j.Policy.Outside.PID) {
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	}
	if !j.Network {
		return j.work()
	}
	code := make(chan error)
	go onThread(code, func() error { // as Within does
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			panic(err)
		}
		os.Exit(j.work())
		return nil
	})
	<-code
	return 1
}

func (j job) work() int {
	var r report
	if !j.Free {
		began := time.Now()
		c, err := apply(j.Policy, j.Switches)
		r.Took = time.Since(began)
		if r.Coverage = c; err != nil {
			r.Err = err.Error()
		}
	}
	if j.Canaries && r.Err == "" {
		r.Canaries = TryCanaries(j.Policy, j.Targets)
	}
	out := os.NewFile(3, "report")
	if err := json.NewEncoder(out).Encode(r); err != nil {
		panic(err)
	}
	out.Close()
	if len(j.Args) == 0 || r.Err != "" {
		return 0
	}
	path, err := exec.LookPath(j.Args[0])
	if err == nil {
		err = syscall.Exec(path, j.Args, os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	return 127
}

// tier describes how the process is started.
type tier struct {
	name  string
	flags uintptr
}

var (
	plain  = tier{"plain", 0}
	spaces = tier{"namespaces", unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC}
	userns = tier{"user namespace", unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC}
)

// tiers returns the tiers that are available to this user. At quick scale it
// returns the first of them.
func tiers(t *testing.T) []tier {
	t.Helper()
	var out []tier
	for _, at := range []tier{spaces, userns, plain} {
		if !testscale.Full() && len(out) > 0 {
			break
		}
		if at.available() == nil {
			out = append(out, at)
		} else {
			t.Logf("not tested: %s: %v", at.name, at.available())
		}
	}
	return out
}

func (at tier) attr() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: at.flags}
	if at.flags&unix.CLONE_NEWUSER != 0 {
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE}
	}
	return a
}

func (at tier) available() error {
	cmd := exec.Command("true")
	cmd.SysProcAttr = at.attr()
	return cmd.Run()
}

func (at tier) need(t *testing.T) {
	t.Helper()
	if err := at.available(); err != nil {
		t.Skipf("%s cannot be had here: %v", at.name, err)
	}
}

type result struct {
	report
	out  string
	code int
}

// run runs a job in a tier in which its policy can be applied.
func (j job) run(t testing.TB, at tier, dir string, env ...string) result {
	t.Helper()
	res := j.try(t, at, dir, env...)
	if res.Err != "" {
		t.Fatalf("not applied: %s", res.Err)
	}
	return res
}

// try runs a job in a tier and returns the result, whatever it is.
func (j job) try(t testing.TB, at tier, dir string, env ...string) result {
	t.Helper()
	j.Policy.Outside = CurrentNamespaces()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(self)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), env...), jobVariable+"="+string(text))
	if j.Policy.TempDir != "" {
		cmd.Env = append(cmd.Env, "TMPDIR="+j.Policy.TempDir)
	}
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = at.attr()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	var res result
	decodeErr := json.NewDecoder(r).Decode(&res.report)
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	res.out, res.code = out.String(), cmd.ProcessState.ExitCode()
	if decodeErr != nil {
		t.Fatalf("no report: %v\n%s", decodeErr, res.out)
	}
	return res
}

// scratch is a small system for tests: a root, a private folder, a home folder, and
// a folder outside of the policy.
type scratch struct {
	root, temp, home, outside string
	policy                    Policy
}

// newScratch makes a scratch system. If possible, it is outside of /tmp, which is
// masked as a whole, and outside of the folders that all commands may read.
func newScratch(t testing.TB) scratch {
	t.Helper()
	base := ""
	for _, b := range []string{os.Getenv("HOME"), ""} {
		d, err := os.MkdirTemp(b, "sandbox-test-")
		if err == nil {
			base = d
			break
		}
	}
	t.Cleanup(func() {
		exec.Command("chmod", "-R", "u+rwx", base).Run()
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	s := scratch{root: base + "/root", temp: base + "/temp", home: base + "/home", outside: base + "/outside"}
	for _, d := range []string{s.root, s.temp, s.home, s.outside} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	read, secret := Readable(s.home, nil)
	s.policy = Policy{Write: []string{s.root}, TempDir: s.temp, Read: read, Hide: existing(secret)}
	return s
}

func existing(paths []string) []string {
	var out []string
	for _, p := range paths {
		if _, err := os.Lstat(p); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// bash runs a script under a policy.
func (s scratch) bash(t testing.TB, at tier, p Policy, script string) result {
	t.Helper()
	return job{Policy: p, Args: []string{"bash", "--norc", "--noprofile", "-p", "-c", script}}.run(t, at, s.root, "HOME="+s.home)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func hasMissing(c Coverage, name string) bool {
	for _, m := range c.Missing {
		if n, _, _ := strings.Cut(m, ":"); n == name {
			return true
		}
	}
	return false
}
