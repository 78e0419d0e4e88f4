package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcp-toolset/internal/exec/gitfront"
	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/exec/sandbox"
	"mcp-toolset/internal/text/terminal"
)

// TestMain lets the test binary act as its own supervisor.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case process.Arg:
			os.Exit(Supervise())
		case TryArg:
			os.Exit(Try(os.Stdout))
		case gitfront.Arg:
			os.Exit(gitfront.Run(os.Args[2:]))
		}
	}
	goleak.VerifyTestMain(m)
}

// newCommands makes Commands with a root of its own. They take the trial of the sandbox
// from the first ones that a test made, since a trial starts eight processes.
func newCommands(t testing.TB, edit func(*Config)) (*Commands, string) {
	t.Helper()
	c, root := untriedCommands(t, edit)
	if c.config.Sandbox == Auto && c.unbounded() == nil {
		c.report = trialOfTests()
	}
	return c, root
}

// trialOfTests returns the report of a trial, or nil if it failed.
var trialOfTests = sync.OnceValue(func() *Report {
	dir, err := os.MkdirTemp("", "mcp-toolset-trial")
	if err != nil {
		return nil
	}
	defer os.RemoveAll(dir)
	c, err := New(Config{Roots: []string{dir}, Home: dir, State: filepath.Join(dir, "state"), Environ: os.Environ()})
	if err != nil {
		return nil
	}
	defer c.Close()
	c.Report(context.Background())
	return c.report
})

// untriedCommands makes Commands that have not tried the sandbox.
func untriedCommands(t testing.TB, edit func(*Config)) (*Commands, string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(t.TempDir(), "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	config := Config{Roots: []string{root}, Home: home, State: filepath.Join(t.TempDir(), "state"),
		Environ: append(os.Environ(), "HOME="+home)}
	if edit != nil {
		edit(&config)
	}
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, root
}

// run runs a command and waits for its end.
func run(t testing.TB, c *Commands, s Spec) (string, Result) {
	t.Helper()
	if s.Dir == "" {
		s.Dir = c.config.Roots[0]
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := c.Start(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	result := r.Result()
	v, err := r.Output.View(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	return v.Head + v.Tail, result
}

func TestRun(t *testing.T) {
	c, root := newCommands(t, nil)
	rep := c.Report(t.Context())
	t.Logf("tier %v missing %v", rep.Tier, rep.TierMissing)
	t.Logf("write: %v %+v broken %v", rep.Write.Err, rep.Write.Coverage, rep.Write.Broken())
	t.Logf("ro: %v %+v broken %v", rep.ReadOnly.Err, rep.ReadOnly.Coverage, rep.ReadOnly.Broken())
	text, res := run(t, c, Spec{Script: "echo hi; cd /usr; touch " + root + "/x; touch /etc/x; env; pwd"})
	t.Log(text, res)
	text, res = run(t, c, Spec{Script: "touch " + root + "/y; curl example.com; exit 3", ReadOnly: true})
	t.Log(text, res)
	if !strings.Contains(text, "x") {
		t.Error(text)
	}
}

// TestTerminals checks that commands have terminals only where the trial had some of its own.
func TestTerminals(t *testing.T) {
	t.Parallel()
	c, _ := newCommands(t, nil)
	held := []sandbox.Canary{{Promise: "write", Held: true}, {Promise: "work", Held: true}}
	for want, trial := range map[string]Trial{
		"<nil>":     {Canaries: held, Coverage: sandbox.Coverage{Terminals: true}},
		"no kernel": failing,
		"the containment has no terminals of its own here": {Canaries: held},
	} {
		believe(c, trial, Trial{})
		if got := fmt.Sprint(c.Terminals(t.Context())); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestTerminalElsewhere checks that a command never gets a terminal among those of others, also if
// the trial had its own.
func TestTerminalElsewhere(t *testing.T) {
	t.Parallel()
	c, root := newCommands(t, nil)
	_ = c.runner.Close(0)
	c.runner = process.NewRunner(process.Config{Tiers: []process.Tier{process.Subreaper}})
	t.Cleanup(func() { _ = c.runner.Close(0) })
	believe(c, Trial{Canaries: []sandbox.Canary{{Promise: "write", Held: true}, {Promise: "work", Held: true}}, Coverage: sandbox.Coverage{Terminals: true}}, Trial{})
	in, typing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer typing.Close()
	_, err = c.Start(t.Context(), Spec{Script: "tty", Dir: root, Input: in, Terminal: terminal.NewEmulator(80, 24, func([]byte) {})})
	if err == nil || !strings.Contains(err.Error(), "less is in force than when it was tried") {
		t.Error(err)
	}
}
