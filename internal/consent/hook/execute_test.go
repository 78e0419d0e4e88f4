//go:build unix

package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcp-toolset/internal/testscale"
	"mcp-toolset/policy"
)

func fifo(t *testing.T, elements ...string) string {
	t.Helper()
	path := filepath.Join(elements...)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestParallel checks that hooks run in parallel: each waits for the other.
func TestParallel(t *testing.T) {
	w := newWorld(t)
	fifo(t, w.dir, "a")
	fifo(t, w.dir, "b")
	if v := w.run(t, pre, "echo x >a; read y <b; echo $y >&2; exit 2", "read y <a; echo z >b; echo $y >&2; exit 2"); v.Reason != "z\nx" {
		t.Errorf("%+v", v)
	}
}

func TestOnce(t *testing.T) {
	w := newWorld(t)
	w.run(t, pre, "echo a >>a", "echo b >>b; exit 1", "echo c >>c; exit 2")
	for _, name := range []string{"a", "b", "c"} {
		if got := readFile(t, w.dir, name); got != name+"\n" {
			t.Errorf("hook %s ran as %q", name, got)
		}
	}
}

// TestStandardInput checks that a hook that does not read its input neither
// hangs nor fails.
func TestStandardInput(t *testing.T) {
	w := newWorld(t)
	in := w.input()
	text, _ := json.Marshal(strings.Repeat("x", 5<<20))
	in.ToolInput = json.RawMessage(`{"a":` + string(text) + `}`)
	for command, want := range map[string]string{
		"echo not read >&2; exit 2":              "not read",
		"exec <&-; echo closed >&2; exit 2":      "closed",
		"head -c 9 >&2; exit 2":                  `{"session`,
		"echo $(wc -c) >&2; exit 2":              fmt.Sprint(len(mustLine(t, in))),
		"cat; cat >&2; echo all >&2; exit 2":     "all",
		"cat <&- 2>/dev/null; echo >&2; :":       "",
		"echo '{\"continue\":false}'; exec 0<&-": "the hook echo '{\"continue\":false}'; exec 0<&- refuses this call without giving a reason",
	} {
		v := w.Run(t.Context(), pre, hooks(time.Minute, command), in)
		if v.Reason != want || len(v.Failures) != 0 {
			t.Errorf("%s: %.200q, %+v", command, v.Reason, v.Failures)
		}
	}
}

func mustLine(t *testing.T, in Input) []byte {
	t.Helper()
	line, err := in.line(pre)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// TestMuchOutput checks that a hook can print 10 MB, and that only the
// beginning is stored.
func TestMuchOutput(t *testing.T) {
	var stored string
	w := newWorld(t)
	w.spill = func(_, text string) (string, error) { stored = text; return "/stored", nil }
	if v := w.run(t, pre, "head -c 10000000 /dev/zero | tr '\\0' x"); v.Decided || len(v.Failures) != 0 {
		t.Errorf("text: %+v", v)
	}
	json := "printf '{\"decision\":\"approve\",\"reason\":\"'; head -c 10000000 /dev/zero | tr '\\0' x; printf '\"}'"
	if v := w.run(t, pre, json); v.Decided || len(v.Failures) != 1 || v.Failures[0].Reason != "printed more JSON than the 1048576 bytes that are read" {
		t.Errorf("JSON: %+v", v)
	}
	v := w.run(t, post, "head -c 10000000 /dev/zero | tr '\\0' x >&2; exit 2")
	want := strings.Repeat("x", headText) + "\n(these are the first 2000 of 1048576 characters; read /stored for all of them)"
	if v.Block != want || stored != strings.Repeat("x", maxOutput) {
		t.Errorf("a reason: %d characters, %d stored", len(v.Block), len(stored))
	}
}

// TestTime checks that a hook that times out is ended with its descendants, and
// decides nothing.
func TestTime(t *testing.T) {
	for _, command := range []string{
		"sleep 1000",
		"echo '{\"decision\":\"block\"}'; exec sleep 1000",
		"trap '' TERM; echo '{\"decision\":\"block\"}'; sleep 1000; sleep 1000",
		"trap 'exit 2' TERM; sleep 1000 & wait",
		"kill -STOP $$",
		"sleep 1000 >/dev/null 2>&1 & sleep 1000",
		"timeout 1000 sleep 1000",
		"setsid sleep 1000 & setsid sleep 1000; wait",
		"(trap '' TERM; timeout 1000 sleep 1000); :",
	} {
		mark := newMark(t)
		w := newWorld(t, mark.add)
		v := w.Run(t.Context(), pre, hooks(100*time.Millisecond, command), w.input())
		if v.Decided || len(v.Failures) != 1 || v.Failures[0].Reason != "did not end within 100ms" {
			t.Errorf("%s: %+v", command, v)
		}
		mark.gone(t, command)
	}
	for i := range testscale.N(4, 20) { // processes that have only just started
		for _, command := range []string{"(trap '' TERM; timeout 1000 sleep 1000); :", "timeout 1000 timeout 1000 sleep 1000 & wait"} {
			mark := newMark(t)
			w := newWorld(t, mark.add)
			w.Run(t.Context(), pre, hooks(time.Duration(i+1)*time.Millisecond, command), w.input())
			mark.gone(t, command)
		}
	}
	w := newWorld(t, failClosed)
	v := w.Run(t.Context(), pre, append(hooks(100*time.Millisecond, "sleep 1000"), hooks(time.Minute, "echo '{\"decision\":\"approve\"}'")...), w.input())
	if v.Behavior != policy.Deny || !v.Decided || v.Reason != "the hook sleep 1000 did not end within 100ms, which refuses the call here (hooksFailClosed)" {
		t.Errorf("failing closed: %+v", v)
	}
}

// TestCancel checks that the end of a call ends its hooks, and that the allow
// of one hook does not count for the others.
func TestCancel(t *testing.T) {
	for _, event := range []Event{pre, post} {
		mark := newMark(t)
		w := newWorld(t, mark.add)
		fifo(t, w.dir, "pid")
		started := fifo(t, w.dir, "started")
		answers := "echo $$ >pid; " + prints(`{"decision":"approve"}`)
		const hangs = "read p <pid; while kill -0 $p 2>&-; do :; done; sleep 1000 & echo >started; wait"
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _ = os.ReadFile(started)
			cancel()
		}()
		v := w.Run(ctx, event, hooks(time.Minute, answers, hangs), w.input())
		mark.gone(t, string(event))
		if len(v.Failures) != 1 || v.Failures[0] != (Failure{hangs, "had not answered when the call was cancelled"}) {
			t.Errorf("%s: %+v", event, v)
		}
		const reason, next = "the call was cancelled before all of its hooks had answered", "call again if it is still wanted"
		if denied := v.Decided && v.Behavior == policy.Deny && v.Reason == reason && v.Next == next; denied != (event == pre) {
			t.Errorf("%s: %+v", event, v)
		}
		v = w.Run(ctx, event, hooks(time.Minute, "echo >late"), w.input())
		if _, err := os.Stat(filepath.Join(w.dir, "late")); err == nil || v.Decided != (event == pre) || v.Behavior != policy.Deny {
			t.Errorf("%s, cancelled before: %+v, %v", event, v, err)
		}
	}
}

// TestTold checks that a hook is asked to end before it is killed.
func TestTold(t *testing.T) {
	w := newWorld(t)
	started := fifo(t, w.dir, "started")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = os.ReadFile(started)
		w.awaitRunning()
		cancel()
	}()
	w.Run(ctx, pre, hooks(time.Minute, "trap 'echo told >told; exit' TERM; sleep 1000 & echo >started; wait"), w.input())
	if got := readFile(t, w.dir, "told"); got != "told\n" {
		t.Errorf("it said %q", got)
	}
}

// awaitRunning waits until the start of a hook has returned. The hook may run before, and is
// then killed at once if its call ends.
func (w world) awaitRunning() {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		w.mu.Lock()
		n := len(w.running)
		w.mu.Unlock()
		if n > 0 {
			return
		}
	}
}

// TestLeftBehind checks that a process that holds the output of an ended hook
// does not delay the call and is ended, and that one that has closed the output
// continues.
func TestLeftBehind(t *testing.T) {
	for _, command := range []string{
		"sleep 1000 & echo said >&2; exit 2",
		"(trap '' TERM; sleep 1000; sleep 1000) & echo said >&2; exit 2",
		"timeout 1000 sleep 1000 & echo said >&2; exit 2",
		"setsid sleep 1000 & echo said >&2; exit 2",
	} {
		mark := newMark(t)
		w := newWorld(t, mark.add)
		before := goleak.IgnoreCurrent()
		if v := w.run(t, pre, command); v.Reason != "said" {
			t.Errorf("%s: %+v", command, v)
		}
		goleak.VerifyNone(t, before)
		if strings.Contains(command, "setsid") { // not found: it has left the session and lost its parent
			mark.kill()
		} else {
			mark.gone(t, command)
		}
		if !w.log.has("left something behind") {
			t.Errorf("%s: the log says nothing", command)
		}
	}
	w := newWorld(t)
	if v := w.run(t, pre, "sleep 1000 >/dev/null 2>&1 </dev/null & echo $! >pid; exit 2"); !v.Decided {
		t.Errorf("%+v", v)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(readFile(t, w.dir, "pid")))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("what a hook left in the background: %v", err)
	}
}

// TestLastWords checks that output from the other end of a pipeline, after the
// exit of the shell, is read.
func TestLastWords(t *testing.T) {
	w := newWorld(t)
	fifo(t, w.dir, "go")
	v := w.run(t, pre, "(read x <go; echo late >&2) & (while kill -0 $$ 2>/dev/null && [ \"$(cut -d' ' -f3 /proc/$$/stat 2>/dev/null)\" != Z ]; do :; done; echo >go) 2>/dev/null >&2 & exit 2")
	if v.Reason != "late" {
		t.Errorf("%+v", v)
	}
}
