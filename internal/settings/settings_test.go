package settings

import (
	"reflect"
	"strings"
	"testing"

	"mcp-toolset/policy"

	"github.com/google/go-cmp/cmp"
)

func TestParseSettings(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	s, err := Parse([]byte("\ufeff"+`{
		"$schema": "x",
		"permissions": {
			"allow": ["Read(a)"], "ask": [], "deny": ["Bash"],
			"additionalDirectories": ["/a/../b/", "~", "~/x", "../lib", "."],
			"defaultMode": "default"
		},
		"features": {"web": true, "notebooks": "off", "jobs": "on", "x": false}
	}`), "/cfg/s.json", "/cfg")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/b", "/home/u", "/home/u/x", "/lib", "/cfg"}, s.AdditionalDirectories()); diff != "" {
		t.Errorf("additional directories (-want +have):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"web": true, "notebooks": false, "jobs": true, "x": false}, s.Features()); diff != "" {
		t.Errorf("features (-want +have):\n%s", diff)
	}
	if w := s.Warnings(); len(w) != 0 {
		t.Errorf("warnings %q", w)
	}
	s.Features()["web"] = false
	if !s.Features()["web"] {
		t.Error("the features can be changed from outside")
	}
	t.Setenv("HOME", "")
	if diff := cmp.Diff([]string{"/b", "/lib", "/cfg"}, s.AdditionalDirectories()); diff != "" {
		t.Errorf("additional directories without a home (-want +have):\n%s", diff)
	}
}

const wantMode = `"default", "acceptEdits", "manual", "plan", "dontAsk" or "bypassPermissions"`

func TestParseSettingsErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                             `the file is empty; write at least {}`,
		" \n":                          `the file is empty; write at least {}`,
		"\"\xff":                       `the file is not UTF-8`,
		`[]`:                           `line 1: the file: want an object, have an array`,
		`null`:                         `line 1: the file: want an object, have null`,
		"{\n\n,":                       `line 3, column 1: expected a quoted key, found ","`,
		`{} {}`:                        `line 1, column 4: expected the end of the file, found "{"`,
		`{"permissions":{"deny":[1]}}`: `line 1: permissions.deny[0]: want a string, have a number`,
		"{\"permissions\":{\"deny\":[\n\"a\",\nnull]}}":                    `line 3: permissions.deny[1]: want a string, have null`,
		`{"permissions":{"allow":"Read"}}`:                                 `line 1: permissions.allow: want an array of strings, have the string Read`,
		`{"permissions":{"ask":{}}}`:                                       `line 1: permissions.ask: want an array of strings, have an object`,
		`{"permissions":[]}`:                                               `line 1: permissions: want an object, have an array`,
		`{"permissions":{"additionalDirectories":[true]}}`:                 `line 1: permissions.additionalDirectories[0]: want a string, have a boolean`,
		`{"permissions":{"defaultMode":3}}`:                                `line 1: permissions.defaultMode: want ` + wantMode + `, have a number`,
		`{"permissions":{"defaultMode":"Plan"}}`:                           `line 1: permissions.defaultMode: want ` + wantMode + `, have the string Plan; did you mean plan?`,
		`{"permissions":{"defaultMode":"accept"}}`:                         `line 1: permissions.defaultMode: want ` + wantMode + `, have the string accept; did you mean acceptEdits?`,
		`{"permissions":{"defaultMode":""}}`:                               `line 1: permissions.defaultMode: want ` + wantMode + `, have the string ""`,
		`{"permissions":{"defaultMode":"yolo"}}`:                           `line 1: permissions.defaultMode: want ` + wantMode + `, have the string yolo`,
		`{"features":[]}`:                                                  `line 1: features: want an object, have an array`,
		`{"editGuard":true}`:                                               `line 1: editGuard: want "strict", "default" or "off", have a boolean`,
		`{"editGuard":"On"}`:                                               `line 1: editGuard: want "strict", "default" or "off", have the string On`,
		`{"taskList":true}`:                                                `line 1: taskList: want a name of 1 to 64 letters, digits, - and _, have a boolean`,
		`{"taskList":"../a"}`:                                              `line 1: taskList: want a name of 1 to 64 letters, digits, - and _, have the string ../a`,
		`{"taskList":""}`:                                                  `line 1: taskList: want a name of 1 to 64 letters, digits, - and _, have the string ""`,
		`{"reminder":1}`:                                                   `line 1: reminder: want true, false, "on", "off" or {"exempt": [model...]}, have a number`,
		`{"reminder":{"exempt":"m"}}`:                                      `line 1: reminder.exempt: want an array of strings, have the string m`,
		`{"profiles":{"A B":{}}}`:                                          `line 1: profiles.A B: a name has 1 to 64 small letters, digits and single hyphens`,
		`{"profiles":{"a":[]}}`:                                            `line 1: profiles.a: want an object, have an array`,
		`{"profiles":{"a":{"mode":"default"}}}`:                            `line 1: profiles.a.mode: want "plan": a profile can only make the mode stricter, have the string default`,
		`{"profiles":{"a":{"tools":["Bash(git *)"]}}}`:                     `line 1: profiles.a.tools: Bash(git *) is not the name of a tool; rules belong to permissions.deny`,
		`{"profiles":{"a":{"disallowedTools":["W*"]}}}`:                    `line 1: profiles.a.disallowedTools: W* is not the name of a tool; rules belong to permissions.deny`,
		`{"profiles":{"a":{"prompt":"` + strings.Repeat("x", 701) + `"}}}`: `line 1: profiles.a.prompt: it has 701 bytes and may have 700`,
		`{"features":{"a":1}}`:                                             `line 1: features.a: want true, false, "on" or "off", have a number`,
		`{"features":{"a":"On"}}`:                                          `line 1: features.a: want true, false, "on" or "off", have the string On`,
		"{\"permissions\":{\"deny\":[],\n\"deny\":[]}}":                    `line 2: permissions.deny: the key is given twice`,
		`{"permissions":{},"permission\u0073":{}}`:                         `line 1: permissions: the key is given twice`,
		`{"x":[{"a":1,"a":2}]}`:                                            `line 1: x[0].a: the key is given twice`,
		`{"\u001b[1m":1,"\u001b[1m":2}`:                                    `line 1: "\x1b[1m": the key is given twice`,
		strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200):                `line 1: nested more than 100 deep`,
	} {
		_, err := Parse([]byte(text), "/cfg/s.json", "/cfg")
		if want = "parsing settings /cfg/s.json: " + want; err == nil || err.Error() != want {
			t.Errorf("%s\nwant %s\nhave %v", text, want, err)
		}
	}
}

func TestSettingsWarnings(t *testing.T) {
	s, err := Parse([]byte(`{
		"Permissions": {}, "deny": [], "hook": {}, "a\nb": 1,
		"permissions": {
			"Deny": [], "other": 1, "defaultMode": "plan",
			"additionalDirectories": ["", "~bob/x"],
			"deny": ["Bash(", "Bash()", "Read(!a)", "Read([)", "(x)", "Edit(a\u200b)", "Web*", "mcp__gh(x)", "mcp__gh__", "mcp__my srv", "mcp__", "", "*", "Shell", "Fetch(x)", "mcp__db"],
			"ask": ["Edit(../a)", "Shell(ls)", "Raed"],
			"allow": ["Read(", "Fetch(x)", "Write(a)", "Edit(x)", "Read(~/x)", "mcp__db__query", "Bаsh"]
		}
	}`), "/cfg/s.json", "")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`/cfg/s.json:2: "a\nb": unknown key, ignored`,
		`/cfg/s.json:5: permissions.additionalDirectories: "" is not a folder that can be found, ignored`,
		`/cfg/s.json:5: permissions.additionalDirectories: ~bob/x is not a folder that can be found, ignored`,
		`deny rule Bash( in /cfg/s.json:6 is malformed (it opens "(" and does not end in ")"): it covers every Bash call`,
		`deny rule Bash() in /cfg/s.json:6 is malformed (the pattern is empty): it covers every Bash call`,
		`deny rule Read(!a) in /cfg/s.json:6 is malformed (a pattern cannot begin with "!"): it covers every path that Read rules can cover`,
		`deny rule Read([) in /cfg/s.json:6 is malformed (a [ in it is not closed): it covers every path that Read rules can cover`,
		`deny rule (x) in /cfg/s.json:6 is malformed (it names no tool): it has no effect`,
		`deny rule "Edit(a\u200b)" in /cfg/s.json:6 is malformed (it holds '\u200b', a character that does not show): it covers every path that Edit rules can cover`,
		`deny rule Web* in /cfg/s.json:6 is malformed ("*" can stand only at the end of a name such as mcp__server__*): it covers every call of a tool whose name begins with Web`,
		`deny rule mcp__gh(x) in /cfg/s.json:6 is malformed (a rule on a whole server cannot have a pattern): it covers every call of a tool whose name begins with mcp__gh__`,
		`deny rule mcp__gh__ in /cfg/s.json:6 is malformed (it names no tool of the server): it covers every call of a tool whose name begins with mcp__gh__`,
		`deny rule mcp__my srv in /cfg/s.json:6 is malformed (' ' cannot be in the name of a tool): it covers every call of a tool whose name begins with mcp__my_srv__`,
		`deny rule mcp__ in /cfg/s.json:6 is malformed (it names no server): it covers every call of a tool whose name begins with mcp__`,
		`deny rule "" in /cfg/s.json:6 is malformed (it names no tool): it has no effect`,
		`deny rule * in /cfg/s.json:6 is malformed ("*" can stand only at the end of a name such as mcp__server__*): it covers every call`,
		`ask rule Edit(../a) in /cfg/s.json:7 is malformed (".." is not supported; write the folder from the file-system root, with //): it covers every path that Edit rules can cover`,
		`allow rule Read( in /cfg/s.json:8 is malformed (it opens "(" and does not end in ")"): it has no effect`,
		`allow rule Bаsh in /cfg/s.json:8 is malformed ('\u0430' cannot be in the name of a tool): it has no effect`,
		`ask rule Shell(ls) in /cfg/s.json:7 has no effect: the deny rule Shell in /cfg/s.json:6 comes first`,
		`allow rule Fetch(x) in /cfg/s.json:8 has no effect: the deny rule Fetch(x) in /cfg/s.json:6 comes first`,
		`allow rule Write(a) in /cfg/s.json:8 opens no path outside the workspace roots; Edit rules do`,
		`allow rule mcp__db__query in /cfg/s.json:8 has no effect: the deny rule mcp__db in /cfg/s.json:6 comes first`,
	}
	if diff := cmp.Diff(want, s.Warnings()); diff != "" {
		t.Errorf("settings warnings (-want +have):\n%s", diff)
	}
	p := policy.New(policy.Config{Rules: s.Rules(), KnownTools: []string{"Bash", "Write", "Shell", "Fetch", "READ"}})
	want = []string{
		`/cfg/s.json:7: the ask rule names Raed, which is not a tool here; did you mean READ?`,
		`allow rule Read(~/x) in /cfg/s.json:8: the folder it begins at is not known, so it has no effect`,
		"/cfg/s.json:8: the allow rule \"B\u0430sh\" is malformed; did you mean Bash(PATTERN)?",
	}
	if diff := cmp.Diff(want, p.Warnings()); diff != "" {
		t.Errorf("policy warnings (-want +have):\n%s", diff)
	}
}

func FuzzSettings(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"permissions":{"allow":["Read(a)"],"deny":["Bash(","*"],"defaultMode":"x"},"features":{"a":"on"}}`,
		`{"a":1,"a":2}`, `[[[[`, `{"permissions":{"deny":["Read([a-]b/**)","mcp__x__*"],"additionalDirectories":["~/x",""]}}`,
		`{"mcpServers":{"a b":{"command":"${X:-./y}","args":["${Z}"],"env":{"A":"${B"},"cwd":"~","timeout":5},"w":{"url":"https://x.com:443/a/../b","headers":{"A":"b"},"type":"http"}}}`,
		`{"deniedMcpServers":["a*",{"serverUrl":"https://*.x.com:*/*"}],"allowedMcpServers":[{"serverCommand":["./y"]},{"serverUrl":"*"},1],"upstream":{"pin":true}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data, "/cfg/s.json", "/cfg")
		if err != nil {
			if s != nil || plainLine(err.Error()) != nil {
				t.Errorf("error %q: %v", err, plainLine(err.Error()))
			}
			return
		}
		again, err := Parse(data, "/cfg/s.json", "/cfg")
		if err != nil || !reflect.DeepEqual(s, again) {
			t.Errorf("parsed twice, it differs: %v", err)
		}
		p := policy.New(world(s))
		for _, w := range p.Warnings() {
			if err := plainLine(w); err != nil {
				t.Errorf("warning %q: %v", w, err)
			}
		}
		probe := []Upstream{{Name: "a b", Command: "/cfg/y"}, {Name: "w", URL: "https://X.com./b?c"}}
		for _, u := range s.Upstreams() {
			if unusable(u.Name) != "" || (u.Command == "") == (u.URL == "") {
				t.Errorf("server %+v", u)
			}
			u, err := u.Expand(func(string) string { return "v" }, "/home/u")
			if err != nil && plainLine(err.Error()) != nil {
				t.Errorf("error %q: %v", err, plainLine(err.Error()))
			}
			if err == nil {
				probe = append(probe, u)
			}
		}
		for _, u := range probe {
			if why, refused := s.UpstreamRefused(u); refused != (why != "") || plainLine(why) != nil {
				t.Errorf("%+v: %q, %v", u, why, refused)
			}
			if _, refused := s.Tightened().UpstreamRefused(u); refused && len(s.denied) == 0 {
				t.Errorf("%+v: refused by what nobody trusts", u)
			}
		}
		for _, l := range s.Loosens() {
			if err := plainLine(l.Key); err != nil {
				t.Errorf("loose %+v: %v", l, err)
			}
		}
		for _, call := range []string{"Read /ws/a", "Write /etc/a", "Bash: x", "Read /ws/a -> /proc/1"} {
			d := p.Decide(request(call))
			if err := plainLine(d.Reason + d.Next); err != nil {
				t.Errorf("%s: %+v: %v", call, d, err)
			}
		}
	})
}
