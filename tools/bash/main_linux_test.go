package bash

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

// TestMain lets the test binary act as its own supervisor.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case process.Arg:
			os.Exit(command.Supervise())
		case command.TryArg:
			os.Exit(command.Try(os.Stdout))
		}
	}
	goleak.VerifyTestMain(m)
}

// fixture holds the tools and their Commands. Roots is the folder that holds the
// workspaces of the test.
type fixture struct {
	Bash, ReadOnly *tools.Tool
	Options
	Roots, Home string
}

// newFixture returns a fixture. Temporary folders that the test makes later are in the
// root that commands may change.
func newFixture(t *testing.T, edit func(*command.Config, *Options)) *fixture {
	t.Helper()
	// t.TempDir would be in the folder of the test's first temporary folder.
	base, err := os.MkdirTemp("", "bash-test-")
	if err == nil {
		base, err = filepath.EvalSymlinks(base)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	f := &fixture{Roots: filepath.Join(base, "ws"), Home: filepath.Join(base, "home")}
	for _, dir := range []string{f.Roots, f.Home} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	config := command.Config{
		Roots: []string{f.Roots}, Home: f.Home, State: filepath.Join(base, "state"),
		Environ: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"},
	}
	f.Options = Options{Tasks: task.New(time.Now)}
	if edit != nil {
		edit(&config, &f.Options)
	}
	commands, err := command.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := commands.Close(); err != nil {
			t.Error(err)
		}
	})
	commands.Report(t.Context()) // makes the folder for temporary files outside of the roots
	t.Setenv("TMPDIR", f.Roots)
	f.Commands = commands
	list := New(f.Options)
	f.Bash, f.ReadOnly = list[0], list[1]
	return f
}

// off edits the configuration of a fixture whose commands need no containment, since to try
// it takes longer than most commands.
func off(c *command.Config, _ *Options) { c.Sandbox = command.Off }

// needContainment skips a test that needs a working sandbox.
func (f *fixture) needContainment(t *testing.T) {
	t.Helper()
	if err := f.Commands.Uncontained(t.Context()); err != nil {
		t.Skip(err)
	}
	if err := f.Commands.ReadOnly(t.Context()); err != nil {
		t.Skip(err)
	}
}

var varying = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`/\S*/state/output/\w+/bash-\w+\.log`), "$$OUTPUT"},
	{regexp.MustCompile(`/\S*/state/guarded/taken`), "$$TAKEN"},
	{regexp.MustCompile(`/\S*/mcp-toolset-\d+/[a-z2-7]{8}`), "$$TMPDIR"},
	{regexp.MustCompile(`\b(task |task_id":")[a-z][a-z2-7]{5}\b`), "${1}$$TASK"},
	// The cause is mounts, Landlock or seccomp, depending on the system.
	{regexp.MustCompile(`Read-only file system|Permission denied|Operation not permitted`), "$$DENIED"},
	{regexp.MustCompile(`\d{4,} lines \(\d+ bytes\) omitted`), "$$MANY lines ($$MANY bytes) omitted"},
	{regexp.MustCompile(`Still running after [0-9.]+ s`), "Still running after $$TIME s"},
}

var otherTest = regexp.MustCompile(`\$ROOTS/Test\w+`)

// same replaces text that differs from run to run.
func (f *fixture) same(text string) string {
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.with)
	}
	text = strings.NewReplacer(f.Roots, "$ROOTS", f.Home, "$HOME").Replace(text)
	return otherTest.ReplaceAllString(text, "$$ROOTS/TEST")
}

// run calls a tool with arguments given as a map.
func run(ctx context.Context, t *testing.T, w *toolstest.Workspace, tool *tools.Tool, args map[string]any) (*tools.Response, error) {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return w.Call(ctx, tool, string(data))
}

// text runs a command that must succeed as a call, and returns the answer.
func text(t *testing.T, w *toolstest.Workspace, tool *tools.Tool, cmd string) (string, *tools.Response) {
	t.Helper()
	resp, err := run(t.Context(), t, w, tool, map[string]any{"command": cmd})
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	return toolstest.Text(resp), resp
}
