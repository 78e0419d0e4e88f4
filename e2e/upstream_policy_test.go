//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// agrees returns a function that answers permission questions and appends each to asked.
// Any other question fails the test.
func agrees(t *testing.T, action string, asked *[]string) func(question) string {
	return func(q question) string {
		*asked = append(*asked, q.Message)
		if !strings.Contains(q.Message, "\nasks because: ") {
			t.Errorf("asked %q", q.Message)
		}
		if action != "accept" {
			time.Sleep(400 * time.Millisecond) // as a person: a faster answer is the client's
		}
		return `{"action":"` + action + `"}`
	}
}

// TestUpstreamRules checks that deny rules refuse tools through both doors, and that
// allow rules permit them. Calls that no rule covers ask: over HTTP always, over stdio if
// they may be destructive.
func TestUpstreamRules(t *testing.T) {
	t.Parallel()
	settings := `{"permissions":{"allow":["mcp__open","mcp__some__echo"],"deny":["mcp__shut","mcp__some__destroy"]},"mcpServers":{
		"open":{"command":"$UPSTREAM"},"shut":{"command":"$UPSTREAM"},"some":{"command":"$UPSTREAM"}}}`
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			p := startPlace(t, placeOptions{http: k.http, settings: settings, args: []string{"--deferral", "dispatch"}})
			var asked []string
			h := connect(t, p, k.modern, agrees(t, "accept", &asked))
			for name, d := range doors {
				for _, c := range []struct {
					tool string
					asks bool // over stdio
				}{{"open__echo", false}, {"open__destroy", false}, {"some__echo", false}, {"some__safe", k.http}, {"some__readonly", k.http}, {"some__long", true}} {
					asked = nil
					o := h.ask(d, "mcp__"+c.tool, `{}`)
					want := 0
					if c.asks {
						want = 1
					}
					if o.failed || o.fault != "" || len(asked) != want {
						t.Errorf("%s by %s: asked %d times, want %d: %s", c.tool, name, len(asked), want, o.show())
					}
					if want == 1 && len(asked) == 1 && (!strings.HasPrefix(asked[0], "mcp__"+c.tool+": ") || strings.Contains(asked[0], "CallTool")) {
						t.Errorf("%s by %s: the question is %s", c.tool, name, asked[0])
					}
				}
				asked = nil
				for _, tool := range []string{"mcp__shut__echo", "mcp__shut__safe", "mcp__some__destroy"} {
					if o := h.ask(d, tool, `{}`); o.says("") || len(asked) > 0 {
						t.Errorf("%s by %s: asked %v: %s", tool, name, asked, o.show())
					}
				}
			}
			if o := h.call("ToolSearch", `{"query":"destroy","max_results":20}`); !o.says("mcp__open__destroy") || o.says("mcp__some__destroy") || o.says("mcp__shut__") {
				t.Errorf("the search: %s", o.show())
			}
			no := connect(t, p2(t, p, k.http, settings), k.modern, agrees(t, "decline", &asked))
			for name, d := range doors {
				if o := no.ask(d, "mcp__some__long", `{"by":"`+name+`"}`); !o.fails("declined") {
					t.Errorf("declined, by %s: %s", name, o.show())
				}
			}
		})
	}
}

// p2 returns a second server for stdio, where a server has only one client.
func p2(t *testing.T, p *place, http bool, settings string) *place {
	if http {
		return p
	}
	return startPlace(t, placeOptions{settings: settings})
}

// TestUpstreamModes checks that the mode plan refuses upstream tools, and that
// bypassPermissions asks nothing while deny rules still apply.
func TestUpstreamModes(t *testing.T) {
	t.Parallel()
	settings := `{"permissions":{"deny":["mcp__one__destroy"]},"mcpServers":{"one":{"command":"$UPSTREAM","args":["-log","$BASE/log"]}}}`
	called := func(p *place, tool string) bool {
		return slices.ContainsFunc(lines(t, p.base+"/log"), func(l string) bool { return strings.Contains(l, `"name":"`+tool+`"`) })
	}
	p := startPlace(t, placeOptions{settings: settings, args: []string{"--mode", "plan"}})
	h := connect(t, p, false, nil)
	for name, d := range doors {
		for _, tool := range []string{"echo", "safe", "destroy"} {
			if o := h.ask(d, "mcp__one__"+tool, `{}`); o.says("") || called(p, tool) {
				t.Errorf("plan, %s by %s: %s", tool, name, o.show())
			}
		}
		if o := h.ask(d, "Write", `{"file_path":"a.txt","content":"x"}`); !o.fails("plan mode is on") {
			t.Errorf("plan, Write by %s: %s", name, o.show())
		}
	}
	p = startPlace(t, placeOptions{settings: settings, args: []string{"--mode", "bypassPermissions"}})
	h = connect(t, p, false, nil)
	for name, d := range doors {
		if o := h.ask(d, "mcp__one__echo", `{"a":1}`); !o.says(`{"a":1}`) {
			t.Errorf("bypassPermissions, echo by %s: %s", name, o.show())
		}
		if o := h.ask(d, "mcp__one__destroy", `{}`); o.says("") || called(p, "destroy") {
			t.Errorf("bypassPermissions, destroy by %s: %s", name, o.show())
		}
	}
}

// TestCallToolIsTheTool checks that a call through CallTool is the tool's own call for
// rules, hooks, the audit log and the answer, and that CallTool hides nothing.
func TestCallToolIsTheTool(t *testing.T) {
	t.Parallel()
	const record = `{"type":"command","command":"f=$(cat); echo \"$f\" >>$BASE/hooked"}`
	settings := `{"permissions":{"allow":["mcp__one"],"deny":["Read(secret.txt)","Grep"]},"mcpServers":{"one":{"command":"$UPSTREAM"}},
		"hooks":{"PreToolUse":[{"matcher":"mcp__one__echo|Read|CallTool","hooks":[` + record + `]}],"PostToolUse":[{"matcher":"mcp__one__.*","hooks":[` + record + `]}]}}`
	base := newBase(t)
	put(t, base+"/root/a.txt", "one")
	put(t, base+"/root/secret.txt", "hidden")
	p := startPlace(t, placeOptions{settings: settings, base: base, args: []string{"--audit", base + "/audit.jsonl", "--deferral", "dispatch"}})
	h := connect(t, p, false, nil)
	for name, d := range doors {
		if o := h.ask(d, "mcp__one__echo", `{"big":12345678901234567890}`); !o.says(`{"big":12345678901234567890}`) {
			t.Errorf("%s: %s", name, o.show())
		}
		if o := h.ask(d, "Read", `{"file_path":"a.txt"}`); !o.says("one") && !o.says("not changed") {
			t.Errorf("%s: %s", name, o.show())
		}
		if o := h.ask(d, "Read", `{"file_path":"secret.txt"}`); o.says("") || strings.Contains(o.raw, "hidden") {
			t.Errorf("%s: what a rule denies: %s", name, o.show())
		}
		if o := h.ask(d, "Grep", `{"pattern":"hidden"}`); o.says("") {
			t.Errorf("%s: a tool that a rule denies: %s", name, o.show())
		}
		if o := h.ask(d, "Read", `{"path":"a.txt"}`); !o.fails("Read: invalid input", "path") {
			t.Errorf("%s: a wrong property: %s", name, o.show())
		}
	}
	type line struct {
		Tool    string          `json:"tool"`
		Name    string          `json:"tool_name"`
		Event   string          `json:"hook_event_name"`
		Outcome string          `json:"outcome"`
		Input   json.RawMessage `json:"input"`
	}
	read := func(file string) (all []line) {
		for _, text := range lines(t, file) {
			var l line
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			all = append(all, l)
		}
		return all
	}
	count := map[string]int{}
	for _, l := range read(base + "/hooked") {
		count[l.Event+" "+l.Name]++
	}
	if count["PreToolUse mcp__one__echo"] != 2 || count["PostToolUse mcp__one__echo"] != 2 || count["PreToolUse Read"] < 2 || count["PreToolUse CallTool"] != 0 {
		t.Errorf("hooks saw %v", count)
	}
	for _, bad := range []struct{ args, want string }{
		{`{"name":"CallTool","arguments":{"name":"Read","arguments":{}}}`, "CallTool"},
		{`{"name":"ToolSearch","arguments":{"query":5}}`, "query"},
		{`{"name":"","arguments":{}}`, "name"},
		{`{"arguments":{}}`, "name"},
		{`{"name":"Read","args":{}}`, "args"},
		{`{"name":"Read","name":"Write","arguments":{}}`, "name"},
		{`{"name":"Read","arguments":[]}`, "arguments"},
		{`{"name":"mcp__one__ecko","arguments":{}}`, "mcp__one__echo"},
	} {
		if o := h.call("CallTool", bad.args); o.says("") || !strings.Contains(o.text+o.fault, bad.want) {
			t.Errorf("%s: %s", bad.args, o.show())
		}
	}
	for _, args := range []string{`{"name":"mcp__one__echo"}`, `{"name":"mcp__one__echo","arguments":null}`, `{"name":"mcp__one__echo","arguments":"{}"}`} {
		if o := h.call("CallTool", args); !o.says("{}") {
			t.Errorf("%s: %s", args, o.show())
		}
	}
	p.stop(t)
	audited := map[string]int{}
	for _, l := range read(base + "/audit.jsonl") {
		audited[l.Tool+" "+l.Outcome]++
		if l.Tool == "mcp__one__echo" && l.Outcome == "ok" && string(l.Input) != `{"big":12345678901234567890}` && string(l.Input) != "{}" {
			t.Errorf("the audit has the input %s", l.Input)
		}
	}
	if audited["mcp__one__echo ok"] != 5 || audited["Read ok"] != 2 || audited["CallTool ok"] != 0 {
		t.Errorf("the audit has %v", audited)
	}
}

// TestUpstreamDenied checks that a denied server is never started, whatever the form of
// the rule, and that the errors of its tools state the reason.
func TestUpstreamDenied(t *testing.T) {
	t.Parallel()
	server := func(mark string) string {
		return `{"command":"$UPSTREAM","args":["-mark","$BASE/` + mark + `"],"eager":true}`
	}
	web := startUpstreamHTTP(t, "-log", filepath.Join(newBase(t), "log"))
	settings := `{"deniedMcpServers":["shut","by-*",{"serverCommand":["$UPSTREAM","-mark","$BASE/command"]},{"serverUrl":"http://127.0.0.1:*"}],
		"permissions":{"allow":["mcp__open","mcp__shut","mcp__by-name","mcp__other","mcp__web"]},
		"mcpServers":{"open":` + server("open") + `,"Shut":` + server("shut") + `,"by-name":` + server("name") + `,"other":` + server("command") + fmt.Sprintf(`,"web":{"url":%q}}}`, web)
	h := connect(t, startPlace(t, placeOptions{settings: settings}), false, nil)
	h.must("mcp__open__echo", `{}`)
	for name, d := range doors {
		for _, tool := range []string{"mcp__Shut__echo", "mcp__by-name__echo", "mcp__other__echo", "mcp__web__echo"} {
			if o := h.ask(d, tool, `{}`); o.says("") || !strings.Contains(o.text+o.fault, "deniedMcpServers") {
				t.Errorf("%s by %s: %s", tool, name, o.show())
			}
		}
	}
	if o := h.call("ToolSearch", `{"query":"xylophone quartz"}`); !o.says("deniedMcpServers") {
		t.Errorf("the search: %s", o.show())
	}
	if out, err := exec.Command("ls", h.p.base).Output(); err != nil || strings.Contains(string(out), "shut") || strings.Contains(string(out), "name") || strings.Contains(string(out), "command") {
		t.Errorf("a server that may not run ran: %s %v", out, err)
	}
	only := `{"allowedMcpServers":[{"serverName":"open"}],"mcpServers":{"open":` + server("open") + `,"closed":` + server("closed") + `},"permissions":{"allow":["mcp__open"]}}`
	h = connect(t, startPlace(t, placeOptions{settings: only}), false, nil)
	h.must("mcp__open__echo", `{}`)
	if o := h.call("mcp__closed__echo", `{}`); o.says("") || !strings.Contains(o.text+o.fault, "allowedMcpServers") || there(h.p.base+"/closed") {
		t.Errorf("a server that is not among those allowed: %s", o.show())
	}
}

// TestUpstreamEnvironment checks that an upstream server gets the variables that MCP
// clients pass on and those that its settings name.
func TestUpstreamEnvironment(t *testing.T) {
	t.Parallel()
	settings := `{"permissions":{"allow":["mcp__one"]},"mcpServers":{
		"one":{"command":"$UPSTREAM","env":{"NAMED":"${GIVEN}","PLAIN":"x","OTHER":"${NOT_GIVEN:-fallback}"}},
		"broken":{"command":"$UPSTREAM","env":{"NAMED":"${NOT_GIVEN}","MORE":"${GIVEN}"}}}}`
	h := connect(t, startPlace(t, placeOptions{settings: settings, env: []string{"SECRET_OF_THE_SERVER=hush", "GIVEN=gift"}}), false, nil)
	got := strings.Split(h.must("mcp__one__env", `{}`).text, "\n")
	for _, want := range []string{"NAMED=gift", "PLAIN=x", "OTHER=fallback", "HOME=" + h.p.base + "/home"} {
		if !slices.Contains(got, want) {
			t.Errorf("its environment lacks %s: %q", want, got)
		}
	}
	for _, v := range got {
		name, _, _ := strings.Cut(v, "=")
		if !slices.Contains([]string{"NAMED", "PLAIN", "OTHER", "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TZ", "TMPDIR", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"}, name) &&
			!strings.HasPrefix(name, "LC_") && !strings.HasPrefix(name, "XDG_") && !strings.HasSuffix(strings.ToLower(name), "_proxy") {
			t.Errorf("its environment has %s", name)
		}
	}
	if o := h.call("mcp__broken__echo", `{}`); o.says("") || !strings.Contains(o.text+o.fault, "NOT_GIVEN") || strings.Contains(o.text+o.fault, "gift") {
		t.Errorf("a variable that is not set: %s", o.show())
	}
}
