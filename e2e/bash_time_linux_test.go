package e2e

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestTimeout checks that a command continues as a task when the timeout of its call
// expires, and that the task can be followed to its end.
func TestTimeout(t *testing.T) {
	t.Parallel()
	s := startShell(t, shellOptions{})
	a := s.call("Bash", map[string]any{"command": "echo first; until [ -e go ]; do sleep 0.01; done; echo last; exit 7", "timeout": 3000})
	if a.failed || a.status() != "running" || a.task() == "" ||
		!regexp.MustCompile(`^Still running after \d+(\.\d)? s: moved to the background as task `+a.task()+`\. .*\nfirst$`).MatchString(a.text) {
		t.Fatalf("%v: %s", a.meta, a.text)
	}
	s.file("go", "")
	followed := s.call("TaskOutput", map[string]any{"task_id": a.task()})
	if !strings.HasPrefix(followed.text, "Task "+a.task()+": exit code 7") || !strings.HasSuffix(followed.text, "first\nlast") || followed.meta["mcp-toolset/exit_code"] != 7.0 {
		t.Errorf("%v: %s", followed.meta, followed.text)
	}
	later := s.call("TaskOutput", map[string]any{"task_id": a.task(), "offset": 6, "filter": "l.st"})
	if !strings.Contains(later.text, "\nlast\n") || strings.Contains(later.text, "first") {
		t.Errorf("the new output: %s", later.text)
	}

	mark := newMark()
	a = s.call("Bash", map[string]any{"command": "sleep 300; export MARK=" + mark + "; sleep 300", "timeout": 300})
	if !a.failed || a.status() != "timed out" || !strings.HasPrefix(a.text, "Timed out after 0.3 s and was stopped") {
		t.Errorf("a sleep that comes first: %v: %s", a.meta, a.text)
	}
	noneLeft(t, mark, 0)

	a = s.call("Bash", map[string]any{"command": "export MARK=" + mark + "; echo begun; setsid sleep 300 & sleep 300", "timeout": 3000, "run_in_background": true})
	ended := s.call("TaskOutput", map[string]any{"task_id": a.task()})
	if !strings.HasPrefix(ended.text, "Task "+a.task()+": timed out after 3 s and was stopped") || !strings.Contains(ended.text, "begun") {
		t.Errorf("a task with a timeout: %s", ended.text)
	}
	noneLeft(t, mark, 0)
}

// TestForegroundLimit checks that each call is answered before clients give up, whatever
// timeout it requests.
func TestForegroundLimit(t *testing.T) {
	t.Parallel()
	s := startShell(t, shellOptions{args: []string{"--foreground-limit", "1s"}})
	for _, command := range []string{"echo first; sleep 300", "sleep 300"} {
		for _, tool := range []string{"Bash", "BashReadOnly"} {
			a := s.call(tool, map[string]any{"command": command, "timeout": 60_000})
			if a.failed || a.task() == "" || !regexp.MustCompile(`^Still running after \d+(\.\d)? s: moved to the background`).MatchString(a.text) || a.took >= time.Minute {
				t.Errorf("%s, %v: %s", command, a.took, a.text)
				continue
			}
			if stopped := s.call("TaskStop", map[string]any{"task_id": a.task()}); !strings.Contains(stopped.text, "stopped") {
				t.Error(stopped.text)
			}
		}
	}
}

// TestLimitsOfEnvironment checks that the server obeys the usual variables for bash
// tools.
func TestLimitsOfEnvironment(t *testing.T) {
	t.Parallel()
	s := startShell(t, shellOptions{env: []string{"BASH_DEFAULT_TIMEOUT_MS=700", "BASH_MAX_TIMEOUT_MS=20000", "BASH_MAX_OUTPUT_LENGTH=2000"}})
	if a := s.bash("echo first; sleep 300"); a.task() == "" || !regexp.MustCompile(`^Still running after (0\.[7-9]|[1-9]\d*(\.\d)?) s: moved`).MatchString(a.text) {
		t.Errorf("the default: %s", a.text)
	}
	if a := s.call("Bash", map[string]any{"command": "true", "timeout": 20001}); !a.failed || !strings.Contains(a.text, "timeout is 20001 ms; the most is 20000") {
		t.Errorf("more than the most: %s", a.text)
	}
	if a := s.call("Bash", map[string]any{"command": "sleep 1.2; true; echo done", "timeout": 20000}); a.text != "done" {
		t.Errorf("the most: %s", a.text)
	}
	a := s.call("Bash", map[string]any{"command": "seq 1 5000", "timeout": 20000})
	if !strings.HasPrefix(a.text, "1\n2\n") || !strings.HasSuffix(a.text, "\n5000") || !strings.Contains(a.text, "bytes) omitted: Read or Grep ") || len(a.text) < 1000 || len(a.text) > 2500 {
		t.Errorf("%d bytes: %s", len(a.text), a.text)
	}
	if a = s.call("TaskOutput", map[string]any{"task_id": a.task()}); len(a.text) > 2500 || !strings.HasSuffix(a.text, "\n5000") {
		t.Errorf("TaskOutput: %d bytes: %s", len(a.text), a.text)
	}
}

// TestProgress checks that a client that asks for progress is notified of the command, and then of
// its last line at most once a second, and that other clients are not notified.
func TestProgress(t *testing.T) {
	t.Parallel()
	s := startShell(t, shellOptions{})
	const command = `for i in {1..35}; do echo "line $i"; echo -n "in $i"; sleep 0.1; echo; done`
	s.bash("for i in {1..12}; do echo $i; sleep 0.1; done")
	s.mu.Lock()
	if len(s.heard) > 0 {
		t.Errorf("heard without asking: %v", s.heard)
	}
	s.mu.Unlock()
	a := s.wait(s.send("tools/call", map[string]any{
		"name": "Bash", "arguments": map[string]any{"command": command}, "_meta": map[string]any{"progressToken": "p"},
	}))
	if a.failed || a.fault != "" {
		t.Fatal(a.text, a.fault)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.heard) - 1; n < 2 || time.Duration(n)*time.Second > a.took {
		t.Fatalf("heard %d times in %v", n, a.took)
	}
	if first := s.heard[0]; !strings.HasPrefix(first.message, "Running for i in {1..35}; do ") || first.done != 0 {
		t.Errorf("heard %q, progress %v", first.message, first.done)
	}
	last := 0.0
	for _, p := range s.heard[1:] {
		if !regexp.MustCompile(`^(line|in) \d+$`).MatchString(p.message) || p.done <= last {
			t.Errorf("heard %q, progress %v after %v", p.message, p.done, last)
		}
		last = p.done
	}
}
