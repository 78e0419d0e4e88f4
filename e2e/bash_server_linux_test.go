package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// shellTime is the timeout for each wait for a command.
const shellTime = 2 * time.Minute

// shellOptions configures a shellServer.
type shellOptions struct {
	args     []string
	env      []string // in addition to those of the test, HOME and the state folder
	settings string   // content of a settings file
	user     int      // user id; 0 means the user who runs the tests
	asks     bool     // whether the settings decide calls; otherwise only the sandbox limits commands
	bare     bool     // whether not to stop the server at the end of the test
}

// shellServer is a stdio server that handles concurrent calls, with a root and a home
// folder of its own.
type shellServer struct {
	t          *testing.T
	cmd        *exec.Cmd
	root, home string
	ended      chan struct{}
	err        error    // the error of its exit
	out        *os.File // its standard output, read by listen

	mu      sync.Mutex
	in      io.WriteCloser
	next    int
	waiting map[int]chan shellAnswer
	heard   []progress
}

// shellAnswer is the answer to a call.
type shellAnswer struct {
	text   string
	failed bool
	fault  string // the reason that there is no answer
	meta   map[string]any
	took   time.Duration
}

// task returns the id of the task that an answer names, or "".
func (a shellAnswer) task() string {
	id, _ := a.meta["mcp-toolset/task_id"].(string)
	return id
}

func (a shellAnswer) status() string {
	s, _ := a.meta["mcp-toolset/status"].(string)
	return s
}

// progress is a progress notification.
type progress struct {
	at      time.Time
	message string
	done    float64
}

func startShell(t *testing.T, o shellOptions) *shellServer {
	t.Helper()
	base := shellFolder(t, o.user)
	s := &shellServer{
		t: t, root: filepath.Join(base, "root"), home: filepath.Join(base, "home"),
		ended: make(chan struct{}), waiting: map[int]chan shellAnswer{},
	}
	args := []string{"stdio", "--log-level", "error"}
	switch {
	case o.asks:
	case o.settings == "": // a rule for commands opens no path; the mode bypassPermissions does
		o.settings = `{"permissions": {"allow": ["Bash"]}}`
	case !strings.Contains(o.settings, `"permissions"`):
		o.settings = `{"permissions": {"allow": ["Bash"]}, ` + strings.TrimPrefix(o.settings, "{")
	}
	if o.settings != "" {
		file := filepath.Join(base, "settings.json")
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(o.settings, "$BASE", base)), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--settings", file)
	}
	s.cmd = exec.Command(shellBinary(t, o.user), append(append(args, o.args...), s.root)...)
	s.cmd.Dir = s.root
	s.cmd.Env = append(os.Environ(), append([]string{
		"HOME=" + s.home, "TMPDIR=" + filepath.Join(base, "tmp"), "MCP_TOOLSET_STATE_DIR=" + filepath.Join(base, "state"),
		"XDG_CACHE_HOME=", "GOCACHE=", "GOMODCACHE=", "GOPATH=",
	}, o.env...)...)
	s.cmd.Stderr = t.Output() // shown if the test fails
	if o.user != 0 {
		s.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(o.user), Gid: uint32(o.user)}}
	}
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdout, s.out = w, out
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	go func() {
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	go s.listen(out)
	t.Cleanup(func() {
		_ = s.in.Close()
		select {
		case <-s.ended:
		case <-time.After(deadline):
			t.Error("the server does not end with its input")
			_ = s.cmd.Process.Kill()
		}
		if s.err != nil && !o.bare {
			t.Errorf("the server ended with %v", s.err)
		}
	})
	if a := s.wait(s.send("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "shell", "version": "1"},
	})); a.fault != "" {
		t.Fatal(a.fault)
	}
	return s
}

// listen passes each answer to the waiting caller, and records progress notifications.
func (s *shellServer) listen(out *os.File) {
	defer out.Close()
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var m struct {
			ID     int
			Method string
			Params struct {
				Message  string
				Progress float64
			}
			Error  *struct{ Message string }
			Result struct {
				IsError bool
				Content []struct{ Text string }
				Meta    map[string]any `json:"_meta"`
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			s.t.Errorf("the server wrote %.500q", line)
			continue
		}
		s.mu.Lock()
		switch {
		case m.Method == "notifications/progress":
			s.heard = append(s.heard, progress{time.Now(), m.Params.Message, m.Params.Progress})
		case m.Method == "":
			a := shellAnswer{failed: m.Result.IsError, meta: m.Result.Meta}
			if a.meta["mcp-toolset/events"] != nil { // they are the last block, and not of this call
				m.Result.Content = m.Result.Content[:len(m.Result.Content)-1]
			}
			if m.Error != nil {
				a.fault = m.Error.Message
			}
			for _, c := range m.Result.Content {
				a.text += c.Text
			}
			if waits, ok := s.waiting[m.ID]; ok {
				waits <- a
				delete(s.waiting, m.ID)
			}
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, waits := range s.waiting {
		waits <- shellAnswer{fault: "the server is gone"}
	}
	s.waiting = nil
}

// sent is a request without an answer yet.
type sent struct {
	id     int
	at     time.Time
	answer <-chan shellAnswer
}

func (s *shellServer) send(method string, params any) sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := make(chan shellAnswer, 1)
	s.next++
	if s.waiting == nil {
		answer <- shellAnswer{fault: "the server is gone"}
		return sent{s.next, time.Now(), answer}
	}
	s.waiting[s.next] = answer
	s.write(map[string]any{"jsonrpc": "2.0", "id": s.next, "method": method, "params": params})
	return sent{s.next, time.Now(), answer}
}

func (s *shellServer) write(message any) {
	line, err := json.Marshal(message)
	if err != nil {
		s.t.Fatal(err)
	}
	_, _ = s.in.Write(append(line, '\n')) // on an error the caller learns that the server has ended
}

func (s *shellServer) notify(method string, params any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

func (s *shellServer) wait(r sent) shellAnswer {
	select {
	case a := <-r.answer:
		a.took = time.Since(r.at)
		return a
	case <-time.After(shellTime):
		return shellAnswer{fault: fmt.Sprintf("no answer within %v", shellTime)}
	}
}

// begin calls a tool; wait returns the answer.
func (s *shellServer) begin(tool string, arguments map[string]any) sent {
	return s.send("tools/call", map[string]any{"name": tool, "arguments": arguments})
}

// call calls a tool and returns its answer; the test fails without one.
func (s *shellServer) call(tool string, arguments map[string]any) shellAnswer {
	s.t.Helper()
	a := s.wait(s.begin(tool, arguments))
	if a.fault != "" {
		s.t.Fatalf("%s %.200v: %s", tool, arguments, a.fault)
	}
	return a
}

// bash runs a command with Bash.
func (s *shellServer) bash(command string) shellAnswer {
	s.t.Helper()
	return s.call("Bash", map[string]any{"command": command})
}

// readOnly runs a command with BashReadOnly.
func (s *shellServer) readOnly(command string) shellAnswer {
	s.t.Helper()
	return s.call("BashReadOnly", map[string]any{"command": command})
}

// works runs a command that must succeed, and returns its output.
func (s *shellServer) works(command string) string {
	s.t.Helper()
	a := s.bash(command)
	if a.failed {
		s.t.Fatalf("%s: %s", command, a.text)
	}
	return a.text
}

// background starts a task.
func (s *shellServer) background(command string) (id string) {
	s.t.Helper()
	a := s.call("Bash", map[string]any{"command": command, "run_in_background": true})
	if a.failed || a.task() == "" {
		s.t.Fatalf("no task: %s", a.text)
	}
	return a.task()
}

// file creates a file below the root.
func (s *shellServer) file(name, content string) string {
	s.t.Helper()
	return writeAt(s.t, filepath.Join(s.root, name), content)
}
