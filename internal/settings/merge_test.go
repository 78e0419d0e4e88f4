package settings

import (
	"fmt"
	"strings"
	"testing"

	"mcp-toolset/policy"

	"github.com/google/go-cmp/cmp"
)

// TestMergeValues checks that a value that is not a list comes from the most
// authoritative file that sets it, whatever the value is, and that lists are
// concatenated.
func TestMergeValues(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	for _, c := range []struct {
		name          string
		first, second string
		value         func(*Settings) any
		want          string
	}{
		{"mode, first", `{"permissions":{"defaultMode":"default"}}`, `{"permissions":{"defaultMode":"plan"}}`, func(s *Settings) any { return s.Mode() }, "default"},
		{"mode, second", `{}`, `{"permissions":{"defaultMode":"plan"}}`, func(s *Settings) any { return s.Mode() }, "plan"},
		{"mode, none", `{}`, `{}`, func(s *Settings) any { return s.Mode() }, ""},
		{"guard, first", `{"editGuard":"default"}`, `{"editGuard":"off"}`, func(s *Settings) any { return s.EditGuard() }, "default"},
		{"guard, second", `{}`, `{"editGuard":"strict"}`, func(s *Settings) any { return s.EditGuard() }, "strict"},
		{"guard, none", `{}`, `{}`, func(s *Settings) any { return s.EditGuard() }, "default"},
		{"task list, first", `{"taskList":"a"}`, `{"taskList":"b"}`, func(s *Settings) any { return s.TaskList() }, "a"},
		{"task list, second", `{}`, `{"taskList":"b"}`, func(s *Settings) any { return s.TaskList() }, "b"},
		{"task list, none", `{}`, `{}`, func(s *Settings) any { return s.TaskList() }, ""},
		{"reminder, on first", `{"reminder":true}`, `{"reminder":false}`, func(s *Settings) any { return s.Reminder("m") }, "true"},
		{"reminder, off first", `{"reminder":"off"}`, `{"reminder":"on"}`, func(s *Settings) any { return s.Reminder("m") }, "false"},
		{"reminder, second", `{"reminder":{}}`, `{"reminder":false}`, func(s *Settings) any { return s.Reminder("m") }, "false"},
		{"exempt", `{"reminder":{"exempt":["a"]}}`, `{"reminder":{"exempt":["b"]}}`, func(s *Settings) any { return fmt.Sprint(s.Reminder("a"), s.Reminder("b"), s.Reminder("c")) }, "false false true"},
		{"caches, first", `{"sandbox":{"caches":true}}`, `{"sandbox":{"caches":false}}`, func(s *Settings) any { return s.Sandbox().Caches }, "true"},
		{"caches, second", `{"sandbox":{}}`, `{"sandbox":{"caches":false}}`, func(s *Settings) any { return s.Sandbox().Caches }, "false"},
		{"network, first", `{"sandbox":{"network":"allow"}}`, `{"sandbox":{"network":"deny"}}`, func(s *Settings) any { return s.Sandbox().Network }, "allow"},
		{"network, second", `{}`, `{"sandbox":{"network":"deny"}}`, func(s *Settings) any { return s.Sandbox().Network }, "deny"},
		{"features", `{"features":{"a":true,"b":false}}`, `{"features":{"a":false,"b":true,"c":true}}`, func(s *Settings) any { return s.Features() }, "map[a:true b:false c:true]"},
		{"directories", `{"permissions":{"additionalDirectories":["x","~/y"]}}`, `{"permissions":{"additionalDirectories":["x","/z"]}}`,
			func(s *Settings) any { return s.AdditionalDirectories() }, "[/one/x /home/u/y /two/x /z]"},
		{"allowWrite", `{"sandbox":{"allowWrite":["x"]}}`, `{"sandbox":{"allowWrite":["~","x"]}}`, func(s *Settings) any { return s.Sandbox().AllowWrite }, "[/one/x /home/u /two/x]"},
		{"profiles", `{"profiles":{"a":{"tools":["Read"]}}}`, `{"profiles":{"a":{"tools":["Bash"]},"b":{"disallowedTools":["mcp__x__*"],"mode":"plan","prompt":"P"}}}`, func(s *Settings) any {
			a, b := s.Profiles()[0], s.Profiles()[1]
			return fmt.Sprint(a.Name, a.Tools, a.Source, b.Name, b.Tools == nil, b.DisallowedTools, b.Mode, b.Prompt)
		}, "a[Read]/one/s.jsonbtrue [mcp__x__*]planP"},
		{"profile faults", `{"profiles":{"a":{"tools":["Raed","Read","mcp__x"]}}}`, `{"profiles":{"b":{"disallowedTools":["Xyz"]}}}`, func(s *Settings) any { return strings.Join(s.Faults([]string{"Read", "Bash"}), "|") },
			`/one/s.json:1: profiles.a: there is no tool Raed; did you mean Read?|/two/s.json:1: profiles.b: there is no tool Xyz`},
		{"scrub", `{"env":{"scrub":["A"]}}`, `{"env":{"scrub":["B"]}}`, func(s *Settings) any { scrub, _ := s.Env(); return scrub }, "[A B]"},
		{"pass", `{"env":{"pass":["A"]}}`, `{"env":{"pass":["B"]}}`, func(s *Settings) any { _, pass := s.Env(); return pass }, "[A B]"},
	} {
		one, two := parse(t, "/one/s.json", "/one", c.first), parse(t, "/two/s.json", "/two", c.second)
		if have := fmt.Sprint(c.value(Merge([]*Settings{nil, one, nil, two}))); have != c.want {
			t.Errorf("%s: %s, want %s", c.name, have, c.want)
		}
	}
	one := parse(t, "/one/s.json", "/one", `{}`)
	if Merge(nil) != nil || Merge([]*Settings{nil}) != nil || Merge([]*Settings{nil, one}) != one {
		t.Error("none is not nil, or one is not itself")
	}
}

// TestMergeRules checks that a rule retains the properties of its file: its line, and
// the folder at which its pattern begins.
func TestMergeRules(t *testing.T) {
	one := parse(t, "/one/s.json", "/one", "{\"permissions\":{\n\"deny\":[\n\"Read(/a)\",\n\"Bash(rm)\"],\n\"allow\":[\"Read(/b)\"]}}")
	two := parse(t, "/two/s.json", "/two", "{\"permissions\":{\"deny\":[\"Read(/a)\",\n\"Bash\"],\"ask\":[\n\"Edit(/c/*.x)\"],\n\"allow\":[\"Read(/b)\"]}}")
	merged := Merge([]*Settings{one, two})
	p := policy.New(policy.Config{Rules: merged.Rules(), Roots: []string{"/ws", "/two/c"}, Home: "/home/u"})
	for _, c := range []struct{ call, behavior, where string }{
		{"Read /one/a", "deny", "/one/s.json:3"},
		{"Read /two/a/b", "deny", "/two/s.json:1"},
		{"Read /a", "ask", ""},
		{"Read /one/b", "allow", "/one/s.json:5"},
		{"Read /two/b", "allow", "/two/s.json:4"},
		{"Edit /two/c/a.x", "ask", "/two/s.json:3"},
		{"Edit /two/c/a.y", "allow", ""},
		{"Bash: rm", "deny", "/one/s.json:4"}, // the rule of the first file comes first
		{"Bash: ls", "deny", "/two/s.json:2"},
	} {
		d := p.Decide(request(c.call))
		if d.Behavior.String() != c.behavior || d.Location() != c.where {
			t.Errorf("%s: %s by %s, want %s by %s", c.call, d.Behavior, d.Location(), c.behavior, c.where)
		}
		if c.where != "" && d.Next != "" && !strings.Contains(d.Next, c.where) {
			t.Errorf("%s: %s", c.call, d.Next)
		}
	}
	if rule, where, denied := p.DeniedTool("Bash", nil); !denied || rule != "Bash" || where != "/two/s.json:2" {
		t.Errorf("%s, %s, %v", rule, where, denied)
	}
	if d := p.Decide(request("Read /etc/x")); !strings.HasSuffix(d.Next, " to the settings file") {
		t.Errorf("where to add a rule: %s", d.Next)
	}
	p = policy.New(policy.Config{Rules: merged.Rules(), Roots: []string{"/ws"}, AddTo: "/home/u/s.json"})
	if d := p.Decide(request("Read /etc/x")); !strings.HasSuffix(d.Next, " to /home/u/s.json") {
		t.Errorf("where to add a rule: %s", d.Next)
	}
}

// TestMergeWarnings checks the order of warnings: those of each file, then those about
// rules that a rule of another file makes ineffective. Rules with the same text in two
// files are different if they begin at different folders.
func TestMergeWarnings(t *testing.T) {
	one := parse(t, "/one/s.json", "/one", "{\"x\":1,\"permissions\":{\"deny\":[\"Fetch\",\"Read(/a)\",\"Grep(\"],\n\"ask\":[\"Move(a)\"],\"allow\":[\"Fetch(a)\",\"Copy\"]}}")
	two := parse(t, "/two/s.json", "/two", "{\"y\":1,\"permissions\":{\"deny\":[\"Copy\"],\n\"ask\":[\"Read(/a)\",\"Fetch(b)\"],\n\"allow\":[\"Move(a)\",\"Fetch(b)\",\"Grep(x)\"]}}")
	want := []string{
		`/one/s.json:1: x: unknown key, ignored`,
		`/two/s.json:1: y: unknown key, ignored`,
		`deny rule Grep( in /one/s.json:1 is malformed (it opens "(" and does not end in ")"): it covers every Grep call`,
		`allow rule Fetch(a) in /one/s.json:2 has no effect: the deny rule Fetch in /one/s.json:1 comes first`,
		`allow rule Fetch(b) in /two/s.json:3 has no effect: the ask rule Fetch(b) in /two/s.json:2 comes first`,
		`allow rule Grep(x) in /two/s.json:3 opens no path outside the workspace roots; Read rules do`,
		`ask rule Fetch(b) in /two/s.json:2 has no effect: the deny rule Fetch in /one/s.json:1 comes first`,
		`allow rule Copy in /one/s.json:2 has no effect: the deny rule Copy in /two/s.json:1 comes first`,
		`allow rule Move(a) in /two/s.json:3 has no effect: the ask rule Move(a) in /one/s.json:2 comes first`,
	}
	if diff := cmp.Diff(want, Merge([]*Settings{one, two}).Warnings()); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
}

// TestTightened checks that only deny and ask rules of untrusted settings apply.
func TestTightened(t *testing.T) {
	s := parse(t, "/ws/.mcp-toolset/settings.json", "/ws", `{"odd": 1,
		"permissions": {"deny": ["Bash(rm)"], "ask": ["Read(//etc/**)", "Edit(/a)"],
			"allow": ["Read(//other/**)", "Bash(rm)", "Edit("],
			"additionalDirectories": ["/"], "defaultMode": "bypassPermissions"},
		"features": {"x": true}, "editGuard": "off", "reminder": false,
		"sandbox": {"allowRead": ["/"], "allowWrite": ["/"], "network": "allow"}, "env": {"pass": ["A"]}, "taskList": "team"
	}`)
	loose := policy.New(world(s))
	tight := policy.New(world(s.Tightened()))
	for _, c := range []struct{ call, loose, tight string }{
		{"Bash: rm", "deny", "deny"},
		{"Bash: ls", "allow", "allow"},
		{"Read /ws/x", "allow", "allow"},
		{"Edit /ws/a", "ask", "ask"},
		{"Read /etc/passwd", "ask", "ask"},
		{"Read /other/x", "allow", "ask"},
		{"Read /proc/1", "deny", "deny"},
		{"Read /state/x", "deny", "deny"},
	} {
		req := request(c.call)
		if l, g := loose.Decide(req).Behavior.String(), tight.Decide(req).Behavior.String(); l != c.loose || g != c.tight {
			t.Errorf("%s: %s and %s, want %s and %s", c.call, l, g, c.loose, c.tight)
		}
	}
	g := s.Tightened()
	scrub, pass := g.Env()
	if have := fmt.Sprint(g.AdditionalDirectories(), g.Mode(), g.Features(), g.EditGuard(), g.Reminder("m"), g.Sandbox(), scrub, pass, g.TaskList()); have != "[]map[]defaulttrue {[] [] true ask {[] true}} [] []" {
		t.Errorf("what is left: %s", have)
	}
	want := []string{
		`/ws/.mcp-toolset/settings.json:1: odd: unknown key, ignored`,
		`/ws/.mcp-toolset/settings.json is not trusted: of it only deny and ask rules hold, not permissions.allow (line 3), permissions.additionalDirectories (line 4), ` +
			`permissions.defaultMode (line 4), features (line 5), editGuard (line 5), reminder (line 5), sandbox (line 6), env (line 6), taskList (line 6); to use all of it, run mcp-toolset trust /ws`,
	}
	if diff := cmp.Diff(want, g.Warnings()); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	for text, root := range map[string]string{`{"permissions":{"deny":["Bash"],"allow":[]},"features":{}}`: "/ws", `{}`: "/ws"} {
		if w := parse(t, "/ws/s.json", root, text).Tightened().Warnings(); len(w) > 0 {
			t.Errorf("%s: %q, though nothing is left out", text, w)
		}
	}
	for root, want := range map[string]string{"/a b": "'/a b'", "/it's": `'/it'\''s'`, "/é;x": `'/é;x'`, "/a\nb": `"/a\nb"`, "/p-1.x/_y": "/p-1.x/_y"} {
		w := parse(t, "/s.json", root, `{"editGuard":"off"}`).Tightened().Warnings()
		if len(w) != 1 || !strings.HasSuffix(w[0], " trust "+want) || plainLine(w[0]) != nil {
			t.Errorf("%q: %q", root, w)
		}
	}
	var none *Settings
	if none.Tightened() != nil || none.Mode() != "" || none.TaskList() != "" {
		t.Error("nil settings")
	}
}

// TestLoosens checks that Loosens lists everything that trust would permit, item by
// item, and that no text in it can hide.
func TestLoosens(t *testing.T) {
	s := parse(t, "/p/s.json", "/p", `{"permissions": {"deny": ["Bash(rm)"],
		"allow": ["Bash(a *)",
			"Bash(b\u202e\u001b[2K)"], "additionalDirectories": []},
		"features": {"web": true}, "reminder": {"exempt": ["m"]}, "odd": {"allow": 1},
		"sandbox": {"caches": false, "allowWrite": ["/x"]}, "editGuard": "off"}`)
	want := []Loosening{
		{"permissions.allow", 2, `"Bash(a *)"`},
		{"permissions.allow", 3, `"Bash(b\u202e\x1b[2K)"`},
		{"features.web", 4, "true"},
		{"reminder.exempt", 4, `"m"`},
		{"sandbox.caches", 5, "false"},
		{"sandbox.allowWrite", 5, `"/x"`},
		{"editGuard", 5, `"off"`},
	}
	if diff := cmp.Diff(want, s.Loosens()); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	n, err := readJSON([]byte(`{"a": [1.50, true, null, {"b": "c\n"}], "d": {}}`))
	if err != nil {
		t.Fatal(err)
	}
	if have := n.json(); have != `{"a": [1.50, true, null, {"b": "c\n"}], "d": {}}` {
		t.Error(have)
	}
	var none *Settings
	if none.Loosens() != nil || s.FeatureAt("web") != "/p/s.json:4" {
		t.Errorf("%v, %s", none.Loosens(), s.FeatureAt("web"))
	}
}
