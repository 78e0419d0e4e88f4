package pipeline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/session"
)

// TestPlaced checks that answers that depend on where the session is say so after a move, unless no
// other agent can have made it.
func TestPlaced(t *testing.T) {
	for _, c := range []struct {
		client, args, want string
		worktree           bool
	}{
		{"", `{"file_path":"a.txt"}`, "[the working directory is sub]", false},
		{"", `{"file_path":"none.txt"}`, "[the working directory is sub]", false},
		{"claude-code", `{"file_path":"a.txt"}`, "[the working directory is sub]", false},
		{"codex-mcp-client", `{"file_path":"a.txt"}`, "", false},
		{"claude-code", `{"file_path":"$ROOT/a.txt"}`, "", false},
		{"claude-code", `{"file_path":"a.txt"}`, "[in the worktree $ROOT/sub]", true},
	} {
		b := newBench(t, "")
		b.session.SetClient(c.client)
		sub := filepath.Join(b.root, "sub")
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{b.root, sub} {
			if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args := strings.ReplaceAll(c.args, "$ROOT", b.root)
		if got := b.run(t, t.Context(), "Read", args); strings.Contains(got, "[the working") {
			t.Errorf("%+v at the start: %s", c, got)
		}
		if c.worktree {
			b.session.Apply(session.Effect{Move: &session.Move{To: &session.Worktree{Folder: sub, Main: b.root}, Roots: []string{sub}, Dir: sub}})
		} else {
			b.session.Apply(session.Effect{Dir: sub})
		}
		got := b.run(t, t.Context(), "Read", args)
		if c.want == "" && strings.Contains(got, "[the working") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestPlacedAfter checks that the answer of a call that moves the session says where it is then.
func TestPlacedAfter(t *testing.T) {
	b := newBench(t, "")
	for _, c := range []struct{ dir, want string }{{"sub", "[the working directory is sub]"}, {"..", ""}} {
		got := b.run(t, t.Context(), "Do", `{"do":"cd","arg":"`+c.dir+`"}`)
		if c.want == "" && strings.Contains(got, "[the working") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestPlace checks how the place of a session is described.
func TestPlace(t *testing.T) {
	w := &session.Worktree{Folder: "/trees/x", Main: "/w"}
	for want, v := range map[string]session.View{
		"":                               {Roots: []string{"/w", "/v"}, Dir: "/w"},
		"the working directory is sub/b": {Roots: []string{"/w"}, Dir: "/w/sub/b"},
		"the working directory is /v":    {Roots: []string{"/w", "/v"}, Dir: "/v"},
		"in the worktree /trees/x":       {Roots: []string{"/trees/x"}, Dir: "/trees/x", Worktree: w},
		"the working directory is sub of the worktree /trees/x": {Roots: []string{"/trees/x"}, Dir: "/trees/x/sub", Worktree: w},
	} {
		if got := v.Place(); got != filepath.FromSlash(want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
