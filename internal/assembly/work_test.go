package assembly

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// TestLists checks that the list of work of a session ends with it, and that a shared one
// does not.
func TestLists(t *testing.T) {
	for shared, want := range map[string]string{"": "[there are no tasks: TaskCreate adds one]", "team": "1 [pending] a"} {
		home, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
		p := NewPlan(Options{
			Environment: Environment{Home: home, Dir: home, Environ: os.Environ, Getenv: func(name string) string {
				if name == "MCP_TOOLSET_STATE_DIR" {
					return state
				}
				return ""
			}},
			Log: slog.New(slog.DiscardHandler), Roots: []string{t.TempDir()}, Sandbox: command.Off, Untried: true, TaskList: shared,
		})
		if err := p.Prepare(); err != nil {
			t.Fatal(err)
		}
		a, err := p.Build(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
		s := session.New(session.Config{ID: "1"}).View()
		call := func(name, args string) string {
			t.Helper()
			tool := p.Tools[slices.IndexFunc(p.Tools, func(t *tools.Tool) bool { return t.Name == name })]
			c, err := tool.Parse(json.RawMessage(args))
			if err != nil {
				t.Fatal(err)
			}
			env := &tools.Env{Session: s}
			prepared, err := c.Prepare(env)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := prepared.Run(t.Context(), env)
			if err != nil {
				t.Fatal(err)
			}
			return resp.Content[0].(tools.Text).Text
		}
		call("TaskCreate", `{"subject": "a", "description": ""}`)
		p.Gone(s)
		if got := call("TaskList", "{}"); got != want {
			t.Errorf("with the shared list %q, TaskList shows %s", shared, got)
		}
	}
}
