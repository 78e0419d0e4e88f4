//go:build unix

package e2e

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDurableTrigger kills a server that has a durable trigger. After a restart a new session
// gets the events of requests with the old secret.
func TestDurableTrigger(t *testing.T) {
	state, root := filepath.Join(t.TempDir(), "state"), t.TempDir()
	cmd := exec.Command(binary(t), "http", "--addr", "127.0.0.1:0", "--log-level", "error", "--sandbox", "off", "--mode", "bypassPermissions", root)
	cmd.Env = append(os.Environ(), "MCP_TOOLSET_TOKEN="+wireToken, "MCP_TOOLSET_STATE_DIR="+state)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	ann := joinServer(t, strings.TrimSpace(strings.TrimPrefix(line, "listening on ")), "ann", false)
	made := parseTrigger(t, ann.call("RemoteTrigger", `{"action":"create","name":"ci","durable":true}`))
	parseTrigger(t, ann.call("RemoteTrigger", `{"action":"create","name":"mem"}`))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()

	server := serveIn(t, state, root)
	url := strings.TrimSuffix(server.url, "mcp") + "events/ci"
	send := func(secret string, want int) {
		t.Helper()
		if got := post(t, url, secret, "hi"); got != want {
			t.Errorf("with the secret %q the status is %d, want %d", secret, got, want)
		}
	}
	send(made.secret, http.StatusServiceUnavailable) // there is no session
	send("wrong", http.StatusUnauthorized)
	for _, modern := range []bool{false, true} { // the session that made a call last
		eve := joinServer(t, server.url, "eve", modern)
		eve.call("TaskList", `{}`) // with a handle
		send(made.secret, http.StatusAccepted)
		eve.want("TaskList", `{}`, "[there are no tasks: TaskCreate adds one]\n[1 event since the last answer"+fromOthers+"trigger ci:\n> hi")
		list := eve.call("RemoteTrigger", `{"action":"list"}`)
		if !strings.HasPrefix(list, "ci: POST "+url+", durable, ") || strings.Contains(list, "mem") || strings.Contains(list, made.secret) {
			t.Errorf("the list is %s", list)
		}
		if modern {
			eve.want("RemoteTrigger", `{"action":"delete","name":"ci"}`, "Trigger ci deleted.")
		}
	}
	send(made.secret, http.StatusUnauthorized)
}
