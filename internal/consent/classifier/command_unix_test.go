//go:build unix

package classifier

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-toolset/policy"
)

func sh(script string) Stage {
	return Stage{Command: []string{"sh", "-c", script}, Timeout: patience}
}

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	stage := sh(`cat >asked; pwd >where; printf '{"decision":"ask","reason":"%s"}' "$(wc -l <asked)"`)
	stage.Dir = dir
	a, ok, out := ask(t, stage)
	if !ok || a.Behavior != policy.Ask || strings.TrimSpace(a.Reason) != "1" || a.Stage != 1 || out != "" {
		t.Errorf("%+v, %v, logged %s", a, ok, out)
	}
	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	if want := `{"tool":"Bash","summary":"Run <ls>","input":"ls && cat <x>\n","mode":"default","cwd":"/w"}` + "\n"; err != nil || string(asked) != want {
		t.Errorf("asked %q, %v", asked, err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if where, err2 := os.ReadFile(filepath.Join(dir, "where")); err != nil || err2 != nil || strings.TrimSpace(string(where)) != real {
		t.Errorf("ran in %q, %v", where, err2)
	}
}

// TestCommandFails checks that a command that fails has no opinion, whatever it
// printed.
func TestCommandFails(t *testing.T) {
	const allow = `echo '{"decision":"allow"}'`
	for script, want := range map[string]string{
		allow + `; exit 1`:                   `running sh: exit status 1"`,
		allow + `; kill -9 $$`:               `running sh: signal: killed"`,
		`printf 'no\nmodel\033' >&2; exit 3`: `running sh: exit status 3: no\\nmodel\\x1b"`,
		`:`:                                  `it is not JSON: nothing is there"`,
		allow + ";" + allow:                  `it is not JSON: line 2, column 1: expected the end of it, found \"{\""`,
		allow + `; yes`:                      `it answered more than 65536 bytes"`,
		allow + `; (trap '' PIPE; while :; do echo; done)`: `it answered more than 65536 bytes"`,
	} {
		_, ok, out := ask(t, sh(script))
		if ok || !strings.Contains(out, want) {
			t.Errorf("%s: opinion %v, logged %s", script, ok, out)
		}
	}
	stage := Stage{Command: []string{"/no/such/program"}, Timeout: patience}
	if _, ok, out := ask(t, stage); ok || !strings.Contains(out, "running /no/such/program: ") || !strings.Contains(out, "no such file") {
		t.Errorf("opinion %v, logged %s", ok, out)
	}
	// A command with long standard error, or one that does not read the
	// question, still has an opinion.
	if _, ok, out := ask(t, sh(`exec <&-; head -c 1000000 /dev/zero >&2; `+allow)); !ok {
		t.Error(out)
	}
}

// TestCommandLong checks that a question longer than the buffer of a pipe
// reaches a command that reads it, and does not block one that does not.
func TestCommandLong(t *testing.T) {
	long := Question{Input: strings.Repeat("x", 1<<20)}
	for script, want := range map[string]string{
		`printf '{"decision":"ask","reason":"%d"}' $(wc -c)`: fmt.Sprint(1<<20 + len(`{"tool":"","summary":"","input":"","mode":"","cwd":""}`) + 1),
		`echo '{"decision":"ask","reason":"blind"}'`:         "blind",
	} {
		a, ok := New(Config{Stages: []Stage{sh(script)}}).Ask(t.Context(), long)
		if !ok || a.Reason != want {
			t.Errorf("%s: %+v, %v", script, a, ok)
		}
	}
}

// TestCommandTime checks that a command that times out is not waited for, and
// that its output is ignored.
func TestCommandTime(t *testing.T) {
	stage := sh(`echo '{"decision":"allow"}'; sleep 1000`)
	stage.Timeout = 100 * time.Millisecond
	_, ok, out := ask(t, stage)
	if ok || !strings.Contains(out, `error="it took longer than 100ms"`) {
		t.Errorf("opinion %v, logged %s", ok, out)
	}
}

// starts returns a script that starts a child, and a function that waits for
// the child and returns its id.
func starts(t *testing.T) (script string, child func() int) {
	path := filepath.Join(t.TempDir(), "pid")
	return `sleep 1000 & echo $! >` + path + `.new; mv ` + path + `.new ` + path + `; `, func() int {
		for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			text, err := os.ReadFile(path)
			if err != nil && time.Now().Before(deadline) {
				continue
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Error(err)
			}
			return pid
		}
	}
}

// waitGone fails if a process does not end.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); !gone(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("what the command started is still there")
		}
	}
}

// TestCommandGroup checks that the whole process group is killed.
func TestCommandGroup(t *testing.T) {
	script, child := starts(t)
	ctx, cancel := context.WithCancel(t.Context())
	pid := make(chan int, 1)
	go func() {
		pid <- child()
		cancel()
	}()
	if a, ok := New(Config{Stages: []Stage{sh(script + "wait")}}).Ask(ctx, question); ok {
		t.Errorf("%+v", a)
	}
	waitGone(t, <-pid)
}

// gone reports whether a process has ended, including one that its new parent
// has not yet reaped.
func gone(pid int) bool {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && strings.HasPrefix(rest, "Z")
}

// TestCommandLeft checks that a process that holds the output open is not
// waited for without end.
func TestCommandLeft(t *testing.T) {
	script, child := starts(t)
	_, ok, out := ask(t, sh(script+`echo '{"decision":"allow"}'`))
	if ok || !strings.Contains(out, "left something running that holds its output open") {
		t.Errorf("opinion %v, logged %s", ok, out)
	}
	waitGone(t, child())
}
