package trigger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/event"
	triggers "mcp-toolset/internal/event/trigger"
	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

func newRegistry(t *testing.T) *triggers.Registry {
	state := t.TempDir()
	return triggers.New(state, filelock.New(filepath.Join(state, "locks")), event.New())
}

func TestCases(t *testing.T) {
	secret := regexp.MustCompile(`[A-Z2-7]{26}`)
	toolstest.RunSeveral(t, func(*toolstest.Workspace) []*tools.Tool {
		r := newRegistry(t)
		r.ServedAt("http://127.0.0.1:8808")
		return []*tools.Tool{New(Options{r})}
	}, "testdata", func(text string) string { return secret.ReplaceAllString(text, "SECRET") })
}

// TestList checks the lines about triggers that had requests.
func TestList(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		r.ServedAt("https://h")
		tool := New(Options{r})
		call := func(args string) string {
			t.Helper()
			resp, err := w.Call(t.Context(), tool, args)
			if err != nil {
				t.Fatal(err)
			}
			return toolstest.Text(resp)
		}
		secrets := map[string]string{}
		for _, name := range []string{"b", "a"} {
			secrets[name] = regexp.MustCompile(`[A-Z2-7]{26}`).FindString(call(`{"action": "create", "name": "` + name + `"}`))
		}
		for _, name := range []string{"b", "a", "a"} {
			mac := hmac.New(sha256.New, []byte(secrets[name]))
			mac.Write([]byte("x"))
			req := httptest.NewRequest("POST", triggers.Path+name, strings.NewReader("x"))
			req.Header.Set(triggers.Header, fmt.Sprintf("sha256=%x", mac.Sum(nil)))
			r.Serve(httptest.NewRecorder(), req, "")
			time.Sleep(1500 * time.Millisecond)
		}
		if got, want := call(`{"action": "list"}`), "a: POST https://h/events/a, 2 requests, the last 1 s ago\nb: POST https://h/events/b, 1 request, 4 s ago"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// TestCheck checks which calls ask, and what the user sees.
func TestCheck(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	r := newRegistry(t)
	tool := New(Options{r})
	for _, tc := range []struct {
		args, shown, asked string
		readOnly           bool
	}{
		{`{"action": "create", "name": "ci"}`, "Let other programs send events to this session: POST http://127.0.0.1:PORT/events/ci with a free port", "other programs could then send text to this session, by POST http://127.0.0.1:PORT/events/ci with a free port", false},
		{`{"action": "create", "name": "ci", "durable": true}`, "Let other programs send events to this session and later ones with its token and first folder: POST https://h/events/ci", "other programs could then send text to this session and later ones with its token and first folder, by POST https://h/events/ci", false},
		{`{"action": "delete", "name": "ci"}`, "Delete the trigger ci", "", false},
		{`{"action": "list"}`, "List the triggers of this session", "", true},
	} {
		if strings.Contains(tc.args, "durable") {
			r.ServedAt("https://h")
		}
		c, err := tool.Parse(json.RawMessage(tc.args))
		if err != nil {
			t.Fatal(err)
		}
		p := toolstest.Prepare(t, c, w.Env())
		asked := ""
		if d := p.Check(w.Env()); d != nil && d.Behavior == policy.Ask {
			asked = d.Reason
		}
		if p.Summary != tc.shown || asked != tc.asked || p.Facts.ReadOnly != tc.readOnly {
			t.Errorf("%s: %q, asks %q, only reads: %v", tc.args, p.Summary, asked, p.Facts.ReadOnly)
		}
	}
}
