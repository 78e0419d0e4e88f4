package command

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcp-toolset/internal/process"
)

// TestMain lets the test binary act as its own supervisor.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case process.Arg:
			os.Exit(Supervise())
		case TryArg:
			os.Exit(Try(os.Stdout))
		}
	}
	goleak.VerifyTestMain(m)
}

func newCommands(t testing.TB, edit func(*Config)) (*Commands, string) {
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
