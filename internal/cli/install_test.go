package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/clients"
)

// installIn runs a command line with a home folder. HOME in args and outputs stands for it.
func installIn(t *testing.T, home string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	h := host(t, map[string]string{})
	h.Home, h.Dir = home, filepath.Join(home, "app")
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "HOME", home)
	}
	code = Main(args, h)
	return code, clean(h.Out.(*bytes.Buffer).String(), home), clean(h.Err.(*bytes.Buffer).String(), home)
}

// clean replaces the home folder in a text. Separators become slashes on Windows.
func clean(text, home string) string {
	if filepath.Separator == '\\' {
		text, home = strings.ReplaceAll(text, `\`, "/"), filepath.ToSlash(home)
		text = strings.ReplaceAll(text, "//", "/")
	}
	return strings.ReplaceAll(text, home, "HOME")
}

// homeFolder returns a home folder with a project.
func homeFolder(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "app"), 0o755); err != nil {
		t.Fatal(err)
	}
	return home
}

// Every wrong command line of install and uninstall gets an error with the next step.
func TestInstallUsage(t *testing.T) {
	home := homeFolder(t)
	all := strings.Join(clientNames(), ", ")
	for _, tc := range []struct{ args, want string }{
		{"install cursr", `unknown client "cursr"; did you mean cursor?`},
		{"install code", `unknown client "code"; did you mean vscode?`},
		{"install emacs", `unknown client "emacs"; use one of ` + all},
		{"install claude-desktop", `Claude Desktop starts servers in no folder of yours; name one: mcp-toolset install claude-desktop DIR`},
		{"install windsurf --project app", `Windsurf has no file for a project; leave out --project`},
		{"install cursor --project HOME", `HOME is not a project; name one: mcp-toolset install cursor --project DIR`},
		{"install cursor --name a/b", `--name is a/b; use letters, digits, - and _`},
		{"install cursor HOME/none", `there is no folder HOME/none`},
		{"install cusor HOME/none", `unknown client "cusor"; did you mean cursor?`},
		{"install --http http://127.0.0.1:8808/mcp", `name a client: mcp-toolset install CLIENT`},
		{"install cursor --http 127.0.0.1:8808", `--http is no URL of a server; use one such as http://127.0.0.1:8808/mcp`},
		{"install cursor --http ftp://h/mcp", `--http is no URL of a server; use one such as http://127.0.0.1:8808/mcp`},
		{"install cursor --http https://me:secret@h/mcp", `--http has a user, a query or a fragment, which the file would store; leave that out`},
		{"install cursor --http https://h/mcp?token=secret", `--http has a user, a query or a fragment, which the file would store; leave that out`},
		{"install cursor --http https://h/mcp?", `--http has a user, a query or a fragment, which the file would store; leave that out`},
		{"install cursor --http https://h/mcp#", `--http has a user, a query or a fragment, which the file would store; leave that out`},
		{"install cursor --http https://h", `--http has no path; add the one of the server: https://h/mcp`},
		{"install cursor --http https://h:8808/", `--http has no path; add the one of the server: https://h:8808/mcp`},
		{"install cursor --http https://h:65536/mcp", `--http has no port of 1 to 65535 after the colon; use one such as http://127.0.0.1:8808/mcp`},
		{"install cursor --http https://h:/mcp", `--http has no port of 1 to 65535 after the colon; use one such as http://127.0.0.1:8808/mcp`},
		{"install cursor --http https://h:0/mcp", `--http has no port of 1 to 65535 after the colon; use one such as http://127.0.0.1:8808/mcp`},
		{"install cursor --http https://h/m_BLANK_cp", `--http has a blank, a $ or a {, which clients may read in their own way; leave that out`},
		{"install cursor --http https://h/${A}/mcp", `--http has a blank, a $ or a {, which clients may read in their own way; leave that out`},
		{"install opencode --http https://h/{file:x}", `--http has a blank, a $ or a {, which clients may read in their own way; leave that out`},
		{"install cursor --http=", `--http is no URL of a server; use one such as http://127.0.0.1:8808/mcp`},
		{"install --http=", `name a client: mcp-toolset install CLIENT`},
		{"uninstall cursor --http=", `--http is empty; give the URL of the entry, which mcp-toolset install lists`},
		{"install claude-desktop --http https://h/mcp", `the file of Claude Desktop has no servers over HTTP; let it start one: mcp-toolset install claude-desktop DIR`},
		{"install cursor app --http https://h/mcp", `--http takes no DIR: the server at the URL has its own; leave out HOME/app`},
		{"install --print", `name a client: mcp-toolset install CLIENT`},
		{"uninstall", `name a client: mcp-toolset uninstall CLIENT`},
		{"uninstall cursor app", `uninstall takes one client, and a folder with --project only; leave out "app"`},
		{"uninstall emacs", `unknown client "emacs"; use one of ` + all},
	} {
		args := strings.Fields(tc.args)
		for i, arg := range args {
			args[i] = strings.ReplaceAll(arg, "_BLANK_", " ")
			if arg == "app" && args[0] == "install" {
				args[i] = "HOME/app"
			}
		}
		code, stdout, stderr := installIn(t, home, args...)
		if want := "mcp-toolset: " + tc.want + "\n"; code != exitUsage || stderr != want || stdout != "" {
			t.Errorf("%s: exit code %d, standard error %q, want %q; standard output %q", tc.args, code, stderr, want, stdout)
		}
	}
}

// A home folder that is not absolute is refused, as each program would look for it elsewhere.
func TestInstallHome(t *testing.T) {
	for _, home := range []string{"", "relative"} {
		for _, args := range []string{"install", "install cursor", "uninstall cursor"} {
			h := host(t, map[string]string{})
			h.Home, h.Dir = home, t.TempDir()
			code := Main(strings.Fields(args), h)
			if got := h.Err.(*bytes.Buffer).String(); code != exitError || got != "mcp-toolset: "+errNoHome.Error()+"\n" {
				t.Errorf("%s in %q: exit code %d, %s", args, home, code, got)
			}
		}
	}
}

// A server that runs is added without its token.
// TestRemoveEmpty checks that only empty folders below the top are removed, and no links.
func TestRemoveEmpty(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"a/b/c", "used/empty", "target"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(top, "used", "f"), nil, 0o600), os.Symlink(filepath.Join(top, "target"), filepath.Join(top, "link"))); err != nil {
		t.Skip("links cannot be made:", err)
	}
	for _, dir := range []string{"a/b/c", "used/empty", "link", ".", ".."} {
		removeEmpty(filepath.Join(top, dir), top)
	}
	entries, err := os.ReadDir(top)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); err != nil || got != "link target used" {
		t.Errorf("left: %s, %v", got, err)
	}
}

func TestInstallHTTP(t *testing.T) {
	home := homeFolder(t)
	for _, tc := range []struct{ args, want string }{
		{"install codex --http http://127.0.0.1:8808/mcp", "Added toolset to Codex.\nfile      HOME/.codex/config.toml\nreaches   http://127.0.0.1:8808/mcp\n"},
		{"install codex", "set: http://127.0.0.1:8808/mcp"},
		{"install codex --http http://127.0.0.1:8808/mcp", "toolset is in Codex already.\n"},
		{"install codex --http http://127.0.0.1:8809/mcp", "Changed toolset in Codex.\n"},
		{"install codex --http http://127.0.0.1:8809/mcp", "\ntoken     start Codex with MCP_TOOLSET_TOKEN in its environment; the file has only that name. Apps\n"},
		{"install zed --http http://127.0.0.1:8808/mcp", "\ntoken     Zed replaces no variables: add \"headers\": {\"Authorization\": \"Bearer TOKEN\"} to the entry\n          by hand. mcp-toolset http prints where the token is\n"},
		{"install zed --project app --http http://127.0.0.1:8808/mcp", " by hand, and do not commit the file then. "},
		{"install cursor --project app --http https://h.example/mcp", "file      HOME/app/.cursor/mcp.json\nreaches   https://h.example/mcp\n"},
		{"uninstall codex", "Removed toolset from Codex, and the file, which had nothing else: "},
	} {
		args := strings.Fields(strings.Replace(tc.args, " app ", " HOME/app ", 1))
		if tc.args == "install codex" {
			args = args[:1] // lists
		}
		if code, stdout, stderr := installIn(t, home, args...); code != exitOK || stderr != "" || !strings.Contains(stdout, tc.want) {
			t.Errorf("%s: exit code %d, %s\n%s", tc.args, code, stderr, stdout)
		}
	}
}

// An entry over HTTP that does not show that it is this server is removed, and its URL is changed, only
// if the user names the URL. install and doctor name it.
func TestInstallHTTPOther(t *testing.T) {
	home := homeFolder(t)
	file := filepath.Join(home, ".config", "zed", "settings.json")
	const before = "{\n  \"theme\": \"a\",\n  \"context_servers\": {\n    \"toolset\": {\n      \"url\": \"https://h.example/mcp\"\n    }\n  }\n}\n"
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	const other = "mcp-toolset: HOME/.config/zed/settings.json: toolset is another server, at https://h.example/mcp; "
	for _, tc := range []struct{ args, out, err string }{
		{"install", "zed             toolset reaches https://h.example/mcp ", ""},
		{"doctor HOME/app", "set in zed (reaches https://h.example/mcp)", ""},
		{"install zed --http https://h.example/mcp", "toolset is in Zed already.\n", ""},
		{"install zed --http https://new.example/mcp", "", other + "choose another name with --name, or remove this one: mcp-toolset uninstall zed --http https://h.example/mcp\n"},
		{"uninstall zed", "", other + "nothing was removed; --name NAME selects another, or remove this one: mcp-toolset uninstall zed --http https://h.example/mcp\n"},
		{"uninstall zed --http https://new.example/mcp", "", other + "nothing was removed; --name NAME selects another, or remove this one: mcp-toolset uninstall zed --http https://h.example/mcp\n"},
		{"uninstall zed --http https://h.example/mcp", "Removed toolset from Zed: HOME/.config/zed/settings.json\nbackup ", ""},
		{"install zed --http https://new.example/mcp", "Added toolset to Zed.\n", ""},
	} {
		code, stdout, stderr := installIn(t, home, strings.Fields(tc.args)...)
		if (code == exitOK) != (tc.err == "") && tc.args != "doctor HOME/app" || stderr != tc.err || !strings.Contains(stdout, tc.out) {
			t.Errorf("%s: exit code %d, %q\n%s", tc.args, code, stderr, stdout)
		}
	}
	if err := os.WriteFile(file, []byte(`{"context_servers": {"toolset": {"command": "npx", "args": ["other"]}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := installIn(t, home, "uninstall", "zed"); code != exitUsage || stderr != "mcp-toolset: HOME/.config/zed/settings.json: toolset is another server; nothing was removed; --name NAME selects another\n" {
		t.Errorf("uninstall: exit code %d, %s", code, stderr)
	}
	if err := os.WriteFile(file, []byte(`{"context_servers": {"toolset": {"command": "mcp-toolset", "args": [], "env": {"A": "b"}}, "b": {"command": "mcp-toolset"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stdout, _ := installIn(t, home, "install"); strings.Count(stdout, "\nzed  ") != 2 || !strings.Contains(stdout, "set as b: ") {
		t.Errorf("install lists:\n%s", stdout)
	}
	if _, stdout, _ := installIn(t, home, "install", "zed", "--http", "https://h.example/mcp"); !strings.Contains(stdout, "\nwarn      the entry had other settings, such as variables or timeouts; they are in the backup\n") {
		t.Errorf("install:\n%s", stdout)
	}
}

// A broken file is refused with the position and what to add by hand, and stays as it is.
func TestInstallBroken(t *testing.T) {
	home := homeFolder(t)
	file := filepath.Join(home, ".codeium", "windsurf", "mcp_config.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	const broken = "{\n  \"mcpServers\": {\n    \"a\": {}\n    \"b\": {}\n  }\n}\n"
	if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	binary, err := stableBinary()
	if err != nil {
		t.Fatal(err)
	}
	p := clients.Place{Client: clients.Find("windsurf"), Path: file}
	want := "mcp-toolset: HOME/.codeium/windsurf/mcp_config.json: line 4, column 5: invalid character '\"' after object value (expecting ',' or '}')\n" +
		"mcp-toolset: the file is unchanged; correct that, or add this by hand:\n\n" + clean(p.Snippet("toolset", clients.Entry{Command: []string{binary, "stdio", filepath.Join(home, "app")}}), home)
	for _, args := range []string{"install windsurf HOME/app", "install windsurf HOME/app --print"} {
		code, stdout, stderr := installIn(t, home, strings.Fields(args)...)
		if code != exitUsage || stderr != want || stdout != "" {
			t.Errorf("%s: exit code %d, %q, want %q; %q", args, code, stderr, want, stdout)
		}
	}
	code, _, stderr := installIn(t, home, "uninstall", "windsurf")
	if code != exitUsage || !strings.HasSuffix(stderr, "mcp-toolset: the file is unchanged; correct that, or remove toolset from mcpServers by hand\n") {
		t.Errorf("uninstall: exit code %d, %s", code, stderr)
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != broken {
		t.Errorf("the file became %q, %v", now, err)
	}
	_, stdout, _ := installIn(t, home, "install")
	if !strings.Contains(stdout, "\nwindsurf        cannot be read: line 4, column 5: invalid character") {
		t.Errorf("install lists:\n%s", stdout)
	}
}

// --print shows the change and makes none.
func TestInstallPrint(t *testing.T) {
	home := homeFolder(t)
	file := filepath.Join(home, ".codex", "config.toml")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("\ufeffmodel = \"m\"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := installIn(t, home, "install", "codex", "--print", "HOME/app")
	if code != exitOK || stderr != "" || !strings.HasPrefix(stdout, "--- HOME/.codex/config.toml\n+++ HOME/.codex/config.toml\n@@ -1 +1,6 @@\n model = \"m\"\n+\n+[mcp_servers.toolset]\n+command = ") {
		t.Errorf("exit code %d, %s\n%s", code, stderr, stdout)
	}
	code, stdout, _ = installIn(t, home, "uninstall", "codex", "--print")
	if code != exitOK || stdout != "HOME/.codex/config.toml: no change\n" {
		t.Errorf("uninstall: exit code %d\n%s", code, stdout)
	}
	code, stdout, _ = installIn(t, home, "install", "vscode", "--project", "--print")
	if code != exitOK || !strings.HasPrefix(stdout, "--- /dev/null\n+++ HOME/app/.vscode/mcp.json\n") || !strings.Contains(stdout, "\"args\": [\"stdio\", \"${workspaceFolder}\"]") {
		t.Errorf("a project: exit code %d\n%s", code, stdout)
	}
	if now, err := os.ReadDir(filepath.Join(home, "app")); err != nil || len(now) > 0 {
		t.Errorf("the project has %v, %v", now, err)
	}
}

// Folders that are emptied from time to time are known.
func TestPassing(t *testing.T) {
	for binary, want := range map[string]bool{
		filepath.Join(os.TempDir(), "x", "mcp-toolset"): true, "/home/you/.cache/go-build/1f/mcp-toolset": true, "/home/you/.npm/_npx/ab/node_modules/x/mcp-toolset": true,
		"/home/you/.local/bin/mcp-toolset": false, "/tmpfiles/mcp-toolset": false,
	} {
		if passing(binary) != want {
			t.Errorf("%s: %v", binary, !want)
		}
	}
}
