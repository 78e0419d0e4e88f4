package pipeline

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// holder is the Private of commands that the kernel contains or not, which may read nothing.
type holder struct{ contained bool }

func (holder) Real(path string, _ bool) string          { return path }
func (holder) Owns(string) bool                         { return false }
func (holder) Own(string) bool                          { return false }
func (holder) Layered(path string) (at string, ok bool) { return path, false }
func (holder) LayerFolders() []string                   { return nil }
func (holder) Reads(string, bool, bool) bool            { return false }
func (h holder) Contained() bool                        { return h.contained }
func (holder) Shown(text string) string                 { return text }

// absentKeys takes files named key for credentials.
type absentKeys struct{}

func (absentKeys) Secret(path string) (policy.Secret, bool) {
	return policy.Secret{Reason: "a key", Known: true}, filepath.Base(path) == "key"
}
func (absentKeys) Below(string) bool { return true }

// TestAbsent checks that nothing is asked about files that are not there, if a command only fails
// because of that.
func TestAbsent(t *testing.T) {
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(out, "gone"), filepath.Join(out, "dangling")); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, "{}")
	if err := os.Symlink(filepath.Join(out, "gone"), filepath.Join(b.root, "dangling")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.root, "here"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var paths []tools.NamedPath
	destroys := false
	bash := doer("Bash", func(d *tools.Def[doIn, doIn, doOut]) {
		d.Path = nil
		d.Parts = func(*tools.Env, doIn) *tools.Parts {
			part := policy.Part{Text: "x", Name: "x", Destroys: destroys}
			if destroys {
				part.Risk = "it destroys"
			}
			return &tools.Parts{Text: "x", List: []policy.Part{part}, Paths: paths}
		}
	})
	r, err := tools.NewRegistry([]*tools.Tool{bash}, tools.Gates{})
	if err != nil {
		t.Fatal(err)
	}
	b.Registry = r
	b.rules.Load().Policy = policy.New(policy.Config{Roots: b.Roots.Paths(), Secrets: absentKeys{}})
	in := func(dir, name string) string { return filepath.Join(dir, name) }
	for _, test := range []struct {
		name            string
		path            tools.NamedPath
		more            string // a path that the call also changes
		destroys        bool
		contained, free policy.Behavior
	}{
		{"reads a file", tools.NamedPath{Path: in(out, "there")}, "", false, policy.Ask, policy.Ask},
		{"reads what is not there", tools.NamedPath{Path: in(out, "gone/x")}, "", false, policy.Allow, policy.Allow},
		{"may make it", tools.NamedPath{Path: in(out, "gone"), Uncertain: true}, "", false, policy.Ask, policy.Ask},
		{"makes it", tools.NamedPath{Path: in(out, "gone"), Access: policy.Edit}, "", false, policy.Ask, policy.Ask},
		{"a link that may get a target", tools.NamedPath{Path: in(b.root, "dangling")}, "", false, policy.Ask, policy.Ask},
		{"a link outside", tools.NamedPath{Path: in(out, "dangling")}, "", false, policy.Allow, policy.Allow},
		{"a key that is not there", tools.NamedPath{Path: in(out, "key")}, "", false, policy.Allow, policy.Ask},
		{"a key of the project that is not there", tools.NamedPath{Path: in(b.root, "key")}, "", false, policy.Allow, policy.Ask},
		{"makes a key", tools.NamedPath{Path: in(b.root, "key"), Access: policy.Edit}, "", false, policy.Ask, policy.Ask},
		{"writes where it cannot go", tools.NamedPath{Path: in(out, "gone/x"), Dir: in(out, "gone"), Access: policy.Edit}, "", false, policy.Allow, policy.Ask},
		{"writes where it goes", tools.NamedPath{Path: in(out, "x"), Dir: out, Access: policy.Edit}, "", false, policy.Ask, policy.Ask},
		{"makes the folder first", tools.NamedPath{Path: in(out, "gone/x"), Dir: in(out, "gone"), Access: policy.Edit}, in(out, "gone"), false, policy.Ask, policy.Ask},
		{"removes a file", tools.NamedPath{Path: in(b.root, "here"), Access: policy.Edit}, "", true, policy.Ask, policy.Ask},
		{"removes what is not there", tools.NamedPath{Path: in(b.root, "gone"), Access: policy.Edit}, "", true, policy.Allow, policy.Allow},
		{"moves a file to what it removes", tools.NamedPath{Path: in(b.root, "gone"), Access: policy.Edit}, in(b.root, "here"), true, policy.Ask, policy.Ask},
	} {
		paths, destroys = []tools.NamedPath{test.path}, test.destroys
		if test.more != "" {
			paths = append(paths, tools.NamedPath{Path: test.more, Access: policy.Edit})
		}
		for contained, want := range map[bool]policy.Behavior{true: test.contained, false: test.free} {
			b.Private = func(session.View) Private { return holder{contained} }
			if e := b.Explain(context.Background(), b.requestIn("Bash", `{"do":"x"}`)); e.Decision.Behavior != want {
				t.Errorf("%s, contained %v: %s, %s", test.name, contained, e.Decision.Behavior, strings.ReplaceAll(e.Decision.Reason, out, "OUT"))
			}
		}
	}
}
