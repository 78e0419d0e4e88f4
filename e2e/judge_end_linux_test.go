package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// judged maps hooks and a classifier to their settings. Their programs hang and have the
// mark in their arguments.
var judged = map[string]string{
	"hook":       `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "sh -c 'sleep 3000; : %[1]s' & sleep 3000; : %[1]s"}]}]}}`,
	"hook after": `{"hooks": {"PostToolUse": [{"hooks": [{"type": "command", "command": "sh -c 'sleep 3000; : %[1]s' & sleep 3000; : %[1]s"}]}]}}`,
	"classifier": `{"classifier": {"timeout": 60, "command": "sh -c 'sleep 3000; : %[1]s' & sleep 3000; : %[1]s"}}`,
}

// judgedCall starts a call that is judged; one for the classifier must need an approval.
func judgedCall(s *shellServer, hook string) sent {
	if hook == "classifier" {
		return s.begin("Write", map[string]any{"file_path": "/srv/never-written", "content": "x"})
	}
	return s.begin("Read", map[string]any{"file_path": s.file("a.txt", "a")})
}

// TestJudgesEndWithCall checks that cancelling a call ends its hooks and classifier with
// all their descendants, and that the session continues.
func TestJudgesEndWithCall(t *testing.T) {
	for name, settings := range judged {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := newMark()
			s := startShell(t, shellOptions{asks: true, settings: fmt.Sprintf(settings, mark)})
			before := pipes(t, s.cmd.Process.Pid)
			call := judgedCall(s, name)
			atLeast(t, mark, 2)
			s.notify("notifications/cancelled", map[string]any{"requestId": call.id})
			noneLeft(t, mark, deadline)
			if a := s.wait(s.send("ping", map[string]any{})); a.fault != "" {
				t.Errorf("afterwards: %s", a.fault)
			}
			select {
			case a := <-call.answer:
				t.Errorf("the cancelled call was answered: %s", a.text)
			default:
			}
			// While the server waits for a process, its pipes are open.
			left := func() map[string]bool { return newPipes(t, s, before) }
			for end := time.Now().Add(deadline); len(left()) > 0; time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("pipes are open that were not before the call: %v", left())
				}
			}
		})
	}
}

// newPipes returns the pipes that the server has open, except those that it had before and
// those to its descendants: supervisors are started ahead.
func newPipes(t *testing.T, s *shellServer, before map[string]bool) map[string]bool {
	t.Helper()
	open := pipes(t, s.cmd.Process.Pid)
	maps.DeleteFunc(open, func(pipe string, _ bool) bool { return before[pipe] })
	below := []string{fmt.Sprint(s.cmd.Process.Pid)}
	for i := 0; i < len(below); i++ {
		lists, err := filepath.Glob(filepath.Join("/proc", below[i], "task", "*", "children"))
		if i == 0 && (err != nil || len(lists) == 0) {
			t.Fatalf("the server's children are not listed: %v", err)
		}
		for _, list := range lists {
			children, _ := os.ReadFile(list)
			below = append(below, strings.Fields(string(children))...)
		}
	}
	for _, child := range below[1:] {
		files, _ := filepath.Glob(filepath.Join("/proc", child, "fd", "*"))
		for _, f := range files {
			if pipe, err := os.Readlink(f); err == nil {
				delete(open, pipe)
			}
		}
	}
	return open
}

// pipes returns the pipes that a process has open.
func pipes(t *testing.T, pid int) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("/proc", fmt.Sprint(pid), "fd", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the files of process %d are not listed: %v", pid, err)
	}
	open := map[string]bool{}
	for _, f := range files {
		if pipe, err := os.Readlink(f); err == nil && strings.HasPrefix(pipe, "pipe:") {
			open[pipe] = true
		}
	}
	return open
}

// TestJudgesEndWithServer checks that a server that is stopped, in either way, ends its
// hooks and classifier.
func TestJudgesEndWithServer(t *testing.T) {
	for name, settings := range judged {
		for how, stop := range map[string]func(s *shellServer){
			"input":   func(s *shellServer) { _ = s.in.Close() },
			"SIGTERM": func(s *shellServer) { _ = s.cmd.Process.Signal(syscall.SIGTERM) },
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				mark := newMark()
				s := startShell(t, shellOptions{asks: true, settings: fmt.Sprintf(settings, mark), args: []string{"--drain", "100ms"}})
				judgedCall(s, name)
				atLeast(t, mark, 2)
				stop(s)
				select {
				case <-s.ended:
				case <-time.After(deadline):
					t.Fatal("the server does not end")
				}
				noneLeft(t, mark, deadline)
			})
		}
	}
}
