package pipeline

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/policy"
)

// keys holds what is in a folder called .ssh.
type keys struct{}

func (keys) Secret(path string) (policy.Secret, bool) {
	above, _, found := strings.Cut(path, "/.ssh")
	return policy.Secret{Path: above + "/.ssh", Why: "private keys", Known: true}, found
}

func (keys) Below(string) bool { return true }

// TestGrantedIsNoSecret: an approval of a folder outside of the roots does not
// open the files with credentials below it, one of such a file or folder does.
func TestGrantedIsNoSecret(t *testing.T) {
	out := t.TempDir()
	b := newBench(t, asks)
	b.Policy = policy.New(policy.Config{Roots: []string{b.root}, Closed: []string{b.state}, Secrets: keys{}})
	yes := func(context.Context, Question) (Reply, error) { return Reply{Allow: true, How: Accepted}, nil }
	for _, c := range []struct{ path, file, want string }{
		{out, ".ssh/key", "may hold credentials"},
		{out, "other", "no such file"},
		{filepath.Join(out, ".ssh"), "key", "no such file"},
		{filepath.Join(b.root, ".ssh"), "key", "no such file"},
		{b.root, ".ssh/key", "may hold credentials"},
	} {
		args, err := json.Marshal(map[string]string{"do": "open", "arg": filepath.Join(c.path, c.file), "path": c.path})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.ask(t, "Do", string(args), yes); !strings.Contains(got, c.want) {
			t.Errorf("%s of %s: %s", c.file, c.path, got)
		}
	}
}
