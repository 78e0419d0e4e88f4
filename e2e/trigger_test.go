//go:build unix

package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// madeTrigger matches the answer that describes a new trigger.
var madeTrigger = regexp.MustCompile(`(?s)^Trigger \S+ made\. A signed POST (http://127\.0\.0\.1:\d+/events/\S+) is an event of this session(?: or, .*?)?\.\nIts secret, not shown again: ([A-Z2-7]{26})\nTo try it:\n(.*)$`)

// trigger holds the URL, the secret and the command in the answer to create.
type trigger struct{ url, secret, command string }

func parseTrigger(t *testing.T, answer string) trigger {
	t.Helper()
	m := madeTrigger.FindStringSubmatch(answer)
	if m == nil {
		t.Fatalf("create was answered with %s", answer)
	}
	return trigger{m[1], m[2], m[3]}
}

// post sends a body with the signature of a secret, or with the token if it is "".
func post(t *testing.T, url, secret, body string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if secret == "" {
		r.Header.Set("Authorization", "Bearer "+wireToken)
	} else {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		r.Header.Set("X-Hub-Signature-256", fmt.Sprintf("sha256=%x", mac.Sum(nil)))
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// listens reports whether the address of a trigger accepts connections.
func listens(url string) bool {
	c, err := net.Dial("tcp", strings.Split(url, "/")[2])
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

// TestTriggersStdio checks that a stdio server listens while it has a trigger.
func TestTriggersStdio(t *testing.T) {
	var last trigger
	t.Cleanup(func() { // after the end of the server
		if last.url == "" || listens(last.url) {
			t.Errorf("after the end %s accepts connections", last.url)
		}
	})
	settings := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(settings, []byte(`{"permissions": {"allow": ["RemoteTrigger(create)"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w := stdioWith(t, t.TempDir(), "--settings", settings)
	w.exchange(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}`)
	id := 0
	call := func(tool, args string) string {
		t.Helper()
		id++ // the server may still hold the last one when its answer is here
		lines := w.exchange(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args))
		var answer struct {
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &answer); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, c := range answer.Result.Content {
			texts = append(texts, strings.TrimSpace(c.Text))
		}
		return times.ReplaceAllString(strings.Join(texts, "\n"), "")
	}
	ci := parseTrigger(t, call("RemoteTrigger", `{"action":"create","name":"ci"}`))
	if got := post(t, ci.url, ci.secret, "build 7\nfailed"); got != http.StatusAccepted {
		t.Errorf("a signed request has status %d", got)
	}
	for _, secret := range []string{"wrong", ""} {
		if got := post(t, ci.url, secret, "no"); got != http.StatusUnauthorized {
			t.Errorf("with the secret %q the status is %d", secret, got)
		}
	}
	want := "[there are no tasks: TaskCreate adds one]\n[1 event since the last answer" + fromOthers + "trigger ci:\n> build 7\n> failed"
	if got := call("TaskList", `{}`); got != want {
		t.Errorf("the event is\n%s, want\n%s", got, want)
	}
	if tryIt(t, ci) {
		want := "[there are no tasks: TaskCreate adds one]\n[1 event since the last answer" + fromOthers + "trigger ci:\n> {\"status\":\"ok\"}"
		if got := call("TaskList", `{}`); got != want {
			t.Errorf("the event of the command is\n%s, want\n%s", got, want)
		}
	}
	if got := call("RemoteTrigger", `{"action":"delete","name":"ci"}`); got != "Trigger ci deleted. It was the last one, and its port is closed." || listens(ci.url) {
		t.Errorf("deleting the last trigger: %s", got)
	}
	last = parseTrigger(t, call("RemoteTrigger", `{"action":"create","name":"last"}`))
	if !listens(last.url) {
		t.Error("a second port is not open")
	}
}

// tryIt runs the command of an answer. It returns false if that needs programs that are not
// installed.
func tryIt(t *testing.T, of trigger) bool {
	t.Helper()
	for _, name := range []string{"sh", "curl", "openssl", "cut"} {
		if _, err := exec.LookPath(name); err != nil {
			return false
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", of.command)
	cmd.Stderr = os.Stderr
	if out, err := cmd.Output(); err != nil || string(out) != "accepted\n" {
		t.Errorf("%s\nprints %q, %v", of.command, out, err)
	}
	return true
}

// TestTriggersHTTP checks the triggers of two sessions, of both eras of the protocol.
func TestTriggersHTTP(t *testing.T) {
	server := serveWith(t, t.TempDir())
	ann, eve := joinServer(t, server.url, "ann", false), joinServer(t, server.url, "eve", true)
	const create, noTasks = `{"action":"create","name":"ci"}`, "[there are no tasks: TaskCreate adds one]"
	first := parseTrigger(t, ann.call("RemoteTrigger", create))
	if want := strings.TrimSuffix(server.url, "mcp") + "events/ci"; first.url != want {
		t.Errorf("the address is %s, want %s", first.url, want)
	}
	eve.want("RemoteTrigger", create, "RemoteTrigger: failed: another session of this server has a trigger ci. Choose another name.")
	eve.want("RemoteTrigger", `{"action":"delete","name":"ci"}`, "RemoteTrigger: failed: this session has no trigger ci, and no other. Make one with action create.")
	second := parseTrigger(t, eve.call("RemoteTrigger", `{"action":"create","name":"b"}`))
	for _, c := range []struct {
		to     trigger
		secret string
		want   int
	}{
		{first, first.secret, http.StatusAccepted}, {second, second.secret, http.StatusAccepted}, {second, "", http.StatusAccepted},
		{first, second.secret, http.StatusUnauthorized}, {trigger{url: first.url + "x"}, first.secret, http.StatusUnauthorized},
	} {
		if got := post(t, c.to.url, c.secret, "hi"); got != c.want {
			t.Errorf("%s with %q: status %d, want %d", c.to.url, c.secret, got, c.want)
		}
	}
	ann.want("TaskList", `{}`, noTasks+"\n[1 event since the last answer"+fromOthers+"trigger ci:\n> hi")
	eve.want("TaskList", `{}`, noTasks+"\n[2 events since the last answer"+fromOthers+"trigger b:\n> hi\ntrigger b:\n> hi")
	tryIt(t, first)

	// The triggers of a session end with it, and its names are free again.
	ann.end()
	if got := post(t, first.url, first.secret, "hi"); got != http.StatusUnauthorized {
		t.Errorf("after the end of the session the status is %d", got)
	}
	parseTrigger(t, eve.call("RemoteTrigger", create))
	if got := eve.call("RemoteTrigger", `{"action":"list"}`); strings.Count(got, "\n") != 1 {
		t.Errorf("the list is %s", got)
	}
	eve.want("RemoteTrigger", `{"action":"delete","name":"ci"}`, "Trigger ci deleted.")
}
