package pipeline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/policy"
)

// TestProtectedLink checks that a link with a protected name is found in the
// file's folder and in the folders above it, up to the root.
func TestProtectedLink(t *testing.T) {
	b := newBench(t, `{}`)
	for _, dir := range []string{"g/refs", "sub/real", "sub/.husky", "config"} {
		if err := os.MkdirAll(filepath.Join(b.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		".git": "g", "sub/.vscode": "real", "sub/real/.npmrc": "../../config/npmrc", ".npmrc": "config/npmrc", ".idea": "nowhere", ".plain": "config",
		".envrc": ".envrc",
	} {
		if err := os.Symlink(to, filepath.Join(b.root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"g/config": ".git", "g/refs/new/deep": ".git", "g": ".git", "sub/real/settings.json": ".vscode", "config/npmrc": ".npmrc",
		"config/other": "", "sub/.husky/pre-commit": "", "sub/other": "", "nowhere": ".idea", "new/file": "",
	} {
		target := policy.Target{Canonical: filepath.Join(b.root, path), Access: policy.Edit}
		if got := protectedLinks([]string{b.root}, target)[target.Canonical]; got != want {
			t.Errorf("%s is behind %q, want %q", path, got, want)
		}
		if target.Access = policy.Read; protectedLinks([]string{b.root}, target) != nil {
			t.Errorf("reading %s is behind a link", path)
		}
	}
	if got := protectedLink([]string{b.root}, "/elsewhere/g"); got != "" {
		t.Errorf("outside of the roots it is %q", got)
	}
}

// TestBehindLink checks that a file behind such a link is not changed without
// asking.
func TestBehindLink(t *testing.T) {
	b := newBench(t, `{}`)
	if err := os.Mkdir(filepath.Join(b.root, "g"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("g", filepath.Join(b.root, ".git")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"g/config": "failed: Do: refused by policy: $ROOT/g/config is under the protected name .git, ", "other": "x",
	} {
		if got := b.run(t, t.Context(), "Do", `{"do":"say","arg":"x","path":"`+path+`"}`); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
