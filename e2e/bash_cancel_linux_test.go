package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestCancel checks that cancelling a call ends its command and all descendants.
func TestCancel(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"Bash", "BashReadOnly"} {
		s, mark := startShell(t, shellOptions{}), newMark()
		call := s.begin(tool, map[string]any{"command": tree(mark)})
		atLeast(t, mark, treeSize)
		s.notify("notifications/cancelled", map[string]any{"requestId": call.id, "reason": "enough"})
		noneLeft(t, mark, deadline)
		if a := s.call("TaskOutput", nil); !strings.Contains(a.text, "no background tasks") {
			t.Errorf("%s: %s", tool, a.text)
		}
		if got := s.works("echo usable"); got != "usable" {
			t.Errorf("%s: %s", tool, got)
		}
	}
}

// shellHTTP is an HTTP server that runs commands.
type shellHTTP struct{ url, session, root string }

func startShellHTTP(t *testing.T) *shellHTTP {
	t.Helper()
	base := shellFolder(t, 0)
	cmd := exec.Command(binary(t), "http", "--addr", "127.0.0.1:0", "--log-level", "error", "--mode", "bypassPermissions", base+"/root")
	cmd.Env = append(cmd.Environ(), "HOME="+base+"/home", "TMPDIR="+base+"/tmp", "MCP_TOOLSET_TOKEN="+wireToken, "MCP_TOOLSET_STATE_DIR="+base+"/state")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := wait(t, cmd); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	line, err := bufio.NewReader(stderr).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("the server said %q, %v", line, err)
	}
	return &shellHTTP{url: url, root: base + "/root"}
}

// open starts a session, in the revision that has sessions.
func (s *shellHTTP) open(t *testing.T) {
	t.Helper()
	if _, err := s.post(t.Context(), "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "shell", "version": "1"},
	}); err != nil || s.session == "" {
		t.Fatalf("no session: %v", err)
	}
}

// call calls a tool and returns the whole response. It uses the open session; without one
// it sends the client's data with the request.
func (s *shellHTTP) call(ctx context.Context, tool string, arguments map[string]any) (string, error) {
	params := map[string]any{"name": tool, "arguments": arguments}
	if s.session == "" {
		params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{}}
	}
	return s.post(ctx, "tools/call", params)
}

func (s *shellHTTP) post(ctx context.Context, method string, params map[string]any) (string, error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(string(body)))
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+wireToken)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if s.session != "" {
		r.Header.Set("Mcp-Session-Id", s.session)
	} else if params["_meta"] != nil {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", method)
		r.Header.Set("Mcp-Name", params["name"].(string))
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		s.session = id
	}
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return string(text), err
}

// TestDisconnect checks that a client that disconnects ends the command of its call, but
// no background task.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	s := startShellHTTP(t)
	for _, opened := range []bool{false, true} {
		if opened {
			s.open(t)
		}
		behind, ahead := newMark(), newMark()
		text, err := s.call(t.Context(), "Bash", map[string]any{"command": tree(behind), "run_in_background": true})
		_, id, ok := strings.Cut(text, "as task ")
		id, _, ok2 := strings.Cut(id, ".")
		if err != nil || !ok || !ok2 {
			t.Fatalf("%v: %s", err, text)
		}
		atLeast(t, behind, treeSize)
		if text, err = s.call(t.Context(), "TaskOutput", map[string]any{"task_id": id, "offset": 0, "filter": "ready"}); err != nil || !strings.Contains(text, "ready") {
			t.Errorf("TaskOutput: %v %s", err, text)
		}
		ctx, hangUp := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := s.call(ctx, "Bash", map[string]any{"command": tree(ahead)})
			ended <- err
		}()
		atLeast(t, ahead, treeSize)
		hangUp()
		if err := <-ended; err == nil {
			t.Error("the call was answered")
		}
		noneLeft(t, ahead, deadline)
		atLeast(t, behind, treeSize)
		if text, err = s.call(t.Context(), "TaskOutput", map[string]any{"task_id": id, "block": false}); err != nil || !strings.Contains(text, "running") || !strings.Contains(text, "ready") {
			t.Errorf("TaskOutput: %v %s", err, text)
		}
		if text, err = s.call(t.Context(), "TaskStop", map[string]any{"task_id": id}); err != nil || !strings.Contains(text, "stopped") {
			t.Errorf("TaskStop: %v %s", err, text)
		}
		noneLeft(t, behind, 0)
	}
}
