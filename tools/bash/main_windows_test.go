package bash

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// These tests run on Windows and under Wine. The test binary, under the name of a
// shell, acts as the shell. The tests for all systems assume folders of other systems.
//	GOOS=windows go test -c -o /tmp/bash.exe ./tools/bash && wine /tmp/bash.exe -test.run Windows

func TestMain(m *testing.M) {
	if name := strings.ToLower(filepath.Base(os.Args[0])); name == "bash.exe" || name == "pwsh.exe" {
		os.Exit(beShell())
	}
	goleak.VerifyTestMain(m)
}

// beShell runs a script line by line, as PowerShell would.
func beShell() int {
	file := os.Getenv("MCP_TOOLSET_SCRIPT")
	data, err := os.ReadFile(file)
	if err != nil {
		fmt.Println(err)
		return 99
	}
	code := 0
	for line := range strings.Lines(string(data)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "cd":
			_ = os.Chdir(rest)
		case "echo":
			fmt.Println(rest)
		case "exit":
			code, _ = strconv.Atoi(rest)
		case "sleep":
			time.Sleep(time.Hour)
		}
	}
	dir, _ := os.Getwd()
	if marker, err := os.OpenFile(strings.TrimSuffix(file, ".run"), os.O_WRONLY|os.O_TRUNC, 0); err == nil {
		_, _ = io.WriteString(marker, dir)
		_ = marker.Close()
	}
	return code
}

// windowsFixture returns the tools on a machine with a shell of that name, and a root.
func windowsFixture(t *testing.T, shell string) (Options, string) {
	t.Helper()
	base, err := os.MkdirTemp("", "bash-test-")
	if err == nil {
		base, err = filepath.EvalSymlinks(base)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) }) // Wine cannot do this
	root := filepath.Join(base, "root")
	if err := os.MkdirAll(filepath.Join(root, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(base, shell)
	if err := os.WriteFile(path, self, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := command.New(command.Config{Shell: path, Roots: []string{root}, State: filepath.Join(base, "state"), Home: base, Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return Options{Commands: c, Tasks: task.New(time.Now)}.withDefaults(), root
}

func windowsEnv(dir, root string) *tools.Env {
	return &tools.Env{
		Session:  session.View{Dir: dir, Roots: []string{root}},
		Progress: func(tools.Progress) {},
		Commands: tools.CommandAccess{
			RestrictedPaths: func(context.Context) (tools.RestrictedPaths, error) { return tools.RestrictedPaths{}, nil },
			Outside:         func() func() { return func() {} },
		},
	}
}

func runPowerShell(t *testing.T, o Options, root string, in Input) tools.Result[Output] {
	t.Helper()
	env := windowsEnv(root, root)
	r, err := prepared{in, judgePowerShell(env, in.Command)}.call(o, env, "PowerShell").run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWindowsPowerShell(t *testing.T) {
	o, root := windowsFixture(t, "pwsh.exe")
	r := runPowerShell(t, o, root, Input{Command: "echo ä \"x\" 'y' $z\ncd sub\nexit 0"})
	if got := strings.TrimSpace(r.Data.Text); got != `ä "x" 'y' $z` || r.Effect.Dir != filepath.Join(root, "sub") || r.Failed {
		t.Errorf("%q, %+v", got, r)
	}
	r = runPowerShell(t, o, root, Input{Command: "echo a\ncd sub\nexit 3"})
	want := "Exit code 3\na\n[the working directory is still " + root + ", since the command failed]"
	if got := strings.ReplaceAll(r.Data.Text, "\r\n", "\n"); got != want || r.Effect.Dir != "" || !r.Failed || *r.Data.ExitCode != 3 {
		t.Errorf("%q, want %q", got, want)
	}
	r = runPowerShell(t, o, root, Input{Command: "cd .."})
	want = "[the working directory is still " + root + ": " + filepath.Dir(root) + " is outside of the workspace]"
	if r.Data.Text != want || r.Effect.Dir != "" {
		t.Errorf("%q, want %q", r.Data.Text, want)
	}
}

// TestWindowsBackground checks that a task is ended by its timeout and by TaskStop.
func TestWindowsBackground(t *testing.T) {
	o, root := windowsFixture(t, "pwsh.exe")
	env := windowsEnv(root, root)
	for name, timeout := range map[string]int{"timed out after 0.2 s and was stopped": 200, "stopped by TaskStop": 0} {
		r := runPowerShell(t, o, root, Input{Command: "echo x\nsleep", RunInBackground: true, Timeout: timeout})
		if r.Data.Status != "running" || !strings.HasPrefix(r.Data.Text, "Running in the background as task "+r.Data.TaskID) {
			t.Fatalf("%+v", r.Data)
		}
		list := o.Tasks.List(env.Session.Owner())
		i := slices.IndexFunc(list, func(one *task.Task) bool { return one.ID == r.Data.TaskID })
		if i < 0 {
			t.Fatal("there is no such task")
		}
		if timeout == 0 {
			if err := list[i].Stop("test"); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-list[i].Done():
		case <-time.After(time.Minute):
			t.Fatal("it does not end")
		}
		if s := list[i].Status(); s.Detail != name {
			t.Errorf("%+v, want %s", s, name)
		}
	}
}

// TestWindowsTools checks that exactly one of Bash and PowerShell can be called.
func TestWindowsTools(t *testing.T) {
	for shell, want := range map[string]string{"bash.exe": "PowerShell", "pwsh.exe": "Bash"} {
		o, _ := windowsFixture(t, shell)
		o.ReadOnly = func() error { return o.Commands.ReadOnly(t.Context()) }
		r, err := tools.NewRegistry(New(o), tools.Gates{})
		if err != nil {
			t.Fatal(err)
		}
		var absent []string
		for _, a := range r.Absent() {
			absent = append(absent, a.Name)
		}
		slices.Sort(absent)
		if !slices.Contains(absent, want) || !slices.Contains(absent, "BashReadOnly") || len(absent) != 2 {
			t.Errorf("%s: absent are %q", shell, absent)
		}
	}
}

// TestWindowsParts checks which files commands for Git Bash name.
func TestWindowsParts(t *testing.T) {
	o, root := windowsFixture(t, "bash.exe")
	posix := "/" + strings.ToLower(root[:1]) + strings.ReplaceAll(root[2:], `\`, "/")
	for cmd, want := range map[string]string{
		"cat .env":                            root + `\.env`,
		"cat sub/.env":                        root + `\sub\.env`,
		"cd sub && cat .env":                  root + `\sub\.env`,
		`cat 'sub\.env'`:                      root + `\sub\.env`,
		"cat '" + root + `\.env'`:             root + `\.env`,
		"cat '" + posix + "/.env'":            root + `\.env`,
		"echo x > .env":                       root + `\.env`,
		"cat x/../.env":                       root + `\.env`,
		"cat /etc/passwd":                     "",
		`cd 'C:\windows' && cat win.ini`:      "",
		"cd /c/windows && cat system32/x.txt": `C:\windows\system32\x.txt`,
		"cd \"$x\" && cat y":                  "",
		"cat $HOME/x":                         "",
	} {
		env := windowsEnv(root, root)
		j := judge(env, o.Commands, cmd)
		p := j.parts(nil, o.Commands, cmd, false)
		if j.readOnly() {
			t.Errorf("%s: only reads", cmd)
		}
		if (p.Unresolved != "") != (want == "") {
			t.Errorf("%s: unresolved: %q", cmd, p.Unresolved)
		}
		if want != "" && !slices.ContainsFunc(p.Paths, func(n tools.NamedPath) bool { return strings.EqualFold(filepath.Clean(n.Path), want) }) {
			t.Errorf("%s: names %+v, want %s", cmd, p.Paths, want)
		}
	}
	for path, want := range map[string]bool{root: true, strings.ToUpper(root) + `\a`: true, filepath.Dir(root): false, root + "x": false} {
		if inRoots([]string{root}, path) != want {
			t.Errorf("%s is in the root: %v", path, !want)
		}
	}
}
