package policy

import (
	"slices"
	"strings"
	"testing"
)

// TestProtected checks that the user is asked about changes of protected names in
// every place and spelling, and that similar names are not protected.
func TestProtected(t *testing.T) {
	p := New(Config{Roots: []string{"/ws"}})
	for path, want := range map[string]Behavior{
		"/ws/.cursor/mcp.json": Ask, "/ws/sub/.cursor": Ask, "/ws/.CURSOR/x": Ask, "/ws/.cur\u017for/x": Ask, "/ws/.devcontainer/devcontainer.json": Ask,
		"/ws/.cargo/config": Ask, "/ws/.cargo/config.toml": Ask, "/ws/a/.Cargo/Config.toml": Ask, "/ws/.jj/repo/config.toml": Ask, "/ws/.hg/hgrc": Ask,
		"/ws/opencode.json": Ask, "/ws/.yarnrc.yml": Ask, "/ws/.pnpmfile.cjs": Ask, "/ws/.gitattributes": Ask, "/ws/.gdbinit": Ask,
		"/ws/.github/hooks/x.json": Ask, "/ws/.clinerules/hooks/PreToolUse": Ask, "/ws/.config/mise/config.toml": Ask, "/ws/a/.config/mise.toml": Ask, "/ws/mise.local.toml": Ask,
		"/ws/.amp/settings.json": Ask, "/ws/.rovodev/mcp.json": Ask, "/ws/.lvimrc": Ask, "/ws/.autoenv": Ask, "/ws/.shadowenv.d/x.lisp": Ask, "/ws/.yarn/releases/yarn.cjs": Ask, "/ws/.yarn/plugins/x.cjs": Ask,
		"/ws/.github/workflows/x.yml": Allow, "/ws/.clinerules/a.md": Allow, "/ws/.yarn/cache/x.zip": Allow, "/ws/.config/x": Allow,
		"/ws/.cargo/registry": Allow, "/ws/config.toml": Allow, "/ws/config": Allow, "/ws/hgrc": Allow, "/ws/.jj/config.toml": Allow, "/ws/.cargo/x/config": Allow,
		"/ws/.git/index.lock": Allow, "/ws/.GIT/refs/heads/main.lock": Allow, "/ws/.git": Ask, "/ws/.git/lock": Ask, "/ws/a.lock/.git/config": Ask, "/ws/.git/a.lock/config": Ask, "/ws/.git/a.lock/.vscode": Ask, "/ws/.vscode/a.lock": Ask,
		"/ws/node_modules/a/.idea/x.xml": Allow, "/ws/sub/node_modules/.vscode": Allow, "/ws/node_modules/a/.git/config": Ask, "/ws/node_modules/a/.npmrc": Ask, "/ws/.idea/node_modules": Ask, "/ws/x_node_modules/.idea": Ask, "/ws/node_modules/a/.claude/skills": Ask,
		"/ws/Makefile": Allow, "/ws/package.json": Allow, "/ws/AGENTS.md": Allow, "/ws/.pre-commit-config.yaml": Allow, "/ws/.cursorx": Allow,
	} {
		if d := p.CheckPath("Write", nil, Target{Literal: path, Canonical: path, Access: Edit}, "/ws", nil); d.Behavior != want {
			t.Errorf("%s: %v, want %v", path, d.Behavior, want)
		}
	}
}

// TestProtectedByRule checks that an allow rule opens the protected names it contains.
func TestProtectedByRule(t *testing.T) {
	for rule, want := range map[string]struct {
		write  Behavior // decision on writing /ws/.cargo/config.toml
		opened []string
	}{
		"Edit(.cargo/config.toml)":    {Allow, []string{".cargo/config.toml"}},
		"Edit(**/.cargo/config.toml)": {Allow, []string{".cargo/config.toml"}},
		"Edit(.cargo/**)":             {Ask, nil},
		"Edit(**)":                    {Ask, nil},
		"Edit(.vscode/settings.json)": {Ask, []string{".vscode"}},
		"Read(.vscode/**)":            {Ask, nil},
	} {
		p := New(Config{Rules: fileRules("/cfg/settings.json", "", entry{"allow", rule}), Roots: []string{"/ws"}})
		const path = "/ws/.cargo/config.toml"
		if d := p.CheckPath("Write", nil, Target{Literal: path, Canonical: path, Access: Edit}, "/ws", nil); d.Behavior != want.write {
			t.Errorf("%s: %v, want %v", rule, d.Behavior, want.write)
		}
		opened := slices.DeleteFunc(Protected(), func(name string) bool { return slices.Contains(p.Unopened(), name) })
		if !slices.Equal(opened, want.opened) {
			t.Errorf("%s opens %q, want %q", rule, opened, want.opened)
		}
	}
}

// TestProtectedNames checks what lookups in protectedParts depend on. The last
// component of a protected name suffices to look it up. Any letter with three forms
// other than k and s would need a line in folded.
func TestProtectedNames(t *testing.T) {
	for _, name := range protectedNames {
		if got := protected(strings.Split(strings.ToUpper(name), "/")); !strings.EqualFold(got, name) {
			t.Errorf("%s is found as %q", name, got)
		}
		for _, c := range name {
			if c > 127 {
				t.Errorf("%s is not ASCII", name)
			}
		}
	}
}

// ofGit names files that the configuration of git makes it run.
type ofGit []string

func (g ofGit) Program(path, root string) string {
	for _, at := range g {
		if path == at || strings.HasPrefix(path, at+"/") {
			return at
		}
	}
	return ""
}

func (g ofGit) Below(root string) []string { return g }

// TestPrograms checks that the user is asked about changes of what git runs, unless a rule
// contains its name.
func TestPrograms(t *testing.T) {
	for rule, want := range map[string]Behavior{"": Ask, "Edit(**)": Ask, "Edit(tools/**)": Ask, "Edit(tools/hooks/**)": Allow, "Edit(**/hooks/pre-commit)": Allow, "Read(tools/hooks/**)": Ask} {
		c := Config{Roots: []string{"/ws"}, Programs: ofGit{"/ws/tools/hooks", "/ws/cfg/shared"}}
		if rule != "" {
			c.Rules = fileRules("/cfg/settings.json", "", entry{"allow", rule})
		}
		p := New(c)
		for path, want := range map[string]Behavior{"/ws/tools/hooks/pre-commit": want, "/ws/tools/free": Allow, "/ws/cfg/shared": Ask, "/ws/cfg/shared2": Allow} {
			if d := p.CheckPath("Write", nil, Target{Literal: path, Canonical: path, Access: Edit}, "/ws", nil); d.Behavior != want {
				t.Errorf("%s: %s: %v, want %v", rule, path, d.Behavior, want)
			}
			if d := p.CheckPath("Read", nil, Target{Literal: path, Canonical: path, Access: Read}, "/ws", nil); d.Behavior != Allow {
				t.Errorf("%s: reading %s: %v", rule, path, d.Behavior)
			}
		}
	}
}
