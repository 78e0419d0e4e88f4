package e2e

import (
	"fmt"
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
	path := s.file("a.txt", "a")
	if hook == "classifier" {
		path = "/etc/hostname"
	}
	return s.begin("Read", map[string]any{"file_path": path})
}

// TestJudgesEndWithCall checks that cancelling a call ends its hooks and classifier with
// all their descendants, and that the session continues.
func TestJudgesEndWithCall(t *testing.T) {
	for name, settings := range judged {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := newMark()
			s := startShell(t, shellOptions{asks: true, settings: fmt.Sprintf(settings, mark)})
			before := pipesOpen(t, s)
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
			for end := time.Now().Add(deadline); pipesOpen(t, s) > before; time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%d pipes are open, %d were before the call", pipesOpen(t, s), before)
				}
			}
		})
	}
}

// pipesOpen returns the number of pipes that the server has open, except those to the
// standard error of its supervisors. There is one of these for each supervisor, even
// those started ahead.
func pipesOpen(t *testing.T, s *shellServer) int {
	t.Helper()
	proc := filepath.Join("/proc", fmt.Sprint(s.cmd.Process.Pid))
	files, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		if to, err := os.Readlink(filepath.Join(proc, "fd", f.Name())); err == nil && strings.HasPrefix(to, "pipe:") {
			n++
		}
	}
	children, err := filepath.Glob(filepath.Join(proc, "task", "*", "children"))
	if err != nil || len(children) == 0 {
		t.Fatalf("the server's children are not listed: %v", err)
	}
	for _, list := range children {
		pids, _ := os.ReadFile(list)
		n -= len(strings.Fields(string(pids)))
	}
	return n
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
				noneLeft(t, mark, time.Second)
			})
		}
	}
}
