package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/exec/sandbox"
	"mcp-toolset/internal/exec/spool"
)

// tempFiles returns the names in the server's folder for temporary files and the stored
// output logs, except for those of the trial.
func tempFiles(t testing.TB, c *Commands) (list []string) {
	t.Helper()
	for _, root := range []string{c.temp.base(), filepath.Join(c.config.State, "output")} {
		if root == "" {
			continue
		}
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".lock") && filepath.Base(path) != "coverage" {
				list = append(list, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// believe replaces the result of the trial.
func believe(c *Commands, write, readOnly Trial) {
	c.report = &Report{Tier: process.Subreaper, Write: write, ReadOnly: readOnly}
}

var (
	broken  = Trial{Canaries: []sandbox.Canary{{Promise: "write", Detail: "it was written"}, {Promise: "work", Held: true}}}
	failing = Trial{Err: errors.New("no kernel")}
)

func TestStartErrors(t *testing.T) {
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the call is over"))
	for _, one := range []struct {
		name string
		edit func(*Commands, *Spec)
		ctx  context.Context
		want string
	}{
		{"no shell", func(c *Commands, _ *Spec) { c.shell = "" }, nil, ErrNoShell.Error()},
		{"shell gone", func(c *Commands, _ *Spec) { c.shell = "/nonexistent/bash" }, nil, "/nonexistent/bash"},
		{"folder gone", func(c *Commands, s *Spec) { s.Dir += "/gone" }, nil, "/gone"},
		{"relative folder", func(c *Commands, s *Spec) { s.Dir = "a" }, nil, "not an absolute path"},
		{"NUL", func(c *Commands, s *Spec) { s.Script = "echo a\x00b" }, nil, "NUL"},
		{"too long", func(c *Commands, s *Spec) { s.Script = strings.Repeat(":;", 100_000) }, nil, "argument list too long"},
		{"cancelled", func(*Commands, *Spec) {}, cancelled, "the call is over"},
		{"closed", func(c *Commands, _ *Spec) { _ = c.Close() }, nil, process.ErrClosed.Error()},
		{"no tier", func(c *Commands, _ *Spec) {
			c.report = &Report{TierErr: errors.New("commands cannot be run here")}
		}, nil, "commands cannot be run here"},
		{"read-only cannot be had", func(c *Commands, s *Spec) { believe(c, broken, broken); s.ReadOnly = true }, nil, "the read-only containment does not hold here: write"},
		{"read-only not tried", func(c *Commands, s *Spec) { believe(c, broken, Trial{}); s.ReadOnly = true }, nil, "could not be tried"},
		{"required", func(c *Commands, s *Spec) { c.config.Sandbox = On; believe(c, broken, failing) }, nil,
			"the sandbox is required (--sandbox on) and not whole: write: it was written"},
		{"required of judged", func(c *Commands, s *Spec) {
			c.config.Sandbox, s.Judged, s.ReadOnly = On, true, true
			believe(c, broken, failing)
		}, nil, "the sandbox is required (--sandbox on) and not whole: no kernel"},
	} {
		t.Run(one.name, func(t *testing.T) {
			c, root := newCommands(t, nil)
			s := Spec{Script: "true", Dir: root}
			one.edit(c, &s)
			if one.ctx == nil {
				one.ctx = t.Context()
			}
			r, err := c.Start(one.ctx, s)
			if err == nil {
				t.Fatalf("it runs: %+v", r.Result())
			}
			if !strings.Contains(err.Error(), one.want) {
				t.Error(err)
			}
			if left := tempFiles(t, c); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

func TestNewErrors(t *testing.T) {
	if _, err := New(Config{Sandbox: "yes"}); err == nil || err.Error() != `the sandbox is "yes"; use auto, on or off` {
		t.Error(err)
	}
}

// TestJudgedUncontained checks that a command that was judged to only read starts
// even where it cannot be confined, and is then reported as not confined.
func TestJudgedUncontained(t *testing.T) {
	c, root := newCommands(t, nil)
	believe(c, failing, failing)
	r, err := c.Start(t.Context(), Spec{Script: "echo a", Dir: root, Judged: true, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if res := r.Result(); r.Contained() || res.Code != 0 || res.Blocked != nil {
		t.Errorf("%v, %+v", r.Contained(), res)
	}
}

func TestEnvironments(t *testing.T) {
	bin := t.TempDir()
	environ := []string{
		"PATH=" + bin + ":/usr/bin:/bin", "LANG=C.UTF-8", "LC_ALL=C", "TZ=UTC", "GOFLAGS=-v", "EDITOR=vi", "NPM_TOKEN=secret", "NODE_AUTH_TOKEN=secret",
		"MCP_TOOLSET_TOKEN=secret", "BASH_ENV=/evil", "LD_PRELOAD=", "HIDDEN=1", "WANTED=first", "WANTED=last", "GOPRIVATE=scrubbed", "USER=somebody", "SHELLOPTS=xtrace",
		"BASH_FUNC_ls%%=() { echo evil; }", "http_proxy=http://proxy",
	}
	c, root := newCommands(t, func(conf *Config) {
		conf.AllowWrite = []string{bin}
		conf.Environ, conf.Pass, conf.Scrub = environ, []string{"WANTED", "MCP_*", "BASH_*"}, []string{"GOPRIV*"}
	})
	variables := func(s Spec) (map[string]string, Result) {
		s.Script = "env -0 | tr '\\n\\0' '|\\n'"
		text, res := run(t, c, s)
		got := map[string]string{}
		for line := range strings.Lines(text) {
			if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
				got[name] = value
			}
		}
		if !strings.HasPrefix(got["TMPDIR"], c.temp.base()+"/") {
			t.Errorf("TMPDIR is %s", got["TMPDIR"])
		}
		if profiles, set := got["CHROME_CONFIG_HOME"]; set && profiles != got["TMPDIR"] {
			t.Errorf("CHROME_CONFIG_HOME is %s", profiles)
		}
		for _, own := range []string{"TMPDIR", "CHROME_CONFIG_HOME", "SHLVL", "_", "OLDPWD"} { // set by the test or the shell
			delete(got, own)
		}
		return got, res
	}
	want := map[string]string{
		"PATH": bin + ":/usr/bin:/bin", "LANG": "C.UTF-8", "LC_ALL": "C", "TZ": "UTC", "GOFLAGS": "-v", "WANTED": "last", "USER": "somebody",
		"http_proxy": "http://proxy", "HOME": c.config.Home, "SHELL": c.shell, "PWD": root,
	}
	for _, v := range fixed {
		name, value, _ := strings.Cut(v, "=")
		want[name] = value
	}
	compare := func(kind string, got map[string]string) {
		t.Helper()
		for name := range got {
			if _, ok := want[name]; !ok {
				t.Errorf("%s: %s=%s is there", kind, name, got[name])
			}
		}
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: %s is %q, want %q", kind, name, got[name], value)
			}
		}
	}
	got, _ := variables(Spec{})
	compare("plain", got)
	for _, name := range []string{"GOFLAGS", "WANTED", "http_proxy", "SHELL"} {
		delete(want, name)
	}
	want["PATH"], want["MORE"] = "/usr/bin:/bin", "1" // commands may write to the first folder
	got, _ = variables(Spec{Judged: true, ReadOnly: true, Env: []string{"MORE=1"}})
	if got["SHELL"] != "" { // bash sets it from the user's entry if it is absent
		want["SHELL"] = got["SHELL"]
	}
	compare("judged", got)
}

// TestEnvironmentOfNothing checks that commands get the variables of a login that
// can be derived if the server does not have them.
func TestEnvironmentOfNothing(t *testing.T) {
	c, _ := newCommands(t, func(conf *Config) { conf.Environ = nil })
	env := c.environment("/d", "/t")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + c.config.Home, "USER=" + me.Username, "PWD=/d", "TMPDIR=/t"} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %q", want, env)
		}
	}
}

// TestMarker checks that a command that writes to the file in which the shell
// stores its last folder can name only folders that exist.
func TestMarker(t *testing.T) {
	c, root := newCommands(t, func(conf *Config) { conf.Sandbox = Off }) // nothing else prevents it
	secret := filepath.Join(c.config.Home, "secret")
	sub, odd := filepath.Join(root, "sub"), filepath.Join(root, "a\nb")
	for _, dir := range []string{sub, odd} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(secret, []byte("/secret"), 0o600), os.Symlink("/usr", filepath.Join(root, "link"))); err != nil {
		t.Fatal(err)
	}
	const own = "trap - EXIT; m=$(echo $TMPDIR/.dir-*); "
	for _, one := range []struct{ script, want string }{
		{"true", root},
		{"cd sub", sub},
		{"cd sub; false", sub},
		{"cd sub; exit 3", sub},
		{"cd sub; kill $$", sub},
		{"cd sub; kill -9 $$", ""},
		{"cd link", "/usr"},
		{"cd $'a\\nb'", odd},
		{"cd sub; exec true", ""},
		{"cd sub; trap 'echo mine' EXIT", ""},
		{"cd sub; syntax ( error", root},
		{"mkdir x; cd x; rmdir ../x", ""},
		{own + "echo " + sub + " > $m", sub},
		{own + "printf %s " + sub + " > $m", sub},
		{own + "echo link > $m", ""},
		{own + "echo " + root + "/link > $m", ""},
		{own + "echo " + root + "/sub/../../.. > $m", ""},
		{own + "echo " + root + "/gone > $m", ""},
		{own + "echo " + secret + " > $m", ""},
		{own + "printf '/usr\\n/etc\\n' > $m", ""},
		{own + "printf '" + sub + "\\0' > $m", ""},
		{own + "printf '%s\\n\\n' " + sub + " > $m", ""},
		{own + "rm $m", ""},
		{own + "rm $m; mkfifo $m", ""},
		{own + "rm $m; mkdir $m", ""},
		{own + "ln -sf " + secret + " $m", ""},
		{own + "head -c 100000 /dev/zero | tr '\\0' / > $m", ""},
		{own + "truncate -s 1T $m", ""},
		{"cd sub; rm $TMPDIR/.dir-*; ln -s " + root + "/taken $TMPDIR/.dir-x", ""},
		{"rm -rf $TMPDIR", ""},
	} {
		_, res := run(t, c, Spec{Script: one.script})
		if res.Dir != one.want {
			t.Errorf("%s\nended in %q, want %q (%+v)", one.script, res.Dir, one.want, res.Exit)
		}
	}
}

// TestOutputBlocks checks that a command that prints faster than its output is read
// waits and does not fail.
func TestOutputBlocks(t *testing.T) {
	c, _ := newCommands(t, nil)
	_, res := run(t, c, Spec{Script: `f=$(sed -n 's/^flags:[[:space:]]*//p' /proc/$$/fdinfo/1); (( (f & 04000) == 0 )) && head -c 30000000 /dev/zero | tr '\0' a`})
	if res.Code != 0 {
		t.Errorf("%+v", res)
	}
}

// waitFor waits until a condition holds, which must be soon.
func waitFor(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !so(); {
		if time.Now().After(end) {
			t.Fatalf("%s: it is not so after 20 s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// begun starts a command and waits for its first line of output.
func begun(t testing.TB, c *Commands, s Spec) *Running {
	t.Helper()
	if s.Dir == "" {
		s.Dir = c.config.Roots[0]
	}
	r, err := c.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, s.Script, func() bool { return r.Output.LastLine() != "" })
	return r
}

// TestPipeHeldElsewhere checks that a pipe that another process holds open does not
// delay the end.
func TestPipeHeldElsewhere(t *testing.T) {
	c, root := newCommands(t, nil)
	mark := fmt.Sprintf("mark-%d-of-the-test", os.Getpid())
	r := begun(t, c, Spec{Script: "echo ready; : " + mark + "; until [ -e go ]; do sleep 0.01; done; exit 3"})
	var pipe *os.File
	list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range list {
		text, _ := os.ReadFile(file)
		if strings.HasPrefix(string(text), c.shell) && strings.Contains(string(text), mark) {
			var err error
			if pipe, err = os.OpenFile(filepath.Join(filepath.Dir(file), "fd/1"), os.O_WRONLY, 0); err != nil {
				t.Skip("another process's files cannot be opened here:", err)
			}
		}
	}
	if pipe == nil {
		t.Fatal("the shell was not found")
	}
	defer pipe.Close()
	if err := os.WriteFile(filepath.Join(root, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if res := r.Result(); !res.Cut || res.Code != 3 || res.EndReason != ByItself || time.Since(start) > 10*time.Second {
		t.Errorf("%+v after %v", res, time.Since(start))
	}
	if _, err := pipe.Write([]byte("late")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the pipe is still read: %v", err)
	}
	if text, err := r.Output.View(100); err != nil || text.Head != "ready\n" {
		t.Error(text, err)
	}
}

func TestEndReasons(t *testing.T) {
	c, _ := newCommands(t, nil)
	const script = "trap 'echo told' TERM; echo ready; while :; do sleep 0.01; done"
	for _, why := range []EndReason{Timeout, Cancelled, Stopped, Closing} {
		r := begun(t, c, Spec{Script: script})
		var wg sync.WaitGroup
		if err := r.End(why, 10*time.Millisecond); err != nil {
			t.Error(err)
		}
		for range 3 { // later reasons and calls have no effect
			wg.Go(func() { _ = r.End(Quota, 0) })
		}
		wg.Wait()
		if res := r.Result(); res.EndReason != why || !res.Exit.Ended || res.Cut {
			t.Errorf("%s: %+v", why, res)
		}
	}
	_, res := run(t, c, Spec{Script: "true"})
	if res.EndReason != ByItself {
		t.Errorf("%+v", res)
	}
	// A later call shortens the grace but does not become the reason.
	r := begun(t, c, Spec{Script: script})
	first := make(chan error, 1)
	go func() { first <- r.End(Timeout, time.Hour) }()
	waitFor(t, "it was told", func() bool { return r.Output.LastLine() == "told" })
	if err := errors.Join(r.End(Stopped, 0), <-first); err != nil || r.Result().EndReason != Timeout {
		t.Errorf("%v, %+v", err, r.Result())
	}
	// A reason that comes after the end has no effect.
	r = begun(t, c, Spec{Script: "echo ready; until [ -e go ]; do sleep 0.01; done"})
	r.endReason <- Stopped
	if err := os.WriteFile(filepath.Join(c.config.Roots[0], "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if res := r.Result(); res.EndReason != ByItself || res.Code != 0 {
		t.Errorf("%+v", res)
	}
	// A command that has ended was not ended.
	r = begun(t, c, Spec{Script: "echo ready; exit 3"})
	<-r.Done()
	if err := r.End(Stopped, 0); err != nil || r.Result().EndReason != ByItself || r.Result().Code != 3 {
		t.Errorf("%v, %+v", err, r.Result())
	}
	// Nor was a command that another process ended.
	if _, res := run(t, c, Spec{Script: "kill -9 $$"}); res.EndReason != ByItself || res.Signal != syscall.SIGKILL || res.Code != -1 {
		t.Errorf("%+v", res)
	}
}

// TestEndRace checks that one of several reasons counts if they come at the same
// time.
func TestEndRace(t *testing.T) {
	c, _ := newCommands(t, nil)
	r := begun(t, c, Spec{Script: "echo ready; sleep 1000"})
	all := []EndReason{Timeout, Cancelled, Stopped}
	var wg sync.WaitGroup
	for _, why := range all {
		wg.Go(func() { _ = r.End(why, 0) })
	}
	wg.Wait()
	if res := r.Result(); !slices.Contains(all, res.EndReason) {
		t.Errorf("%+v", res)
	}
}

func TestQuota(t *testing.T) {
	for _, one := range []struct {
		quota spool.Quota
		want  error
	}{
		{spool.Quota{Task: 1000, All: 1 << 20}, spool.ErrTaskQuota},
		{spool.Quota{Task: 1 << 20, All: 1000}, spool.ErrAllQuota},
	} {
		c, _ := newCommands(t, func(conf *Config) { conf.Quota = one.quota })
		r := begun(t, c, Spec{Script: "yes"})
		res := r.Result()
		printed, stored := r.Output.Bytes()
		if res.EndReason != Quota || !errors.Is(r.Output.Err(), one.want) || stored != 1000 || printed <= stored {
			t.Errorf("%v: %+v, %d of %d, %v", one.want, res, stored, printed, r.Output.Err())
		}
	}
}

func TestForget(t *testing.T) {
	c, _ := newCommands(t, nil)
	folder := func(owner string) string {
		text, _ := run(t, c, Spec{Script: "mkdir -p $TMPDIR/d; touch $TMPDIR/d/f; chmod 500 $TMPDIR/d; echo $TMPDIR", Owner: owner})
		return strings.TrimSpace(text)
	}
	a, b := folder("a"), folder("b")
	if a == b || a != folder("a") {
		t.Errorf("%s, %s", a, b)
	}
	c.Forget("a")
	c.Forget("nobody")
	if _, err := os.Stat(a); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Stat(b + "/d/f"); err != nil {
		t.Error(err)
	}
	if again := folder("a"); again == a || again == b {
		t.Errorf("%s again", again)
	}
}

// TestProtectedBehindTheEnd checks that files that a command makes under an absent
// protected name are gone after its end, even if the server ends it, or cannot be
// made at all.
func TestProtectedBehindTheEnd(t *testing.T) {
	for _, end := range []string{"by itself", "closed"} {
		c, root := newCommands(t, nil)
		if c.Uncontained(t.Context()) != nil {
			t.Skip("commands are not contained here")
		}
		hook := filepath.Join(root, ".git/hooks/pre-commit")
		script := "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; echo ready; "
		if end == "closed" {
			script += "sleep 1000"
		}
		r := begun(t, c, Spec{Script: script})
		if end == "closed" {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(hook); err == nil {
				t.Error("the hook is there when the server has ended")
			}
		}
		res := r.Result()
		if _, err := os.Lstat(hook); err == nil {
			t.Errorf("%s: the hook is there", end)
		}
		t.Logf("%s: removed %q", end, res.Removed)
	}
}

func TestClose(t *testing.T) {
	c, root := newCommands(t, nil)
	r := begun(t, c, Spec{Script: "echo ready; sleep 1000"})
	base := c.temp.base()
	// Others start during Close.
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for range 8 {
		wg.Go(func() {
			<-begin
			for {
				r, err := c.Start(t.Context(), Spec{Script: "sleep 1000", Dir: root})
				if err != nil {
					if !errors.Is(err, process.ErrClosed) {
						t.Error(err)
					}
					return
				}
				defer func() {
					if res := r.Result(); res.EndReason != Closing {
						t.Errorf("%+v", res)
					}
				}()
			}
		})
	}
	close(begin)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-r.Done():
		if r.Result().EndReason != Closing {
			t.Errorf("%+v", r.Result())
		}
	default:
		t.Error("Close returned before a command had ended")
	}
	wg.Wait()
	if err := c.Close(); err != nil {
		t.Errorf("once more: %v", err)
	}
	if _, err := os.Lstat(base); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is there: %v", base, err)
	}
	if _, err := c.Start(t.Context(), Spec{Script: "true", Dir: root}); !errors.Is(err, process.ErrClosed) {
		t.Error(err)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestManyLeaveNothing checks that many concurrent commands leave neither files nor
// descriptors.
func TestManyLeaveNothing(t *testing.T) {
	c, root := newCommands(t, nil)
	run(t, c, Spec{Script: "true"})
	before := tempFiles(t, c)
	fds := descriptors(t)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range commandsInARow / workers {
				r, err := c.Start(t.Context(), Spec{Script: "exit 7", Dir: root})
				if err != nil {
					t.Error(err)
					return
				}
				if res := r.Result(); res.Code != 7 || res.Dir != root {
					t.Errorf("%+v", res)
				}
				if err := r.Output.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if left := tempFiles(t, c); !slices.Equal(left, before) {
		t.Errorf("left: %q", left)
	}
	// Up to three more supervisors are ready than at the start, each with a few
	// descriptors.
	waitFor(t, "descriptors are closed", func() bool { return descriptors(t) <= fds+workers*4 })
}

const workers = 4
