package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/settings"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// TestDenied checks the paths to hide or protect from commands, for each form
// of a rule.
func TestDenied(t *testing.T) {
	root, home, far := t.TempDir(), t.TempDir(), t.TempDir()
	for _, name := range []string{
		root + "/.env", root + "/sub/.env", root + "/sub/a.pem", root + "/keys/a", root + "/keys/deep/b", root + "/plain",
		home + "/priv/x.key", home + "/priv/y.txt", home + "/other/x.key", far + "/data/z.key", root + "/shut/.env",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(root+"/plain", root+"/link.pem"); err != nil {
		t.Fatal(err)
	}
	roots, err := workspace.OpenRoots([]string{root})
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	look := func(t *testing.T, ctx context.Context, rule string) ([]string, error) {
		list, rule, listed := strings.Cut(rule, " ")
		if !listed || strings.HasPrefix(list, "Bash") {
			list, rule = "deny", strings.TrimSpace(list+" "+rule)
		}
		set, err := settings.Parse([]byte(`{"permissions":{"`+list+`":["`+rule+`"]}}`), root+"/settings.json", root)
		if err != nil {
			t.Fatal(err)
		}
		p := New(Config{Roots: roots, Home: home, Rules: Rules{Policy: policy.New(policy.Config{Rules: set.Rules(), AddTo: set.Source(), Roots: roots.Paths(), Home: home})}})
		kept, err := p.restrictedPaths(ctx, p.rules.Load(), p.rules.Load().Policy.HidingRules(root, false), []string{root}, nil)
		found := kept.Hidden
		for _, path := range kept.Unchanged {
			found = append(found, "as it is: "+path)
		}
		for i, path := range found {
			found[i] = strings.NewReplacer(root, "$ROOT", home, "~", far, "$FAR").Replace(path)
		}
		slices.Sort(found)
		return slices.Compact(found), err
	}
	for rule, want := range map[string][]string{
		"Read(.env)":                    {"$ROOT/.env", "$ROOT/shut/.env", "$ROOT/sub/.env"},
		"Read(**/*.pem)":                {"$ROOT/sub/a.pem"},
		"Read(keys/**)":                 {"$ROOT/keys"},
		"Read(/keys)":                   {"$ROOT/keys"},
		"Read(~/priv/*.key)":            {"~/priv/x.key"},
		"Read(~/priv/x.key)":            {"~/priv/x.key"},
		"Read(~/none/x.key)":            {"~/none/x.key"}, // it may be made
		"Read(/" + far + "/data/*.key)": {"$FAR/data/z.key"},
		"Read":                          nil,
		"Edit(keys/**)":                 {"as it is: $ROOT/keys"},
		"Edit(sub/a.pem)":               {"as it is: $ROOT/sub/a.pem"},
		"Edit(none)":                    nil,
		"ask Read(keys/**)":             {"$ROOT/keys"},
		"ask Edit(keys/**)":             {"as it is: $ROOT/keys"},
		"allow Read(keys/**)":           nil,
		"Bash(cat *)":                   nil,
	} {
		got, err := look(t, t.Context(), rule)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", rule, got, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := look(t, ctx, "Read(.env)"); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if os.Getuid() == 0 {
		return // root looks into everything
	}
	if err := os.Chmod(root+"/shut", 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(root+"/shut", 0o755)
	if got, _ := look(t, t.Context(), "Read(.env)"); !slices.Contains(got, "$ROOT/shut") {
		t.Errorf("a folder that cannot be looked into: %q", got)
	}
}

// TestDeniedNames checks that a command may not create protected names, except
// those that an allow rule or a grant names.
func TestDeniedNames(t *testing.T) {
	root := t.TempDir()
	roots, err := workspace.OpenRoots([]string{root})
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	set, err := settings.Parse([]byte(`{"permissions":{"allow":["Edit(.vscode/**)"]}}`), root+"/settings.json", root)
	if err != nil {
		t.Fatal(err)
	}
	p := New(Config{Roots: roots, Rules: Rules{Policy: policy.New(policy.Config{Rules: set.Rules(), AddTo: set.Source(), Roots: roots.Paths()})}})
	kept, err := p.restrictedPaths(t.Context(), p.rules.Load(), p.rules.Load().Policy.HidingRules(root, false), []string{root}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{".cursor": true, ".cargo/config.toml": true, ".vscode": false, ".git": false} {
		if slices.Contains(kept.Names, name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	grants := []tools.Grant{{Path: root + "/.cursor/mcp.json", Access: policy.Edit}, {Path: root + "/.envrc"}}
	kept, err = p.restrictedPaths(t.Context(), p.rules.Load(), p.rules.Load().Policy.HidingRules(root, true), []string{root}, grants)
	if err != nil || slices.Contains(kept.Names, ".cursor") || !slices.Contains(kept.Names, ".envrc") {
		t.Errorf("changes of .cursor are granted: %q, %v", kept.Names, err)
	}
}

// TestChanging checks that Config.Changing is called before an allowed call
// changes a file, and for no other call.
func TestChanging(t *testing.T) {
	b := newBench(t, `{"permissions":{"allow":["Edit(.vscode/**)"]}}`)
	var told []string
	b.Changing = func(path string) { told = append(told, strings.TrimPrefix(path, b.root+"/")) }
	for _, path := range []string{".vscode/settings.json", ".cursor/mcp.json", "other"} {
		b.run(t, t.Context(), "Do", `{"do":"say","arg":"x","path":"`+path+`"}`)
	}
	b.run(t, t.Context(), "Do", `{"do":"say","arg":"x"}`)
	if want := []string{".vscode/settings.json", "other"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
