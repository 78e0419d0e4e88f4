package cli

import (
	"bytes"
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
		{"install claude-desktop --http https://h/mcp", `the file of Claude Desktop has no servers over HTTP; let it start one: mcp-toolset install claude-desktop DIR`},
		{"install cursor app --http https://h/mcp", `--http takes no DIR: the server at the URL has its own; leave out HOME/app`},
		{"install --print", `name a client: mcp-toolset install CLIENT`},
		{"uninstall", `name a client: mcp-toolset uninstall CLIENT`},
		{"uninstall cursor app", `uninstall takes one client, and a folder with --project only; leave out "app"`},
		{"uninstall emacs", `unknown client "emacs"; use one of ` + all},
	} {
		args := strings.Fields(tc.args)
		for i, arg := range args {
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
func TestInstallHTTP(t *testing.T) {
	home := homeFolder(t)
	for _, tc := range []struct{ args, want string }{
		{"install codex --http http://127.0.0.1:8808/mcp", "Added toolset to Codex.\nfile      HOME/.codex/config.toml\nreaches   http://127.0.0.1:8808/mcp\n"},
		{"install codex", "set: http://127.0.0.1:8808/mcp"},
		{"install codex --http http://127.0.0.1:8808/mcp", "toolset is in Codex already.\n"},
		{"install codex --http http://127.0.0.1:8809/mcp", "Changed toolset in Codex.\n"},
		{"install codex --http http://127.0.0.1:8809/mcp", "\ntoken     start Codex with MCP_TOOLSET_TOKEN in its environment; the file has only that name\n"},
		{"install zed --http http://127.0.0.1:8808/mcp", "\ntoken     Zed replaces no variables: add \"headers\": {\"Authorization\": \"Bearer TOKEN\"} to the entry\n          by hand\n"},
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
