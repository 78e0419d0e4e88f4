package clients

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcp-toolset/clients/edit"
)

// install installs with fixed arguments.
func install(t *testing.T, p Place, dry bool) (*Change, error) {
	return p.Install(t.Context(), "toolset", Entry{Command: []string{"/bin/mcp-toolset", "stdio"}}, dry)
}

// names returns the names in a folder.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// A file that cannot be changed safely stays as it is, and nothing is left beside it.
func TestRefused(t *testing.T) {
	for _, tc := range []struct{ client, text, want string }{
		{"cursor", "{\n  \"mcpServers\": {\n    \"a\": {}\n    \"b\": {}\n}", "line 4, column 5: invalid character '\"' after object value (expecting ',' or '}')"},
		{"zed", "{\"context_servers\": {}, \"context_servers\": {}}", "line 1, column 25: the key \"context_servers\" is there twice"},
		{"vscode", "{\"servers\": null}", "line 1, column 13: servers is not an object"},
		{"codex", "mcp_servers = {}", "line 1, column 1: mcp_servers is written as an inline table"},
		{"codex", "[mcp_servers\n", "line 1, column 13: expected ']' to close table name"},
		{"goose", "extensions: [a]\n", "line 1, column 1: extensions is not a table with a key on each line"},
		{"goose", "a: 1\n\tb: 2\n", "line 2, column 1: found a tab character that violates indentation"},
		{"cursor", "{\"mcpServers\": {\"toolset\": {\"command\": \"npx\", \"args\": [\"other\"]}}}", ErrOther.Error()},
		{"cursor", "{\"mcpServers\": {\"toolset\": {\"url\": \"http://127.0.0.1:1/mcp\"}}}", ErrOther.Error()},
	} {
		p := system(t, "linux", nil).User(Find(tc.client))
		write(t, p.Path, tc.text)
		for _, dry := range []bool{true, false} {
			_, err := install(t, p, dry)
			var refusal *Refusal
			if !errors.As(err, &refusal) || err.Error() != p.Path+": "+tc.want {
				t.Errorf("%s: %q: %v, want %s", tc.client, tc.text, err, tc.want)
			}
		}
		if _, err := p.Uninstall(t.Context(), "toolset", "", false); err == nil && !slices.Contains([]string{"vscode", "codex", "goose"}, tc.client) {
			t.Errorf("%s: %q: uninstalled", tc.client, tc.text)
		}
		if got := names(t, filepath.Dir(p.Path)); content(t, p.Path) != tc.text || len(got) != 1 {
			t.Errorf("%s: %q became %q, beside %q", tc.client, tc.text, content(t, p.Path), got)
		}
	}
}

// A folder, a write-protected file, and a file that is too large are refused.
func TestOddFiles(t *testing.T) {
	p := system(t, "linux", nil).User(Find("cursor"))
	if err := os.MkdirAll(p.Path, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		want := map[bool]string{true: "it is not a regular file", false: "it is a directory, not a regular file"}[dry]
		if _, err := install(t, p, dry); err == nil || err.Error() != p.Path+": "+want {
			t.Errorf("a folder, dry %v: %v, want %s", dry, err, want)
		}
	}
	if err := os.Remove(p.Path); err != nil {
		t.Fatal(err)
	}
	write(t, p.Path, "{}")
	if err := os.Chmod(p.Path, 0o444); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		_, err := install(t, p, dry)
		if want := p.Path + ": file is write-protected: permission denied"; err == nil || err.Error() != want && runtime.GOOS != "windows" {
			t.Errorf("a write-protected file, dry %v: %v, want %s", dry, err, want)
		}
	}
	if content(t, p.Path) != "{}" || len(names(t, filepath.Dir(p.Path))) != 1 {
		t.Error("it was changed")
	}
	if err := os.Chmod(p.Path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(p.Path, maxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := install(t, p, false); err == nil || !strings.HasSuffix(err.Error(), ": it is larger than 64 MiB") {
		t.Errorf("a large file: %v", err)
	}
}

// A link stays, and the file that it leads to has the entry and its mode.
func TestLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	s := system(t, "linux", nil)
	p := s.User(Find("cursor"))
	target := filepath.Join(s.Home, "dotfiles", "mcp.json")
	write(t, target, "{}\n")
	if err := os.Chmod(target, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Dir(p.Path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../dotfiles/mcp.json", p.Path); err != nil {
		t.Fatal(err)
	}
	change, err := install(t, p, false)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(change.Backup) != filepath.Dir(p.Path) {
		t.Errorf("the backup is %s", change.Backup)
	}
	if to, err := os.Readlink(p.Path); err != nil || to != "../dotfiles/mcp.json" {
		t.Errorf("the link leads to %s, %v", to, err)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o640 || !strings.Contains(content(t, target), "toolset") {
		t.Errorf("the target: %v, %v\n%s", info, err, content(t, target))
	}
	if _, err := p.Uninstall(t.Context(), "toolset", "", false); err != nil || content(t, target) != "{}\n" {
		t.Errorf("uninstalled: %v\n%s", err, content(t, target))
	}
}

// A change of another program between reading and writing is not lost: the edit is made again, with
// one backup, of the new content.
func TestChangedMeanwhile(t *testing.T) {
	p := system(t, "linux", nil).User(Find("claude-code"))
	write(t, p.Path, "{\"numStartups\": 1}")
	tries := 0
	change, err := p.change(context.Background(), false, func(c *Change) (bool, error) {
		if tries++; tries <= 2 {
			write(t, p.Path, "{\"numStartups\": "+strings.Repeat("2", tries)+"}")
		}
		var err error
		c.After, err = edit.JSON.Set(c.Before, []string{"mcpServers", "toolset"}, p.Client.entry("toolset", Entry{Command: []string{"mcp-toolset"}}))
		return true, err
	})
	if err != nil || tries != 3 || !strings.HasPrefix(content(t, p.Path), "{\"numStartups\": 22, \"mcpServers\"") {
		t.Errorf("%d tries: %v\n%s", tries, err, content(t, p.Path))
	}
	if left := p.backups(); len(left) != 1 || left[0] != change.Backup || content(t, left[0]) != "{\"numStartups\": 22}" {
		t.Errorf("backups: %q", left)
	}
}

// A backup of a change that is not made is removed.
func TestCancelled(t *testing.T) {
	p := system(t, "linux", nil).User(Find("cursor"))
	write(t, p.Path, "{}")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := p.change(ctx, false, func(c *Change) (bool, error) {
		cancel()
		c.After = []byte("{ }")
		return true, nil
	})
	if got := names(t, filepath.Dir(p.Path)); !errors.Is(err, context.Canceled) || content(t, p.Path) != "{}" || len(got) != 1 {
		t.Errorf("%v; %s; %q", err, content(t, p.Path), got)
	}
}

// A dry run changes nothing.
func TestDry(t *testing.T) {
	p := system(t, "linux", nil).User(Find("codex"))
	change, err := install(t, p, true)
	if err != nil || change.Before != nil || content(t, p.Path) != "none" || string(change.After) != p.Snippet("toolset", Entry{Command: []string{"/bin/mcp-toolset", "stdio"}}) {
		t.Errorf("%+v, %v", change, err)
	}
}
