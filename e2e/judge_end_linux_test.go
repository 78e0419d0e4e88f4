package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// judged are those who are heard before a call, and hang: by the settings that
// have them, with the mark in their arguments.
var judged = map[string]string{
	"hook":       `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "sh -c 'sleep 3000; : %[1]s' & sleep 3000; : %[1]s"}]}]}}`,
	"hook after": `{"hooks": {"PostToolUse": [{"hooks": [{"type": "command", "command": "sh -c 'sleep 3000; : %[1]s' & sleep 3000; : %[1]s"}]}]}}`,
	"classifier": `{"classifier": {"timeout": 60, "command": "sh -c 'sleep 3000; : %[1]s' & sleep 3000; : %[1]s"}}`,
}

// judgedCall is a call that a classifier is asked about, too.
func judgedCall(s *shellServer, hook string) sent {
	path := s.file("a.txt", "a")
	if hook == "classifier" {
		path = "/etc/hostname"
	}
	return s.begin("Read", map[string]any{"file_path": path})
}

// TestJudgesEndWithCall: who is asked about a call that is cancelled ends with
// it, with all that they started, and the conversation goes on.
func TestJudgesEndWithCall(t *testing.T) {
	for name, settings := range judged {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := newMark()
			s := startShell(t, shellOptions{asks: true, settings: fmt.Sprintf(settings, mark)})
			before := openFiles(t, s)
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
			// Who waits for a process has its pipes open. So has a supervisor that was
			// made ready since, for 30 s.
			for end := time.Now().Add(deadline + 30*time.Second); openFiles(t, s) > before; time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%d files are open, %d were before the call", openFiles(t, s), before)
				}
			}
		})
	}
}

// openFiles is how many files and pipes the server has open.
func openFiles(t *testing.T, s *shellServer) int {
	t.Helper()
	files, err := os.ReadDir(filepath.Join("/proc", fmt.Sprint(s.cmd.Process.Pid), "fd"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		if to, err := os.Readlink(filepath.Join("/proc", fmt.Sprint(s.cmd.Process.Pid), "fd", f.Name())); err == nil && len(to) > 5 && to[:5] == "pipe:" {
			n++
		}
	}
	return n
}

// TestJudgesEndWithServer: a server that is told to stop ends who is asked about
// a call, whatever way it is told.
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
