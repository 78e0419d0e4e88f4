package cli

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-toolset/internal/assembly"
)

// TestKeptFromCommands checks that our folders are hidden whole and protected by name, absent or
// not, and that the state folder needs no protection.
func TestKeptFromCommands(t *testing.T) {
	h := host(t, map[string]string{})
	h.Home = h.Dir
	conf, state := filepath.Join(h.Dir, ".config/mcp-toolset"), filepath.Join(h.Dir, ".local/state/mcp-toolset")
	look := func() (closed, protected []string) {
		t.Helper()
		c := common{settings: "given.json", closed: []string{"/token"}}
		options, err := c.options(h, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		plan := assembly.NewPlan(options)
		plan.Roots, plan.State = []string{h.Dir}, state
		if err := plan.FindSettings(); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(plan.Closed, conf) || !slices.Contains(plan.Closed, state) || !slices.Contains(plan.Guarded, filepath.Join(h.Dir, "given.json")) {
			t.Errorf("closed to tools %q, guarded %q", plan.Closed, plan.Guarded)
		}
		return plan.Found.FromCommands(plan.Closed, plan.State)
	}
	if err := os.WriteFile(filepath.Join(h.Dir, "given.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := func(list []string, part string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, part) })
	}
	for _, there := range []bool{false, true} {
		for _, dir := range []string{conf, state} {
			if there {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
		}
		closed, protected := look()
		if !slices.Contains(closed, conf) || !slices.Contains(closed, state) || !slices.Contains(closed, "/token") || !in(protected, conf) || in(protected, state) || !in(protected, "given.json") {
			t.Errorf("there %v: closed %q, protected %q", there, closed, protected)
		}
	}
}

// TestServersInSettings checks that tools and commands cannot change what starts an upstream
// server. The user is shown it, without possible secrets, and warned about rules on servers that do
// not exist.
func TestServersInSettings(t *testing.T) {
	env := map[string]string{}
	h := host(t, env)
	dir, err := filepath.EvalSymlinks(h.Dir)
	if err != nil {
		t.Fatal(err)
	}
	h.Dir, h.Home, env["MCP_TOOLSET_STATE_DIR"] = dir, filepath.Join(dir, "home"), filepath.Join(dir, "state")
	for name, text := range map[string]string{
		"server.sh": "",
		".mcp-toolset/settings.json": `{"mcpServers": {"own": {"command": "./server.sh", "args": ["\u001b[2K"], "env": {"TOKEN": "s3cret"}}, "off": {"command": "x", "disabled": true}},
			"permissions": {"allow": ["mcp__own", "mcp__off__x", "mcp__onw__x"]}}`,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept := func() bool {
		t.Helper()
		plan := assembly.NewPlan(assembly.Options{Environment: h.environment(), Log: slog.New(slog.DiscardHandler)})
		plan.Roots, plan.State = []string{dir}, env["MCP_TOOLSET_STATE_DIR"]
		if err := plan.FindSettings(); err != nil {
			t.Fatal(err)
		}
		_, protected := plan.Found.FromCommands(plan.Closed, plan.State)
		script := filepath.Join(dir, "server.sh")
		if slices.Contains(plan.Guarded, script) != slices.Contains(protected, script) {
			t.Errorf("guarded %q, protected %q", plan.Guarded, protected)
		}
		return slices.Contains(protected, script)
	}
	say := func(want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		h.Out, h.Err = &out, &out
		if code := Main(args, h); code != want {
			t.Errorf("%q: %d, %s", args, code, out.String())
		}
		return out.String()
	}
	if kept() {
		t.Error("nobody trusts the project, and it closes a file")
	}
	if out := say(exitError, "policy", "check", "--root", dir); !strings.Contains(out, "not mcpServers (line 1), permissions.allow (line 2); to use") || strings.Contains(out, "server own") {
		t.Errorf("check: %s", out)
	}
	out := say(exitOK, "trust", "--yes")
	for _, want := range []string{`mcpServers.own.command: "./server.sh"`, `mcpServers.own.args: "\x1b[2K"`, `mcpServers.own.env: "TOKEN"`, `mcpServers.off.disabled: true`} {
		if !strings.Contains(out, want) {
			t.Errorf("trust does not show %s:\n%s", want, out)
		}
	}
	if strings.Contains(out, "s3cret") {
		t.Errorf("trust shows a secret:\n%s", out)
	}
	if !kept() {
		t.Error("the program of a server can be changed")
	}
	if out := say(exitError, "policy", "check", "--root", dir); strings.Count(out, "warning:") != 1 || !strings.Contains(out, "mcp__onw__x in "+filepath.Join(dir, ".mcp-toolset/settings.json")+":2 has no effect: there is no server onw; did you mean own?") {
		t.Errorf("check: %s", out)
	}
	// A single file may hold rules on servers of another file.
	say(exitOK, "policy", "check", ".mcp-toolset/settings.json")
}
