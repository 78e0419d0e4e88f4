package repl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

// lost is the first line of the answer to code with which a session ends.
func lost(why string) string {
	return "Session lost, its variables are gone: " + why + ". The next call starts a new one."
}

const (
	short       = 400 // ms
	interrupts  = "Interrupted after 400ms, its timeout. The session goes on with its variables."
	unreactive  = "killed, since it did not react to an interrupt within 2s"
	replaced    = "the code has closed the pipes of the interpreter, or replaced it"
	newSession_ = "[this is a new session; the former one, with its variables, has ended: "
)

func TestPython(t *testing.T) {
	need(t, "python3")
	f := newFixture(t, patient)
	const py = "python"
	f.want(py, "x = 5", "(no output)")
	f.want(py, "x + 1", "6")
	f.want(py, "print('hi'); import sys; print('err', file=sys.stderr); x * 2", "hi\nerr\n10")
	f.want(py, "def f():\n    return 1/0\n", "(no output)")
	f.want(py, "f()", "Traceback (most recent call last):\n  File \"<call 5>\", line 1, in <module>\n    f()\n  File \"<call 4>\", line 2, in f\n    return 1/0\n           ~^~\nZeroDivisionError: division by zero")
	f.want(py, "if True:", "  File \"<call 6>\", line 1\n    if True:\n            ^\nIndentationError: expected an indented block after 'if' statement on line 1")
	f.want(py, "input()", "Traceback (most recent call last):\n  File \"<call 7>\", line 1, in <module>\n    input()\nEOFError: EOF when reading a line")
	f.want(py, "import asyncio\nawait asyncio.sleep(0.01, x)", "5")
	f.want(py, "while True: pass", interrupts+"\nTraceback (most recent call last):\n  File \"<call 9>\", line 1, in <module>\n    while True: pass\nKeyboardInterrupt", "timeout", short)
	f.want(py, "x, _", "(5, 5)")
	f.want(py, "import os; print(os.getcwd(), __name__)", "$ROOT __main__")
	f.want(py, "import sys; sys.setrecursionlimit(5000); sys.setrecursionlimit", "<built-in function setrecursionlimit>")
	f.want(py, "sys.getrecursionlimit()", "5000")
	if got := f.run(py, "len(bytearray(1 << 30))"); !strings.HasSuffix(got, "\nMemoryError") {
		t.Error(got)
	}
	f.want(py, "exit(3)", lost("exit code 3"))
	f.want(py, "1", "1")
	f.want(py, "import ctypes; ctypes.string_at(0)", lost("ended by signal 11 (SIGSEGV)"))
	f.want(py, "y = 1", "(no output)")
	f.want(py, "import threading, os, time\ndef end():\n    while not os.path.exists('go'): time.sleep(0.001)\n    os._exit(4)\nthreading.Thread(target=end).start()", "(no output)")
	if err := os.WriteFile(filepath.Join(f.Root, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := f.Bash.Tasks.List(f.Session.View().Owner())
	<-s[len(s)-1].Done()
	f.want(py, "2", "2\n"+newSession_+"exit code 4]")
	f.want(py, "y = 2", "(no output)")
	f.want(py, "", "A new python session has started.", "reset", true)
	if got := f.run(py, "y"); !strings.HasSuffix(got, "NameError: name 'y' is not defined") {
		t.Error(got)
	}
}

func TestNode(t *testing.T) {
	need(t, "node")
	f := newFixture(t, patient)
	const node = "node"
	f.want(node, "const y = 5; let z = 3", "(no output)")
	f.want(node, "y + z", "8")
	f.want(node, "console.log('hi'); console.error('err'); ({a: [1]})", "hi\nerr\n{ a: [ 1 ] }")
	f.want(node, "function f() { throw new Error('bad') }\nf()", "Uncaught Error: bad\n    at f (call:1:22)\n    at call:2:1")
	f.want(node, "const r = await new Promise(d => setTimeout(d, 5, y)); r", "5")
	f.want(node, "for (;;) {}", interrupts+"\nInterrupted", "timeout", short)
	f.want(node, "await new Promise(() => {})", interrupts+"\nInterrupted", "timeout", short)
	f.want(node, "require('fs').existsSync('/') && _ === 5 && r", "5")
	f.want(node, "process.cwd()", "'$ROOT'")
	f.want(node, "process.exit(3)", lost("exit code 3"))
	f.want(node, "typeof y", "'undefined'")
}

func TestBash(t *testing.T) {
	f := newFixture(t, patient)
	const sh = "bash"
	f.want(sh, "x=5; declare -A m; m[a]=7; f() { echo f$1; }; mkdir d; cd d", "(no output)")
	f.want(sh, "echo $x ${m[a]} $(f 3); pwd; cat; read y; echo read $?", "5 7 f3\n$ROOT/d\nread 1")
	f.want(sh, "echo \"it's\" 'a\\b' \"é\"\n# comment\ntest -n \"$x\" &&\nfalse", "Exit code 1\nit's a\\b é")
	f.want(sh, "if then", "Exit code 2\nbash: syntax error near unexpected token `then'")
	f.want(sh, "while :; do :; done; echo no", interrupts, "timeout", short)
	f.want(sh, "sleep 1000; echo no", interrupts, "timeout", short)
	f.want(sh, "echo $x", "5")
	f.want(sh, "sh -c 'kill -9 $$'; echo after $?", "after 137")
	f.want(sh, "sh -c 'kill -9 $$'", "Exit code 137")
	f.want(sh, "exec 199>&-; exec 0<&-; exec nonexistent", "Exit code 127\nbash: exec: nonexistent: not found")
	f.want(sh, "exec true", lost("exit code 0"))
	f.want(sh, "echo ${x-gone}", "gone")
}

func TestInvalid(t *testing.T) {
	f := newFixture(t, nil)
	f.want("python", " ", "error: the code is blank. Give code to run, or reset to start a new session.")
	f.want("python", "a\x00b", "error: the code has a NUL character. Write it as an escape sequence.")
	f.want("python", "1", `error: session is ../x. Use at most 40 letters, digits, dots, hyphens and underscores.`, "session", "../x")
	f.want("python", strings.Repeat("x", maxCode+1), "error: the code has 100001 bytes; the most is 100000. Write it to a file with Write and run that.")
}

func TestMissingInterpreter(t *testing.T) {
	empty := t.TempDir()
	f := newFixture(t, func(c *command.Config, _ *Options) {
		c.Environ = []string{"PATH=" + empty}
	})
	f.want("node", "1", "error: there is no node on the PATH of commands. Ask the user to install Node.js 18 or later (for example apt install nodejs).")
	f.want("python", "1", "error: there is no python3 on the PATH of commands. Ask the user to install Python 3.8 or later (for example apt install python3).")
}

// TestSessions checks names, the limit, the list of tasks, and the idle timeout.
func TestSessions(t *testing.T) {
	f := newFixture(t, func(_ *command.Config, o *Options) { o.Idle = 300 * time.Millisecond })
	f.want("bash", "x=1", "(no output)", "session", "a")
	f.want("bash", "echo ${x-none}", "none", "session", "b")
	list := f.Bash.Tasks.List(f.Session.View().Owner())
	if len(list) != 2 || list[0].Kind() != "repl" || list[0].Title() != "bash session a" {
		t.Error(list)
	}
	for _, one := range list {
		<-one.Done() // idle
		if s := one.Status(); s.Detail != "ended after 300ms without a call" || s.State != "stopped" {
			t.Error(s)
		}
	}
	f.want("bash", "echo ${x-none}", "none\n"+newSession_+"ended after 300ms without a call]", "session", "a")
}

// TestMoved checks that a session does not outlive a move of its conversation, since it has the
// file rules of its start.
func TestMoved(t *testing.T) {
	worktrees := filepath.Join(t.TempDir(), "worktrees")
	f := newFixture(t, func(c *command.Config, _ *Options) { c.Worktrees = worktrees })
	there := filepath.Join(worktrees, "one")
	if err := os.MkdirAll(there, 0o700); err != nil {
		t.Fatal(err)
	}
	f.want("bash", "x=1", "(no output)")
	f.Session.Apply(session.Effect{Move: &session.Move{To: &session.Worktree{Folder: there, Main: f.Root}, Roots: []string{there}, Dir: there}})
	const moved = newSession_ + "the conversation has moved to another folder]"
	f.want("bash", "echo ${x-none}", "none\n"+moved)
	f.want("bash", "touch "+f.Root+"/new 2>/dev/null || echo refused", "refused")
	f.Session.Apply(session.Effect{Move: &session.Move{Roots: []string{f.Root}, Dir: f.Root}})
	f.want("bash", "echo ${x-none}", "none\n"+moved)
}

func TestTooManySessions(t *testing.T) {
	f := newFixture(t, nil)
	for _, name := range []string{"a", "b", "c", "d"} {
		f.want("bash", "x=1", "(no output)", "session", name)
	}
	f.want("bash", "x=1", "error: 4 sessions run, and no more may: $TASK (bash session a), $TASK (bash session b), $TASK (bash session c), $TASK (bash session d). End one with TaskStop, or use one of them.")
	f.want("bash", "echo $x", "1", "session", "d")
	f.want("bash", "echo ${x-none}", "none", "session", "d", "reset", true)
}

// TestCancel checks that a cancelled call interrupts the code at any time, and that the state
// remains: a signal can find bash between the fork of a command and its start.
func TestCancel(t *testing.T) {
	f := newFixture(t, patient)
	f.want("bash", "x=1", "(no output)")
	cause := errors.New("the client has cancelled")
	for i := range 20 {
		name := fmt.Sprint("begun", i)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			defer cancel(cause)
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if _, err := os.Stat(filepath.Join(f.Root, name)); err == nil {
					return
				}
			}
			t.Error("the code has not begun")
		}()
		if _, text := f.call(ctx, map[string]any{"language": "bash", "code": "touch " + name + "; sleep 1000"}); text != "error: "+cause.Error() {
			t.Error(text)
		}
		f.want("bash", "echo $x", "1")
	}
}

// TestOutput checks that output of any size is shown in part and kept.
func TestOutput(t *testing.T) {
	f := newFixture(t, nil)
	f.want("bash", "echo before", "before")
	resp, text := f.call(t.Context(), map[string]any{"language": "bash", "code": "seq 1000000"})
	head, tail, ok := strings.Cut(text, "lines (")
	if !strings.HasPrefix(head, "1\n2\n") || !ok || !strings.HasSuffix(tail, "\n999999\n1000000") || !strings.Contains(tail, `omitted: TaskOutput {"task_id":"$TASK","offset":`) {
		t.Errorf("%.300s ... %.300s", head, tail)
	}
	data, err := os.ReadFile(resp.Effect.Output)
	if err != nil || len(data) != 6888896+len("before\n") || !strings.HasSuffix(string(data), "\n1000000\n") {
		t.Error(len(data), err)
	}
	f.want("bash", "echo after", "after")
}

// TestTrustedInterpreter checks that the interpreter of a project runs only if it is trusted.
func TestTrustedInterpreter(t *testing.T) {
	need(t, "python3")
	for _, trusted := range []bool{true, false} {
		t.Run(fmt.Sprint(trusted), func(t *testing.T) {
			f := newFixture(t, func(_ *command.Config, o *Options) { o.Trusted = func(string) bool { return trusted } })
			bin := filepath.Join(f.Root, ".venv", "bin")
			if err := os.MkdirAll(bin, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(bin, "python"), []byte("#!/bin/sh\nVENV=yes exec python3 \"$@\"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			f.want("python", "import os; os.environ.get('VENV')", map[bool]string{true: "'yes'", false: "(no output)"}[trusted])
		})
	}
}

// TestCheckoutInterpreter checks that a session in a git worktree has the interpreter of the checkout.
func TestCheckoutInterpreter(t *testing.T) {
	main, folder := t.TempDir(), t.TempDir()
	python := filepath.Join(main, ".venv", "bin", "python")
	if err := os.MkdirAll(filepath.Dir(python), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(python, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	o := Options{Trusted: func(root string) bool { return root == main }}
	env := &tools.Env{Session: session.View{Roots: []string{folder}, Worktree: &session.Worktree{Folder: folder, Main: main}}}
	if got := o.program(env, "python"); got != python {
		t.Error(got)
	}
}

// TestFigures checks that figures are shown as pictures, with a stand-in for matplotlib.
func TestFigures(t *testing.T) {
	need(t, "python3")
	f := newFixture(t, nil)
	code := `
import sys, types, base64
png = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
plt = sys.modules["matplotlib.pyplot"] = types.ModuleType("matplotlib.pyplot")
figures = []
class Figure:
    def __init__(self, data): self.data = data
    def savefig(self, f, format): f.write(self.data)
plt.get_fignums = lambda: range(len(figures))
plt.figure = lambda n: figures[n]
plt.close = lambda what: figures.clear()
figures += [Figure(png)] * 5 + [Figure(b"no picture")]
`
	resp, text := f.call(t.Context(), map[string]any{"code": code})
	pictures := 0
	for _, c := range resp.Content {
		if p, ok := c.(tools.Image); ok && p.MIMEType == "image/png" {
			pictures++
		}
	}
	if pictures != 4 || text != "[2 more figures are not shown: an answer has at most 4. Plot them in a further call.]"+strings.Repeat("\n[tools.Image]", 4) {
		t.Errorf("%d pictures: %s", pictures, text)
	}
	f.want("python", "figures += [Figure(bytes((3 << 20) + 1))]", "[figure 0 is not shown: it exceeds 3 MiB. Save it to a file.]")
	f.want("python", "figures += [Figure(b'no picture')]", "[a figure cannot be shown: it is not an image of a known kind. PNG, JPEG, GIF, WebP, BMP and TIFF images can be shown.]")
}

// TestContained checks that code can do only what commands can.
func TestContained(t *testing.T) {
	f := newFixture(t, nil)
	if err := f.Bash.Commands.Uncontained(t.Context()); err != nil {
		t.Skip(err)
	}
	text := f.run("bash", "touch "+filepath.Join(f.base, "home", "x"))
	if !strings.HasPrefix(text, "Exit code 1\n") || !strings.Contains(text, "[sandbox: ") {
		t.Error(text)
	}
}

// TestUncontained checks that code asks where commands are not contained.
func TestUncontained(t *testing.T) {
	f := newFixture(t, func(c *command.Config, _ *Options) { c.Sandbox = command.Off })
	for language, rule := range map[string]string{"python": "REPL(python)", "bash": "Bash"} {
		call, err := f.tool.Parse([]byte(`{"language":"` + language + `","code":"1"}`))
		if err != nil {
			t.Fatal(err)
		}
		d := toolstest.Prepare(t, call, f.Env()).Check(f.Env())
		if d == nil || d.Behavior != policy.Ask || d.Reason != "commands are not contained here (the sandbox is switched off (--sandbox off)), and code may do anything" ||
			d.Next != "ask the user to allow it, for good by a rule such as "+rule+" in the settings; mcp-toolset doctor shows more" {
			t.Errorf("%s: %+v", language, d)
		}
	}
}

// TestStateless checks that a request without a session and without a handle is refused.
func TestStateless(t *testing.T) {
	f := newFixture(t, nil)
	call, err := f.tool.Parse([]byte(`{"code":"1"}`))
	if err != nil {
		t.Fatal(err)
	}
	env := f.Env()
	env.Session.Stateless = true
	_, err = toolstest.Prepare(t, call, env).Run(t.Context(), env)
	if want := "an interpreter keeps its state in a session, and the requests of this client have none. Use Bash."; err == nil || err.Error() != want {
		t.Error(err)
	}
}
