package pipeline

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// keys holds the content of a folder named .ssh.
type keys struct{}

func (keys) Secret(path string) (policy.Secret, bool) {
	above, _, found := strings.Cut(path, "/.ssh")
	return policy.Secret{Path: above + "/.ssh", Reason: "private keys", Known: true}, found
}

func (keys) Below(string) bool { return true }

// TestGrantedIsNoSecret checks that an approval of a folder outside of the
// roots does not open files with credentials below it. An approval of such a
// file or folder itself does.
func TestGrantedIsNoSecret(t *testing.T) {
	out := t.TempDir()
	b := newBench(t, asks)
	b.rules.Load().Policy = policy.New(policy.Config{Roots: []string{b.root}, Closed: []string{b.state}, Secrets: keys{}})
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

// later reports that every file holds credentials, once it is set.
type later struct{ set *atomic.Bool }

func (l later) Secret(path string) (policy.Secret, bool) {
	return policy.Secret{Path: path, Reason: "a token", Known: true}, l.set.Load()
}

func (l later) Below(string) bool { return true }

// TestSecretSinceDecision checks that an approval does not open a file that was found to hold
// credentials only after the decision, and that neither does a decision without a question.
func TestSecretSinceDecision(t *testing.T) {
	out := t.TempDir()
	b := newBench(t, asks)
	var set atomic.Bool
	b.rules.Load().Policy = policy.New(policy.Config{Roots: []string{b.root}, Closed: []string{b.state}, Secrets: later{&set}})
	registry, err := tools.NewRegistry([]*tools.Tool{doer("Put", func(d *tools.Def[doIn, doIn, doOut]) {
		call := d.Call
		d.Call = func(ctx context.Context, env *tools.Env, in doIn) (tools.Result[doOut], error) {
			set.Store(true)
			return call(ctx, env, in)
		}
	})}, tools.Gates{})
	if err != nil {
		t.Fatal(err)
	}
	b.Registry = registry
	yes := func(context.Context, Question) (Reply, error) { return Reply{Allow: true, How: Accepted}, nil }
	for _, dir := range []string{out, b.root} {
		set.Store(false)
		path := filepath.Join(dir, "file")
		args, err := json.Marshal(map[string]string{"do": "open", "arg": path, "path": path})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.ask(t, "Put", string(args), yes); !strings.Contains(got, "may hold credentials (a token)") {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// TestPreviewShowsNoSecret checks that a preview does not show the content of a
// file that may hold credentials, even if the user is asked about that file.
func TestPreviewShowsNoSecret(t *testing.T) {
	out := t.TempDir()
	b := newBench(t, asks)
	b.rules.Load().Policy = policy.New(policy.Config{Roots: []string{b.root}, Closed: []string{b.state}, Secrets: keys{}})
	registry, err := tools.NewRegistry([]*tools.Tool{doer("Put", func(d *tools.Def[doIn, doIn, doOut]) {
		d.Preview = func(_ context.Context, env *tools.Env, in doIn) tools.Preview {
			f, _, err := env.Files.Open(in.Path)
			if err != nil {
				return tools.Preview{Text: err.Error()}
			}
			f.Close()
			return tools.Preview{Text: "shown"}
		}
	})}, tools.Gates{})
	if err != nil {
		t.Fatal(err)
	}
	b.Registry = registry
	for name, want := range map[string]string{".ssh/key": "may hold credentials", "other": "shown"} {
		path := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		args, err := json.Marshal(map[string]string{"do": "open", "arg": path, "path": path})
		if err != nil {
			t.Fatal(err)
		}
		var got string
		answer := b.ask(t, "Put", string(args), func(_ context.Context, q Question) (Reply, error) {
			got = q.Preview.Text
			return Reply{Allow: true, How: Accepted}, nil
		})
		if !strings.Contains(got, want) || strings.Contains(answer, "refused") {
			t.Errorf("%s: %s, then %s", name, got, answer)
		}
	}
}
