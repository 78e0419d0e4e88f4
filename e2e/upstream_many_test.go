//go:build unix

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-toolset/internal/testscale"
)

// manyServers returns the settings of n servers with 50 tools each, all connected at the
// start.
func manyServers(n int, more string) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"many%02d":{"command":"$UPSTREAM","args":["-special=false","-tools","50"],"eager":true%s}`, i+1, more))
	}
	return `{"mcpServers":{` + strings.Join(list, ",") + `}}`
}

// mostListed is the limit of the listed tools in tokens, at four bytes a token.
const mostListed = 3000

// TestUpstreamMany checks twelve servers of 50 tools each. The list stays small if tools
// are deferred. If all are listed, our own definitions are byte for byte those without
// the servers. Lists of different processes are equal.
func TestUpstreamMany(t *testing.T) {
	testscale.NeedFull(t)
	t.Parallel()
	prefixes := map[string][]byte{}
	for _, deferral := range []string{"dispatch", "hints"} {
		for _, n := range []int{0, 1, 12} {
			p := startPlace(t, placeOptions{settings: manyServers(n, ""), args: []string{"--deferral", deferral}})
			h := connect(t, p, false, nil)
			for i := range n {
				want := fmt.Sprintf("mcp__many%02d__tool_50", i+1)
				if o := h.call("ToolSearch", fmt.Sprintf(`{"query":"select:%s"}`, want)); !strings.Contains(o.text, want) {
					t.Fatalf("%s: %s", want, o.show())
				}
				becomes(t, want+" is there", func() bool {
					o := h.call("ToolSearch", fmt.Sprintf(`{"query":"select:%s"}`, want))
					return strings.Contains(o.text, `"inputSchema"`) || strings.Contains(o.text, `"properties"`)
				})
			}
			raw, names, tools := h.listed()
			foreign := bytes.Index(raw, []byte(`"name":"mcp__`))
			ours := raw
			if foreign >= 0 {
				// A definition begins after the comma that ends the one before.
				first := tools[names[len(names)-50*n]]
				ours = raw[:bytes.Index(raw, first)]
			}
			ours = bytes.TrimRight(ours, ",]")
			switch {
			case deferral == "hints" && len(names) < 50*n+8:
				t.Errorf("with %d servers %d tools are listed", n, len(names))
			case deferral == "dispatch" && foreign >= 0:
				t.Errorf("with %d servers their tools are listed: %v", n, names)
			}
			if before, ok := prefixes[deferral]; ok && !bytes.Equal(before, ours) {
				t.Errorf("%s: with %d servers our own part of the list is another", deferral, n)
			}
			prefixes[deferral] = ours
			if deferral == "dispatch" {
				size := 0
				for name, raw := range tools {
					var d struct {
						Description string
						InputSchema json.RawMessage
					}
					if err := json.Unmarshal(raw, &d); err != nil {
						t.Fatal(err)
					}
					size += (len(name) + len(d.Description) + len(d.InputSchema) + 3) / 4
				}
				if size > mostListed {
					t.Errorf("with %d servers the list takes %d tokens", n, size)
				}
			}
			if deferral == "dispatch" {
				// Servers are named, whether or not they were connected by then.
				var hello struct{ Instructions string }
				if err := json.Unmarshal(h.hello, &hello); err != nil || len(hello.Instructions) > 1500 || n == 12 && !strings.Contains(hello.Instructions, "server many01") {
					t.Errorf("with %d servers the instructions have %d bytes: %s", n, len(hello.Instructions), hello.Instructions)
				}
			}
			if deferral == "hints" && n == 12 {
				again := connect(t, startPlace(t, placeOptions{settings: manyServers(n, ""), args: []string{"--deferral", deferral}}), false, nil)
				becomes(t, "another process has the same list", func() bool {
					other, _, _ := again.listed()
					return bytes.Equal(raw, other)
				})
			}
		}
	}
}

// TestUpstreamTokens checks that the command `tools` counts the cost of tools in tokens,
// and fails if the tools that are always loaded cost too much.
func TestUpstreamTokens(t *testing.T) {
	t.Parallel()
	base := newBase(t)
	run := func(args ...string) (string, error) {
		cmd := exec.Command(binary(t), append([]string{"tools"}, args...)...)
		cmd.Env = append(cmd.Environ(), "HOME="+filepath.Join(base, "home"), "MCP_TOOLSET_STATE_DIR="+filepath.Join(base, "state"))
		cmd.Dir = filepath.Join(base, "root")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("--deferral", "dispatch", "--budget", "3000"); err != nil {
		t.Errorf("ours alone: %v\n%s", err, out)
	}
	few := writeSettings(t, base, manyServers(2, ""))
	out, err := run("--deferral", "dispatch", "--budget", "3000", "--settings", few)
	if err != nil || !strings.Contains(out, "mcp__many02__tool_50") {
		t.Errorf("with deferred ones: %v\n%s", err, out)
	}
	digest := func() string {
		out, err := run("--deferral", "hints", "--settings", few, "--digest")
		if err != nil || len(strings.TrimSpace(out)) != 64 {
			t.Errorf("digest: %v %s", err, out)
		}
		return out
	}
	if one, two := digest(), digest(); one != two {
		t.Errorf("two processes have the digests %s and %s", one, two)
	}
	always := writeSettings(t, base, manyServers(2, `,"loading":"always"`))
	if out, err := run("--deferral", "dispatch", "--budget", "3000", "--settings", always); err == nil {
		t.Errorf("what is always loaded is over the budget: %s", out)
	}
	if out, err := run("--deferral", "dispatch", "--budget", "10"); err == nil || !strings.Contains(out, "more than the budget") {
		t.Errorf("a budget of 10: %v %s", err, out)
	}
}

// TestDeferralAuto checks that a client that does not defer tools itself sees few of
// many, and that the command `tools` agrees. For Claude Code the server lists all.
func TestDeferralAuto(t *testing.T) {
	t.Parallel()
	few := `{"permissions": {"deny": ["TaskCreate", "TaskUpdate", "TodoWrite", "SendMessage", "TeamCreate", "TeamDelete", "ListSessions", "AskUserQuestion", "Config", "Monitor", "CronCreate", "CronDelete", "CronList", "RemoteTrigger", "WebFetch", "LSP", "LSPApply", "EnterWorktree", "ExitWorktree", "REPL", "TaskInput", "Undo", "Brief", "EnterPlanMode", "ExitPlanMode"]}}`
	for _, c := range []struct {
		name, settings string
		env            string
		search         bool // whether ToolSearch and CallTool are listed
	}{
		{"few tools", few, "CLAUDE_CODE_SESSION_ID=", false},
		{"2 servers", manyServers(2, ""), "CLAUDE_CODE_SESSION_ID=", true}, {"2 servers", manyServers(2, ""), "CLAUDE_CODE_SESSION_ID=a", false},
	} {
		settings := c.settings
		h := connect(t, startPlace(t, placeOptions{settings: settings, env: []string{c.env}}), false, nil)
		_, names, _ := h.listed()
		base := newBase(t)
		cmd := exec.Command(binary(t), "tools", "--format", "json", "--settings", writeSettings(t, base, settings))
		cmd.Env = append(cmd.Environ(), "HOME="+filepath.Join(base, "home"), "MCP_TOOLSET_STATE_DIR="+filepath.Join(base, "state"), c.env)
		cmd.Dir = filepath.Join(base, "root")
		var list struct{ Tools []struct{ Name string } }
		if out, err := cmd.Output(); err != nil || json.Unmarshal(out, &list) != nil {
			t.Fatalf("%v %s", err, out)
		}
		var shown []string
		for _, tool := range list.Tools {
			shown = append(shown, tool.Name)
		}
		for what, list := range map[string][]string{"tools/list": names, "the command": shown} {
			if got := slices.Contains(list, "ToolSearch") && slices.Contains(list, "CallTool"); got != c.search || !c.search && !slices.Contains(list, "TaskStop") {
				t.Errorf("%s, %s: %s shows %v", c.name, c.env, what, list)
			}
			if c.search && slices.ContainsFunc(list, func(name string) bool { return strings.HasPrefix(name, "mcp__") }) {
				t.Errorf("%s, %s: %s shows those of servers", c.name, c.env, what)
			}
		}
	}
}
