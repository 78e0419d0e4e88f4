//go:build unix

package hook

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/policy"
)

// TestInput checks what hooks receive: the line on standard input, the
// environment and the working directory.
func TestInput(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Environ = append(c.Environ, "CLAUDE_PROJECT_DIR=/other", "MARK=1") })
	in := Input{
		SessionID: "s", Dir: w.dir, PermissionMode: "default", Tool: "Bash", ToolUseID: "u",
		ToolInput: json.RawMessage("{\n\t\"command\": \"a <b> && \\u00e9\\n\"}\n"),
		Response:  json.RawMessage(`{"out" : ["x"]}`), Duration: 1500*time.Millisecond + 900*time.Microsecond, Error: "it \"broke\"\n",
	}
	const head = `{"session_id":"s","cwd":"DIR","permission_mode":"default","hook_event_name":"EVENT","tool_name":"Bash","tool_input":{"command":"a <b> && \u00e9\n"},"tool_use_id":"u"`
	for event, rest := range map[Event]string{
		pre:    "}\n",
		post:   `,"tool_response":{"out":["x"]},"duration_ms":1500}` + "\n",
		failed: `,"tool_response":{"out":["x"]},"error":"it \"broke\"\n","duration_ms":1500}` + "\n",
	} {
		v := w.Run(t.Context(), event, hooks(time.Minute, `cat >in; { pwd; echo "$PWD $CLAUDE_PROJECT_DIR $MCP_TOOLSET_PROJECT_DIR $MARK"; env | grep -c CLAUDE_; } >out`), in)
		if diff := cmp.Diff(Verdict{}, v); diff != "" {
			t.Errorf("%s (-want +have):\n%s", event, diff)
		}
		want := strings.NewReplacer("DIR", w.dir, "EVENT", string(event)).Replace(head) + rest
		if diff := cmp.Diff(want, readFile(t, w.dir, "in")); diff != "" {
			t.Errorf("%s: input (-want +have):\n%s", event, diff)
		}
		if diff := cmp.Diff(w.dir+"\n"+w.dir+" /project /project 1\n1\n", readFile(t, w.dir, "out")); diff != "" {
			t.Errorf("%s: environment (-want +have):\n%s", event, diff)
		}
	}
	v := w.Run(t.Context(), post, hooks(time.Minute, "cat >in"), Input{Dir: w.dir})
	want := `{"session_id":"","cwd":"` + w.dir + `","permission_mode":"default","hook_event_name":"PostToolUse","tool_name":"","tool_input":{},"tool_use_id":"","duration_ms":0}` + "\n"
	if got := readFile(t, w.dir, "in"); got != want || len(v.Failures) != 0 {
		t.Errorf("an empty call: %s, %+v", got, v)
	}
}

func TestNothingToRun(t *testing.T) {
	if diff := cmp.Diff(Verdict{}, newWorld(t, failClosed).run(t, pre)); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
}

// specific returns a command that prints hookSpecificOutput.
func specific(event Event, rest string) string {
	return prints(`{"hookSpecificOutput":{"hookEventName":"` + string(event) + `",` + rest + `}}`)
}

const (
	denyNext = "do it another way, or ask the user to change the hook in /s.json"
	askNext  = "the user can change the hook in /s.json"
)

// TestBefore checks the possible outputs of hooks before a call.
func TestBefore(t *testing.T) {
	allow, ask, deny := specific(pre, `"permissionDecision":"allow"`), specific(pre, `"permissionDecision":"ask"`), specific(pre, `"permissionDecision":"deny"`)
	input := func(n int) string {
		return specific(pre, fmt.Sprintf(`"updatedInput":{"n":%d},"additionalContext":"c%d"`, n, n))
	}
	for _, c := range []struct {
		name     string
		commands []string
		want     Verdict
	}{
		{"silence", []string{":"}, Verdict{}},
		{"other words", []string{"echo hello", "echo '[1]'", "echo ' x {'"}, Verdict{}},
		{"an exit code that blocks", []string{"echo '{\"decision\":\"approve\"}'; printf '  no \\033[1mrm\\033[0m\\n\\ttwice\\r\\n' >&2; exit 2"},
			Verdict{Decided: true, Reason: "no rm\n\ttwice", Next: denyNext, By: `echo '{"decision":"approve"}'; printf '  no \033[1mrm\033[0m\n\ttwice\r\n' >&2; exit 2`}},
		{"without a reason", []string{"exit 2"}, Verdict{Decided: true, Reason: "the hook exit 2 refuses this call without giving a reason", Next: denyNext, By: "exit 2"}},
		{"allow", []string{"echo; " + allow + "; echo"}, Verdict{Decided: true, Behavior: policy.Allow, By: "echo; " + allow + "; echo",
			Reason: "the hook echo; " + allow + "; echo allows this call without giving a reason"}},
		{"ask", []string{specific(pre, `"permissionDecision":"ask","permissionDecisionReason":"sure?"`)},
			Verdict{Decided: true, Behavior: policy.Ask, Reason: "sure?", Next: askNext, By: specific(pre, `"permissionDecision":"ask","permissionDecisionReason":"sure?"`)}},
		{"ask over allow", []string{allow, ":", ask + "; :", allow + "; :"}, Verdict{Decided: true, Behavior: policy.Ask, By: ask + "; :", Next: askNext,
			Reason: "the hook " + ask + "; : wants the user to approve this call without giving a reason"}},
		{"deny over ask", []string{ask, "echo one >&2; exit 2", allow, "echo two >&2; exit 2"},
			Verdict{Decided: true, Reason: "one\ntwo", Next: denyNext, By: "echo one >&2; exit 2"}},
		{"reasons of those that decide only", []string{"echo '{\"decision\":\"approve\",\"reason\":\"a\"}'", "echo '{\"decision\":\"block\",\"reason\":\"b\"}'"},
			Verdict{Decided: true, Reason: "b", Next: denyNext, By: `echo '{"decision":"block","reason":"b"}'`}},
		{"the older form", []string{"echo '{\"decision\":\"approve\",\"reason\":\"a\"}'", "echo '{\"decision\":\"approve\",\"reason\":\"b\"}'"},
			Verdict{Decided: true, Behavior: policy.Allow, Reason: "a\nb", By: `echo '{"decision":"approve","reason":"a"}'`}},
		{"stop", []string{"echo '{\"continue\":false,\"stopReason\":\"enough\"}'"}, Verdict{Decided: true, Reason: "enough", Next: denyNext, By: `echo '{"continue":false,"stopReason":"enough"}'`}},
		{"an input", []string{":", input(1), input(2)}, Verdict{UpdatedInput: json.RawMessage(`{"n":1}`), Context: []string{"c1", "c2"}}},
		{"an input and a deny", []string{input(1), deny}, Verdict{Decided: true, Next: denyNext, By: deny, Context: []string{"c1"},
			Reason: "the hook " + deny + " refuses this call without giving a reason"}},
		{"an input and an ask", []string{specific(pre, `"permissionDecision":"ask","updatedInput":{}`)}, Verdict{Decided: true, Behavior: policy.Ask, Next: askNext, UpdatedInput: json.RawMessage(`{}`),
			By: specific(pre, `"permissionDecision":"ask","updatedInput":{}`), Reason: "the hook " + specific(pre, `"permissionDecision":"ask","updatedInput":{}`) + " wants the user to approve this call without giving a reason"}},
		{"context", []string{specific(pre, `"additionalContext":"  a\u001b[1mb\nc "`)}, Verdict{Context: []string{"ab\nc"}}},
		{"a failure beside", []string{"exit 7", allow}, Verdict{Decided: true, Behavior: policy.Allow, By: allow,
			Reason: "the hook " + allow + " allows this call without giving a reason", Failures: []Failure{{"exit 7", "ended with exit code 7"}}}},
	} {
		w := newWorld(t)
		got := w.run(t, pre, c.commands...)
		for _, s := range []*string{&c.want.By, &c.want.Reason} { // long commands are shortened
			for _, command := range c.commands {
				*s = strings.ReplaceAll(*s, command, short(command))
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +have):\n%s", c.name, diff)
		}
		if strings.HasPrefix(c.name, "an input") && len(c.commands) == 3 && !w.log.has("another hook returned it first", "key=updatedInput") {
			t.Errorf("%s: the log does not say that one is left out", c.name)
		}
	}
}

// TestBehind checks the possible outputs of hooks after a call.
func TestBehind(t *testing.T) {
	for _, c := range []struct {
		name     string
		event    Event
		commands []string
		want     Verdict
	}{
		{"an exit code that blocks", post, []string{"echo bad >&2; exit 2"}, Verdict{Block: "bad", By: "echo bad >&2; exit 2"}},
		{"without a reason", post, []string{":", "exit 2", "echo more >&2; exit 2"}, Verdict{Block: "the hook exit 2 objects to the result without giving a reason\nmore", By: "exit 2"}},
		{"behind a failure", failed, []string{"echo bad >&2; exit 2"}, Verdict{Block: "bad", By: "echo bad >&2; exit 2"}},
		{"block", post, []string{"echo '{\"decision\":\"block\",\"reason\":\"r\"}'"}, Verdict{Block: "r", By: `echo '{"decision":"block","reason":"r"}'`}},
		{"stop", post, []string{"echo '{\"continue\":false,\"stopReason\":\"s\"}'"}, Verdict{Block: "s", By: `echo '{"continue":false,"stopReason":"s"}'`}},
		{"no decision", post, []string{specific(post, `"permissionDecision":"deny","additionalContext":"c"`)}, Verdict{Context: []string{"c"}}},
		{"another output", post, []string{":", specific(post, `"updatedToolOutput":"new","additionalContext":"c"`), specific(post, `"updatedToolOutput":{"a":1}`)},
			Verdict{Replace: json.RawMessage(`"new"`), Context: []string{"c"}}},
		{"another output as JSON", post, []string{specific(post, `"updatedToolOutput":{"a":1}`)}, Verdict{Replace: json.RawMessage(`{"a":1}`)}},
		{"no output to replace", failed, []string{specific(failed, `"updatedToolOutput":"new"`)}, Verdict{}},
		{"failures", post, []string{"exit 1"}, Verdict{Failures: []Failure{{"exit 1", "ended with exit code 1"}}}},
	} {
		if diff := cmp.Diff(c.want, newWorld(t, failClosed).run(t, c.event, c.commands...)); diff != "" {
			t.Errorf("%s (-want +have):\n%s", c.name, diff)
		}
	}
}

// TestFailures checks the descriptions of failed hooks, and the effect of
// FailClosed.
func TestFailures(t *testing.T) {
	for _, c := range []struct{ command, why string }{
		{"exit 1", "ended with exit code 1"},
		{"printf '{\"decision\":\"approve\"}'; echo 'a\033[1m\nb' >&2; exit 3", `ended with exit code 3: a\x1b[1m\nb`},
		{"kill -9 $$", "ended with signal: killed"},
		{"echo {", "printed JSON that cannot be used: it is not JSON: column 2: it ends too early; a quote or bracket is not closed"},
		{`echo '{"decision":"\u001bx"}'`, `printed JSON that cannot be used: decision is "\x1bx", want "approve" or "block"`},
		{specific(post, `"permissionDecision":"allow"`), `printed JSON that cannot be used: hookSpecificOutput: hookEventName is "PostToolUse", want "PreToolUse"`},
	} {
		w := newWorld(t)
		want := Verdict{Failures: []Failure{{short(c.command), c.why}}}
		if diff := cmp.Diff(want, w.run(t, pre, c.command)); diff != "" {
			t.Errorf("%s (-want +have):\n%s", c.command, diff)
		}
		if !w.log.has("a hook failed") {
			t.Errorf("%s: it is not in the log", c.command)
		}
		name := short(c.command)
		want.Decided, want.By, want.Next = true, name, "ask the user to correct the hook in /s.json"
		want.Reason = "the hook " + name + " " + c.why + ", which refuses the call here (hooksFailClosed)"
		if diff := cmp.Diff(want, newWorld(t, failClosed).run(t, pre, "echo '{\"decision\":\"approve\"}'", c.command)); diff != "" {
			t.Errorf("%s, failing closed (-want +have):\n%s", c.command, diff)
		}
	}
}

func TestCannotStart(t *testing.T) {
	w := newWorld(t, failClosed)
	good := w.input()
	for _, c := range []struct {
		name   string
		change func(*Config, *Input)
		why    string
	}{
		{"a folder that is gone", func(_ *Config, in *Input) { in.Dir = "/no/such/folder" }, "could not be started: stat /no/such/folder: no such file or directory"},
		{"a relative folder", func(_ *Config, in *Input) { in.Dir = "x\n" }, `could not be started: its folder "x\n" is not an absolute path`},
		{"no shell", func(c *Config, _ *Input) { c.Shell = "/no/sh" }, `could not be started: exec: "/no/sh": stat /no/sh: no such file or directory`},
		{"an input that is not JSON", func(_ *Config, in *Input) { in.ToolInput = []byte(`{"a`) },
			"cannot get the call: writing the call as JSON: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input"},
	} {
		cfg, in := w.cfg, good
		c.change(&cfg, &in)
		v := New(cfg).Run(t.Context(), pre, hooks(time.Minute, ":"), in)
		if diff := cmp.Diff([]Failure{{":", c.why}}, v.Failures); diff != "" || !v.Decided || v.Behavior != policy.Deny {
			t.Errorf("%s: %+v (-want +have):\n%s", c.name, v, diff)
		}
	}
}

// TestLinkedFolder checks that a hook sees its folder under the name that the
// session uses.
func TestLinkedFolder(t *testing.T) {
	w := newWorld(t)
	in := w.input()
	in.Dir = filepath.Join(w.dir, "link")
	if err := os.Symlink(t.TempDir(), in.Dir); err != nil {
		t.Fatal(err)
	}
	if v := w.Run(t.Context(), pre, hooks(time.Minute, "echo $PWD >&2; exit 2"), in); v.Reason != in.Dir {
		t.Errorf("the folder is %s, not %s", v.Reason, in.Dir)
	}
}

// TestShell checks that the shell is found once, and run by its absolute path.
func TestShell(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mysh"), []byte("#!/bin/sh\necho '{\"decision\":\"block\",\"reason\":\"'$1 $2 $0'\"}'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	w := newWorld(t, func(c *Config) { c.Shell = "mysh" })
	t.Setenv("PATH", "/nowhere")
	if v := w.run(t, pre, "x"); v.Reason != "-c x "+filepath.Join(dir, "mysh") {
		t.Errorf("%+v", v)
	}
	t.Setenv("PATH", ".")
	t.Chdir(dir)
	if v := New(Config{Shell: "mysh"}).Run(t.Context(), pre, hooks(time.Minute, "x"), w.input()); len(v.Failures) != 1 {
		t.Errorf("a shell in the current folder: %+v", v)
	}
}

func TestMessages(t *testing.T) {
	w := newWorld(t)
	w.run(t, pre, `echo '{"systemMessage":"hi\u001b","Decision":"block"}'`, "echo not json")
	for _, words := range [][]string{{"a hook has a message", `message=hi\x1b`}, {"no effect here", "key=Decision"}, {"not JSON", `output="not json"`}} {
		if !w.log.has(words...) {
			t.Errorf("the log lacks %q:\n%s", words, w.log.text.String())
		}
	}
}
