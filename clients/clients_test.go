package clients

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/clients/edit"
)

// system returns a system whose home folder is new, without programs and variables.
func system(t *testing.T, os_ string, vars map[string]string) System {
	return System{
		OS: os_, Home: t.TempDir(), Getenv: func(name string) string { return vars[name] },
		Look:   func(string) bool { return false },
		Exists: func(path string) bool { _, err := os.Stat(path); return err == nil },
		Glob:   func(pattern string) []string { names, _ := filepath.Glob(pattern); return names },
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// content returns the text of a file, or "none".
func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "none"
	} else if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// samples returns files that a client may have, by a word for the special case.
func samples(c *Client) map[string]string {
	list := map[string]string{"none": "none", "empty": ""}
	add := func(name, text string) {
		list[name] = text
		list[name+", CRLF and BOM"] = "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")
	}
	switch c.Format {
	case edit.TOML:
		add("comments", "# Codex\nmodel = \"gpt\" # the default\n\n[projects.\"/src\"]\ntrust_level = \"trusted\"\n")
		add("other servers", "[mcp_servers.docs]\ncommand = \"npx\"\nargs = [\n  \"-y\", # yes\n  \"docs\",\n]\n\n[mcp_servers.docs.env]\nTOKEN = \"t\"\n")
		add("tabs", "[tui]\n\ttheme = \"dark\"")
	case edit.YAML:
		add("comments", "# Goose\nGOOSE_PROVIDER: anthropic # the best\nextensions:\n  # built in\n  developer:\n    enabled: true\n    name: developer\n    timeout: 300\n    type: builtin\nGOOSE_MODE: auto\n")
		add("other servers", "extensions:\n  docs:\n    cmd: npx\n    args:\n    - -y\n    - docs\n    envs: {}\n    type: stdio\n")
		add("no table", "GOOSE_MODEL: m")
	default:
		add("comments", "// Settings of "+c.Title+"\n{\n  \"theme\": \"dark\", // at night\n  /* none yet */\n  \""+c.Table+"\": {\n  },\n}\n")
		add("other servers", "{\n    \"numStartups\": 12,\n    \""+c.Table+"\": {\n        \"docs\": {\n            \"command\": \"npx\",\n            \"args\": [\"-y\", \"docs\"],\n            \"env\": {\"TOKEN\": \"t\"}\n        }\n    },\n    \"big\": 12345678901234567890\n}")
		add("tabs", "{\n\t\"a\": [\n\t\t1\n\t]\n}\n")
		add("one line", "{\""+c.Table+"\":{\"docs\":{\"command\":\"npx\"}},\"x\":1}")
		add("nothing", "{}")
	}
	return list
}

// A server that is installed twice and uninstalled leaves every client's file as it was, without
// other files.
func TestInstall(t *testing.T) {
	const command = "/opt/mcp toolset/bin/mcp-toolset"
	for i := range List {
		c := &List[i]
		p := system(t, "linux", nil).User(c)
		if p.Found {
			t.Errorf("%s: found in an empty home folder", c.Name)
		}
		for name, before := range samples(c) {
			if before == "none" {
				_ = os.Remove(p.Path)
			} else {
				write(t, p.Path, before)
			}
			first, err := p.Install(t.Context(), "toolset", Entry{Command: []string{command, "stdio", "/src/app"}}, false)
			if err != nil {
				t.Errorf("%s, %s: %v", c.Name, name, err)
				continue
			}
			installed := content(t, p.Path)
			if string(first.After) != installed || (first.Backup == "") != (before == "none") {
				t.Errorf("%s, %s: %+v\n%s", c.Name, name, first, installed)
			}
			again, err := p.Install(t.Context(), "toolset", Entry{Command: []string{command, "stdio", "/src/app"}}, false)
			if err != nil || again.Changed() || content(t, p.Path) != installed {
				t.Errorf("%s, %s: the second time: %v\n%s", c.Name, name, err, content(t, p.Path))
			}
			if again, err = p.Install(t.Context(), "toolset", Entry{Command: []string{command, "stdio", "/other"}}, false); err != nil || !again.Changed() || again.Backup != "" {
				t.Errorf("%s, %s: with another folder: %v %+v", c.Name, name, err, again)
			}
			e, ok, err := p.Entry("toolset")
			if want := []string{command, "stdio", "/other"}; err != nil || !ok || !slices.Equal(e.Command, want) || !e.Ours() {
				t.Errorf("%s, %s: the entry is %q, %v, %v", c.Name, name, e.Command, ok, err)
			}
			if _, err := p.Uninstall(t.Context(), "toolset", "", false); err != nil || content(t, p.Path) != before {
				t.Errorf("%s, %s: uninstalled: %v\n%s", c.Name, name, err, cmp.Diff(before, content(t, p.Path)))
			}
			if left := p.backups(); len(left) > 0 {
				t.Errorf("%s, %s: %q are left", c.Name, name, left)
			}
			if none, err := p.Uninstall(t.Context(), "toolset", "", false); err != nil || none.Changed() {
				t.Errorf("%s, %s: uninstalled twice: %v", c.Name, name, err)
			}
		}
	}
}

// A server over HTTP is written in the form of each client, without a token, and can take the place
// of one that the client starts. Uninstalled, it leaves the file as it was.
func TestInstallURL(t *testing.T) {
	const url = "https://tools.example:8808/x"
	want := map[string]string{
		"claude-code": `{"mcpServers": {"toolset": {"type": "http", "url": "URL", "headers": {"Authorization": "Bearer ${MCP_TOOLSET_TOKEN}"}}}}`,
		"cline":       `{"mcpServers": {"toolset": {"type": "streamableHttp", "url": "URL", "headers": {"Authorization": "Bearer ${env:MCP_TOOLSET_TOKEN}"}, "timeout": 600}}}`,
		"codex":       `[mcp_servers.toolset] url = "URL" bearer_token_env_var = "MCP_TOOLSET_TOKEN" tool_timeout_sec = 600`,
		"cursor":      `{"mcpServers": {"toolset": {"url": "URL", "headers": {"Authorization": "Bearer ${env:MCP_TOOLSET_TOKEN}"}}}}`,
		"gemini-cli":  `{"mcpServers": {"toolset": {"httpUrl": "URL", "headers": {"Authorization": "Bearer ${MCP_TOOLSET_TOKEN}"}}}}`,
		"qwen-code":   `{"mcpServers": {"toolset": {"httpUrl": "URL", "headers": {"Authorization": "Bearer ${MCP_TOOLSET_TOKEN}"}}}}`,
		"goose":       `extensions: toolset: enabled: true type: "streamable_http" name: "toolset" description: "" uri: "URL" headers: Authorization: "Bearer ${MCP_TOOLSET_TOKEN}" env_keys: ["MCP_TOOLSET_TOKEN"] timeout: 600`,
		"lm-studio":   `{"mcpServers": {"toolset": {"url": "URL"}}}`,
		"opencode":    `{"mcp": {"toolset": {"type": "remote", "url": "URL", "headers": {"Authorization": "Bearer {env:MCP_TOOLSET_TOKEN}"}, "enabled": true}}}`,
		"vscode":      `{"servers": {"toolset": {"type": "http", "url": "URL", "headers": {"Authorization": "Bearer ${env:MCP_TOOLSET_TOKEN}"}}}}`,
		"windsurf":    `{"mcpServers": {"toolset": {"serverUrl": "URL", "headers": {"Authorization": "Bearer ${env:MCP_TOOLSET_TOKEN}"}}}}`,
		"zed":         `{"context_servers": {"toolset": {"url": "URL"}}}`,
	}
	for i := range List {
		c := &List[i]
		if c.TakesURL() != (want[c.Name] != "") {
			t.Errorf("%s: has a form for a URL: %v", c.Name, c.TakesURL())
		}
		if !c.TakesURL() {
			continue
		}
		p := system(t, "linux", nil).User(c)
		e := Entry{URL: url}
		got := strings.NewReplacer("{ ", "{", " }", "}").Replace(strings.Join(strings.Fields(p.Snippet("toolset", e)), " "))
		if got != strings.Replace(want[c.Name], "URL", url, 1) {
			t.Errorf("%s:\n%s\nwant\n%s", c.Name, got, want[c.Name])
		}
		for name, before := range samples(c) {
			if before == "none" {
				_ = os.Remove(p.Path)
			} else {
				write(t, p.Path, before)
			}
			for _, e := range []Entry{{Command: []string{"/bin/mcp-toolset", "stdio"}}, e, e, {URL: url + "/mcp"}, e} {
				if _, err := p.Install(t.Context(), "toolset", e, false); err != nil {
					t.Fatalf("%s, %s, %+v: %v", c.Name, name, e, err)
				}
				if now, ok, err := p.Entry("toolset"); err != nil || !ok || now.URL != e.URL || !slices.Equal(now.Command, e.Command) {
					t.Errorf("%s, %s: the entry is %+v, %v, %v", c.Name, name, now, ok, err)
				}
			}
			if _, err := p.Uninstall(t.Context(), "toolset", "", false); err != nil || content(t, p.Path) != before {
				t.Errorf("%s, %s: uninstalled: %v\n%s", c.Name, name, err, cmp.Diff(before, content(t, p.Path)))
			}
			if left := p.backups(); len(left) > 0 {
				t.Errorf("%s, %s: %q are left", c.Name, name, left)
			}
		}
	}
}

// A server over HTTP under this name that shows no sign of being ours is left alone. What the user
// added to ours stays.
func TestInstallURLOther(t *testing.T) {
	p := system(t, "linux", nil).User(Find("zed"))
	for text, ours := range map[string]bool{
		`{"context_servers": {"toolset": {"url": "https://other.example/mcp"}}}`:                                                 false,
		`{"context_servers": {"toolset": {"url": "http://127.0.0.1:8808/api"}}}`:                                                 false,
		`{"context_servers": {"toolset": {"url": "http://127.0.0.1:8808/mcp", "headers": {"Authorization": "Bearer mine"}}}}`:    true,
		`{"context_servers": {"toolset": {"url": "https://a.example/x", "headers": {"Authorization": "${MCP_TOOLSET_TOKEN}"}}}}`: true,
	} {
		write(t, p.Path, text)
		_, err := p.Install(t.Context(), "toolset", Entry{URL: "http://127.0.0.1:8808/mcp"}, false)
		if (err == nil) != ours || !ours && !errors.Is(err, ErrOther) {
			t.Errorf("%s: %v", text, err)
		}
		if got := content(t, p.Path); strings.Contains(text, "headers") && !strings.Contains(got, text[strings.Index(text, `"headers"`):]) {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// An entry over HTTP without a sign of this program is removed if the user names its URL.
func TestUninstallURL(t *testing.T) {
	const before, url = "{\"theme\": \"a\"}", "https://tools.example/mcp"
	for _, name := range []string{"zed", "lm-studio", "windsurf"} {
		p := system(t, "linux", nil).User(Find(name))
		write(t, p.Path, before)
		if _, err := p.Install(t.Context(), "toolset", Entry{URL: url}, false); err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(content(t, p.Path), "\"a\"", "\"b\"", 1)
		changed = strings.Replace(changed, tokenVariable, "MINE", 1)
		write(t, p.Path, changed)
		for _, other := range []string{"", url + "/", "https://tools.example"} {
			if _, err := p.Uninstall(t.Context(), "toolset", other, false); !errors.Is(err, ErrOther) || content(t, p.Path) != changed {
				t.Errorf("%s, %q: %v\n%s", name, other, err, content(t, p.Path))
			}
		}
		if _, err := p.Uninstall(t.Context(), "toolset", url, false); err != nil || strings.Contains(content(t, p.Path), url) || !strings.Contains(content(t, p.Path), "\"b\"") {
			t.Errorf("%s: %v\n%s", name, err, content(t, p.Path))
		}
	}
}

// If stdio becomes HTTP or the reverse, the entry stays switched off, and other settings of the user
// are reported as dropped.
func TestInstallOtherKind(t *testing.T) {
	stdio, http := Entry{Command: []string{"/bin/mcp-toolset", "stdio"}}, Entry{URL: usualURL}
	for _, tc := range []struct {
		client, text, stays string
		to                  Entry
		dropped             bool
	}{
		{"cline", `{"mcpServers": {"toolset": {"command": "mcp-toolset", "args": [], "timeout": 600, "disabled": true}}}`, `"disabled": true`, http, false},
		{"cline", `{"mcpServers": {"toolset": {"command": "mcp-toolset", "args": [], "timeout": 5, "disabled": true}}}`, `"disabled": true`, http, true},
		{"opencode", `{"mcp": {"toolset": {"type": "remote", "url": "http://127.0.0.1:8808/mcp", "enabled": false}}}`, `"enabled": false`, stdio, false},
		{"cursor", `{"mcpServers": {"toolset": {"command": "mcp-toolset", "args": [], "env": {"A": "b"}}}}`, usualURL, http, true},
		{"codex", "[mcp_servers.toolset]\ncommand = \"mcp-toolset\"\nenabled = false\n\n[mcp_servers.toolset.env]\nA = \"b\"\n", "enabled = false", http, true},
		{"goose", "extensions:\n  toolset:\n    name: toolset\n    cmd: mcp-toolset\n    args: []\n    enabled: false\n", "enabled: false", http, false},
	} {
		p := system(t, "linux", nil).User(Find(tc.client))
		write(t, p.Path, tc.text)
		change, err := p.Install(t.Context(), "toolset", tc.to, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := content(t, p.Path); !strings.Contains(got, tc.stays) || change.Dropped != tc.dropped || content(t, change.Backup) != tc.text {
			t.Errorf("%s became %s, %+v", tc.text, got, change)
		}
	}
}

// A new file and a backup are private. A file that exists keeps its mode, and a file that was made is
// removed.
func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("access lists decide there")
	}
	p := system(t, "linux", nil).User(Find("cursor"))
	mode := func(path string) fs.FileMode {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	if _, err := install(t, p, false); err != nil || mode(p.Path) != 0o600 {
		t.Errorf("a new file: %v, %v", mode(p.Path), err)
	}
	if _, err := p.Uninstall(t.Context(), "toolset", "", false); err != nil || content(t, p.Path) != "none" {
		t.Errorf("%v, %q is left", err, content(t, p.Path))
	}
	write(t, p.Path, "{}")
	if err := os.Chmod(p.Path, 0o640); err != nil {
		t.Fatal(err)
	}
	change, err := install(t, p, false)
	if err != nil || mode(p.Path) != 0o640 || mode(change.Backup) != 0o600 {
		t.Errorf("a file: %v, its backup: %v, %v", mode(p.Path), mode(change.Backup), err)
	}
	if _, err := p.Uninstall(t.Context(), "toolset", "", false); err != nil || mode(p.Path) != 0o640 {
		t.Errorf("uninstalled: %v, %v", mode(p.Path), err)
	}
}

// Without the backup, and after changes of others, only the entry goes.
func TestUninstallChanged(t *testing.T) {
	for i := range List {
		c := &List[i]
		p := system(t, "linux", nil).User(c)
		for name, before := range samples(c) {
			if before == "none" || before == "" || strings.HasPrefix(name, "nothing") {
				continue // which of them is known from the backup only
			}
			write(t, p.Path, before)
			change, err := p.Install(t.Context(), "toolset", Entry{Command: []string{"/bin/mcp-toolset", "stdio"}}, false)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(change.Backup); err != nil {
				t.Fatal(err)
			}
			change, err = p.Uninstall(t.Context(), "toolset", "", false)
			if err != nil {
				t.Errorf("%s, %s: %v", c.Name, name, err)
				continue
			}
			got := content(t, p.Path)
			if strings.HasPrefix(name, "tabs") && c.Format == edit.TOML || strings.HasPrefix(name, "no table") {
				got = strings.TrimRight(got, "\r\n") // a line break at the end is added
			}
			if got != before && (c.Format != edit.JSON || !strings.HasPrefix(name, "comments")) { // there the table was empty
				t.Errorf("%s, %s:\n%s", c.Name, name, cmp.Diff(before, got))
			}
			if info, err := os.Stat(change.Backup); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
				t.Errorf("%s, %s: the backup: %v, %v", c.Name, name, info, err)
			}
			if err := os.Remove(change.Backup); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What the user added to the entry stays when it is installed with another folder.
func TestInstallKeepsSettings(t *testing.T) {
	for name, text := range map[string]string{
		"cursor": "{\"mcpServers\": {\"toolset\": {\"command\": \"mcp-toolset\", \"args\": [\"stdio\", \"/a\"], \"env\": {\"A\": \"b\"}, \"disabled\": true}}}",
		"codex":  "[mcp_servers.toolset]\ncommand = \"mcp-toolset\"\nargs = [\n  \"stdio\",\n  \"/a\", # mine\n]\nenabled = false\n\n[mcp_servers.toolset.env]\nA = \"b\"\n",
		"goose":  "extensions:\n  toolset:\n    name: My tools\n    cmd: mcp-toolset\n    args:\n    - stdio\n    - /a\n    envs:\n      A: b\n    enabled: false\n",
	} {
		c := Find(name)
		p := system(t, "linux", nil).User(c)
		write(t, p.Path, text)
		change, err := p.Install(t.Context(), "toolset", Entry{Command: []string{"/bin/mcp-toolset", "stdio", "/b"}}, false)
		if err != nil {
			t.Fatal(err)
		}
		if content(t, change.Backup) != text {
			t.Errorf("%s: the backup differs", name)
		}
		e, _, err := p.Entry("toolset")
		if want := (Entry{Command: []string{"/bin/mcp-toolset", "stdio", "/b"}, Env: map[string]string{"A": "b"}}); err != nil || !cmp.Equal(e, want) {
			t.Errorf("%s: %v %s", name, err, cmp.Diff(want, e))
		}
		if got := content(t, p.Path); !strings.Contains(got, "false") && !strings.Contains(got, "\"disabled\": true") || name == "goose" && !strings.Contains(got, "My tools") {
			t.Errorf("%s: the settings of the user are gone:\n%s", name, got)
		}
	}
}

// absolute makes a path that begins with a slash one of this system, with a volume on Windows.
func absolute(t *testing.T, path string) string {
	t.Helper()
	if !strings.HasPrefix(path, "/") {
		return path
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Files are where the clients look for them on each system.
func TestPaths(t *testing.T) {
	for _, tc := range []struct {
		os, client string
		vars       map[string]string
		files      []string
		want       string
	}{
		{"linux", "claude-code", nil, nil, ".claude.json"},
		{"linux", "claude-code", map[string]string{"CLAUDE_CONFIG_DIR": "/cfg"}, []string{".claude.json"}, "/cfg/.claude.json"},
		{"linux", "codex", map[string]string{"CODEX_HOME": "/cx"}, nil, "/cx/config.toml"},
		{"linux", "vscode", map[string]string{"XDG_CONFIG_HOME": "/xdg"}, nil, "/xdg/Code/User/mcp.json"},
		{"linux", "vscode", map[string]string{"XDG_CONFIG_HOME": "relative"}, nil, ".config/Code/User/mcp.json"},
		{"darwin", "vscode", nil, nil, "Library/Application Support/Code/User/mcp.json"},
		{"windows", "vscode", nil, nil, "AppData/Roaming/Code/User/mcp.json"},
		{"windows", "zed", map[string]string{"APPDATA": "/roaming"}, nil, "/roaming/Zed/settings.json"},
		{"darwin", "claude-desktop", nil, nil, "Library/Application Support/Claude/claude_desktop_config.json"},
		{"windows", "claude-desktop", nil, nil, "AppData/Roaming/Claude/claude_desktop_config.json"},
		{"windows", "claude-desktop", nil, []string{"AppData/Local/Packages/Claude_pzs8sxrjxfjjc/x"},
			"AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json"},
		{"windows", "claude-desktop", nil, []string{"AppData/Local/Claude-Data/claude_1/x"}, "AppData/Local/Claude-Data/claude_1/claude_desktop_config.json"},
		{"windows", "goose", nil, nil, "AppData/Roaming/Block/goose/config/config.yaml"},
		{"darwin", "goose", nil, nil, ".config/goose/config.yaml"},
		{"darwin", "goose", map[string]string{"XDG_CONFIG_HOME": "/xdg"}, nil, "/xdg/goose/config.yaml"},
		{"darwin", "zed", map[string]string{"XDG_CONFIG_HOME": "/xdg"}, nil, ".config/zed/settings.json"},
		{"linux", "opencode", nil, nil, ".config/opencode/opencode.jsonc"},
		{"linux", "opencode", nil, []string{".config/opencode/opencode.json"}, ".config/opencode/opencode.json"},
		{"linux", "opencode", nil, []string{".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"}, ".config/opencode/opencode.jsonc"},
		{"linux", "lm-studio", nil, []string{".cache/lm-studio/x"}, ".cache/lm-studio/mcp.json"},
		{"linux", "cline", nil, nil, ".cline/data/settings/cline_mcp_settings.json"},
		{"linux", "cline", nil, []string{".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/x"}, ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"},
		{"linux", "cline", nil, []string{".cline/data/settings/cline_mcp_settings.json"}, ".cline/data/settings/cline_mcp_settings.json"},
	} {
		for name, value := range tc.vars {
			tc.vars[name] = absolute(t, value)
		}
		s := system(t, tc.os, tc.vars)
		for _, file := range tc.files {
			write(t, filepath.Join(s.Home, filepath.FromSlash(file)), "")
		}
		want := absolute(t, tc.want)
		if !filepath.IsAbs(want) {
			want = filepath.Join(s.Home, filepath.FromSlash(want))
		}
		if got := s.User(Find(tc.client)).Path; got != want {
			t.Errorf("%s, %s, %v, %v: %s, want %s", tc.os, tc.client, tc.vars, tc.files, got, want)
		}
	}
	s := system(t, "linux", nil)
	write(t, filepath.Join(s.Home, "opencode.json"), "")
	if got := s.InProject(Find("opencode"), s.Home).Path; got != filepath.Join(s.Home, "opencode.json") {
		t.Errorf("the project's file of opencode is %s", got)
	}
}

// The list is complete and consistent.
func TestList(t *testing.T) {
	names := []string{"claude-code", "claude-desktop", "cline", "codex", "cursor", "gemini-cli", "goose", "lm-studio", "opencode", "qwen-code", "vscode", "windsurf", "zed"}
	var got []string
	for _, c := range List {
		got = append(got, c.Name)
		if c.Title == "" || c.Table == "" || c.Next == "" || len(c.Files[""]) == 0 || c.NeedsFolder && (c.Workspace != "" || len(c.Project) > 0) {
			t.Errorf("%+v", c)
		}
	}
	if !slices.Equal(got, names) {
		t.Error(cmp.Diff(names, got))
	}
}

func TestOurs(t *testing.T) {
	for command, want := range map[string]bool{
		"mcp-toolset stdio": true, "/a/mcp-toolset": true, `C:\x\MCP-Toolset.exe stdio`: true, "npx -y mcp-toolset@1.2.3": true, "npx mcp-toolset": true,
		"npx -y other /src/x/y/mcp-toolset-old": false, "npx docs -y /src/mcp-toolset": false, "": false,
	} {
		if got := (Entry{Command: strings.Fields(command)}).Ours(); got != want {
			t.Errorf("%s: %v", command, got)
		}
	}
	if exe, err := os.Executable(); err != nil || !(Entry{Command: []string{exe, "stdio"}}).Ours() {
		t.Errorf("the running program %s, %v", exe, err)
	}
}
