package repl

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/file/document"
	"mcp-toolset/tools"
	"mcp-toolset/tools/bash"
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
		case document.Arg:
			os.Exit(document.Serve(os.Args[2:], os.Stdin, os.Stdout))
		}
	}
	goleak.VerifyTestMain(m)
}

// fixture holds the tool and a workspace.
type fixture struct {
	*toolstest.Workspace
	Options
	tool *tools.Tool
	t    *testing.T
	base string
}

func newFixture(t *testing.T, edit func(*command.Config, *Options)) *fixture {
	t.Helper()
	f := &fixture{Workspace: toolstest.NewWorkspace(t), t: t, base: t.TempDir()}
	home := filepath.Join(f.base, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	config := command.Config{
		Roots: []string{f.Root}, Home: home, State: filepath.Join(f.base, "state"),
		Environ: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"},
	}
	f.Options = Options{Bash: bash.Options{Tasks: task.New(time.Now)}, Documents: document.NewReader(document.Config{Cache: filepath.Join(f.base, "cache")})}
	if edit != nil {
		edit(&config, &f.Options)
	}
	commands, err := command.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Bash.Tasks.Forget(f.Session.View().Owner(), "the test")
		if err := commands.Close(); err != nil {
			t.Error(err)
		}
		if left := descendants(); len(left) > 0 {
			t.Errorf("processes are left: %q", left)
		}
	})
	f.Bash.Commands = commands
	f.tool = New(f.Options)
	return f
}

// descendants returns the command lines of the processes that this process has started.
func descendants() (left []string) {
	list, _ := filepath.Glob("/proc/[0-9]*/stat")
	parents := map[string]string{}
	for _, file := range list {
		text, err := os.ReadFile(file)
		_, after, ok := strings.Cut(string(text), ") ")
		if fields := strings.Fields(after); err == nil && ok && len(fields) > 1 && fields[0] != "Z" {
			parents[filepath.Base(filepath.Dir(file))] = fields[1]
		}
	}
	for pid := range parents {
		for p := parents[pid]; p != ""; p = parents[p] {
			if p == strconv.Itoa(os.Getpid()) {
				text, _ := os.ReadFile("/proc/" + pid + "/cmdline")
				left = append(left, pid+" "+strings.ReplaceAll(string(text), "\x00", " "))
				break
			}
		}
	}
	return left
}

func need(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skip(err)
	}
}

// call makes a call, whose error is returned as text.
func (f *fixture) call(ctx context.Context, args map[string]any) (*tools.Response, string) {
	data, err := json.Marshal(args)
	if err != nil {
		f.t.Fatal(err)
	}
	resp, err := f.Call(ctx, f.tool, string(data))
	if err != nil {
		return nil, f.same("error: " + err.Error())
	}
	return resp, f.same(toolstest.Text(resp))
}

// run runs code in the session of a language and returns the answer.
func (f *fixture) run(language, code string, more ...any) string {
	args := map[string]any{"language": language, "code": code}
	for i := 0; i+1 < len(more); i += 2 {
		args[fmt.Sprint(more[i])] = more[i+1]
	}
	_, text := f.call(context.Background(), args)
	return text
}

// want checks the answer to code.
func (f *fixture) want(language, code, want string, more ...any) {
	f.t.Helper()
	if got := f.run(language, code, more...); got != want {
		f.t.Errorf("%s: %s\n--- got\n%s\n--- want\n%s", language, code, got, want)
	}
}

var varying = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`/\S*/state/output/\w+/repl-\w+\.log`), "$$OUTPUT"},
	{regexp.MustCompile(`"task_id":"[a-z][a-z2-7]{5}"`), `"task_id":"$$TASK"`},
	{regexp.MustCompile(`[a-z][a-z2-7]{5} (\((?:python|node|bash) session)`), `$$TASK $1`},
}

func (f *fixture) same(text string) string {
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.with)
	}
	return strings.ReplaceAll(text, f.Root, "$ROOT")
}
