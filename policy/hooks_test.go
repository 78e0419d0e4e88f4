package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func parseHooks(t *testing.T, text string) *Settings {
	t.Helper()
	s, err := ParseSettings([]byte(text), "/cfg/s.json", "/cfg")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHooks(t *testing.T) {
	s := parseHooks(t, `{"hooks": {
		"PostToolUse": [{"hooks": [{"type": "command", "command": "after", "timeout": 0.25}]}],
		"PreToolUse": [
			{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "a"}, {"type": "command", "command": "b", "timeout": 5}]},
			{"matcher": "*", "hooks": [{"type": "command", "command": "b", "timeout": 7}, {"type": "command", "command": "a", "timeout": 1}, {"type": "command", "command": " b", "timeout": 3600}]}
		]
	}}`)
	if w := s.Warnings(); len(w) != 0 {
		t.Errorf("warnings %q", w)
	}
	h := s.Hooks()
	const src = "/cfg/s.json"
	for _, c := range []struct {
		event Event
		tool  string
		want  []Hook
	}{
		{PreToolUse, "Edit", []Hook{{"a", time.Minute, src}, {"b", 7 * time.Second, src}, {" b", time.Hour, src}}},
		{PreToolUse, "Read", []Hook{{"b", 7 * time.Second, src}, {"a", time.Second, src}, {" b", time.Hour, src}}},
		{PostToolUse, "Read", []Hook{{"after", 250 * time.Millisecond, src}}},
		{PostToolUseFailure, "Read", nil},
	} {
		if diff := cmp.Diff(c.want, h.Matching(c.event, c.tool, nil)); diff != "" {
			t.Errorf("%s of %s (-want +have):\n%s", c.event, c.tool, diff)
		}
	}
	if !h.Any(PreToolUse) || !h.Any(PostToolUse) || h.Any(PostToolUseFailure) {
		t.Error("Any does not say which events have hooks")
	}
	first := h.Matching(PreToolUse, "Edit", nil)
	if first[0].Command = "changed"; h.Matching(PreToolUse, "Edit", nil)[0].Command != "a" {
		t.Error("the hooks can be changed from outside")
	}
}

func TestNoHooks(t *testing.T) {
	var none *Settings
	for _, h := range []*Hooks{none.Hooks(), parseHooks(t, `{}`).Hooks(), parseHooks(t, `{"hooks":{"PreToolUse":[]}}`).Hooks(), MergeHooks(), MergeHooks(nil, nil), {}} {
		if h.Any(PreToolUse) || h.FailClosed() || h.Matching(PreToolUse, "Read", nil) != nil {
			t.Errorf("%+v has hooks", h)
		}
	}
}

func TestMatcher(t *testing.T) {
	for _, c := range []struct {
		matcher, tool string
		aliases       []string
		want          bool
	}{
		{"", "Read", nil, true},
		{"*", "mcp__a__b", nil, true},
		{"Read", "Read", nil, true},
		{"Read", "ReadMore", nil, false},
		{"Read", "read", nil, false},
		{"Edit|Write", "Write", nil, true},
		{"Edit|Write", "Edit|Write", nil, false},
		{"Edit|Write", "NotebookEdit", nil, false},
		{" Edit | Write,Read|", "Read", nil, true},
		{" Edit | Write,Read|", "Write", nil, true},
		{" Edit | Write,Read|", "", nil, false},
		{"mcp__my-server__x", "mcp__my-server__x", nil, true},
		{"mcp__my-server__x", "mcp__my-server__xy", nil, false},
		{"KillShell", "TaskStop", []string{"KillBash", "KillShell"}, true},
		{"Kill.*", "TaskStop", []string{"KillBash", "KillShell"}, true},
		{"BashOutput", "TaskStop", []string{"KillBash", "KillShell"}, false},
		{"mcp__.*", "mcp__a__b", nil, true},
		{"^mcp__.*", "xmcp__a__b", nil, false},
		{"^Notebook", "NotebookEdit", nil, true},
		{"mcp__.*__write.*", "mcp__fs__write_file", nil, true},
		{"mcp__.*__write.*", "mcp__fs__read_file", nil, false},
		{"Edit.*", "EditMore", nil, true},
		{"Edit.*", "NotebookEdit", nil, true},
		{".*Edit", "NotebookEdit", nil, true},
		{"Notebook.*", "NotebookEdit", nil, true},
		{"^Bash$", "Bash", nil, true},
		{"^Bash$", "BashReadOnly", nil, false},
		{"^(Edit|Write)$", "Write", nil, true},
		{"Edit.|Write.?", "Write", nil, true},
		{"^(Edit.|Write.?)$", "WriteAB", nil, false},
		{"(?i)bash", "BASH", nil, true},
	} {
		m, err := parseMatcher(c.matcher)
		if err != nil {
			t.Errorf("%q: %v", c.matcher, err)
			continue
		}
		h := &Hooks{groups: []hookGroup{{PreToolUse, m, []Hook{{Command: "x"}}}}}
		if got := h.Matching(PreToolUse, c.tool, c.aliases) != nil; got != c.want {
			t.Errorf("matcher %q, tool %q, once %q: %v", c.matcher, c.tool, c.aliases, got)
		}
	}
}

// TestBrokenMatcher checks that a hook that could refuse calls runs for every call if
// its matcher is malformed.
func TestBrokenMatcher(t *testing.T) {
	for matcher, why := range map[string]string{
		`^(?!Read)`:    `^(?!Read) cannot be used (look-around such as (?! is not supported)`,
		`(?<=mcp__).*`: `(?<=mcp__).* cannot be used (look-around such as (?< is not supported)`,
		`Edit(`:        `Edit( cannot be used (missing closing ): Edit()`,
		`**`:           `** cannot be used (missing argument to repetition operator: *)`,
		`a)|(b`:        `a)|(b cannot be used (unexpected ): a)|(b)`,
		`(.)\\1`:       `(.)\1 cannot be used (invalid escape sequence: \1)`,
		`|`:            `| cannot be used (it names no tool)`,
		` `:            `  cannot be used (it names no tool)`,
	} {
		group := `[{"matcher": "` + matcher + `", "hooks": [{"type": "command", "command": "x"}]}]`
		s := parseHooks(t, `{"hooks": {"PreToolUse": `+group+`, "PostToolUse": `+group+`}}`)
		if s.Hooks().Matching(PreToolUse, "Any", nil) == nil || s.Hooks().Any(PostToolUse) {
			t.Errorf("%s: before %v, after %v", matcher, s.Hooks().Matching(PreToolUse, "Any", nil), s.Hooks().Any(PostToolUse))
		}
		want := []string{
			"/cfg/s.json:1: hooks.PreToolUse[0].matcher: " + why + ", so its hooks run for every call",
			"/cfg/s.json:1: hooks.PostToolUse[0].matcher: " + why + ", so its hooks never run",
		}
		if diff := cmp.Diff(want, s.Warnings()); diff != "" {
			t.Errorf("%s (-want +have):\n%s", matcher, diff)
		}
	}
}

func TestMergeHooks(t *testing.T) {
	one := func(file, command string, closed string) *Hooks {
		s, err := ParseSettings([]byte(`{"hooksFailClosed": `+closed+`, "hooks": {"PreToolUse": [{"hooks": [
			{"type": "command", "command": "both", "timeout": 1}, {"type": "command", "command": "`+command+`", "timeout": 2}]}]}}`), file, "/")
		if err != nil {
			t.Fatal(err)
		}
		return s.Hooks()
	}
	a, b := one("/a", "x", "false"), one("/b", "y", "true")
	all := MergeHooks(a, nil, b)
	want := []Hook{{"both", time.Second, "/a"}, {"x", 2 * time.Second, "/a"}, {"y", 2 * time.Second, "/b"}}
	if diff := cmp.Diff(want, all.Matching(PreToolUse, "T", nil)); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	if !all.FailClosed() || !MergeHooks(b, a).FailClosed() || MergeHooks(a).FailClosed() || a.FailClosed() {
		t.Error("failing closed is not what one of the files says")
	}
	if len(a.Matching(PreToolUse, "T", nil)) != 2 {
		t.Error("merging has changed what was merged")
	}
}

func TestHooksErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"hooks":[]}`:                                           `line 1: hooks: want an object, have an array`,
		"{\"hooks\":{\n\"PreToolUse\":{}}}":                      `line 2: hooks.PreToolUse: want an array of objects, have an object`,
		`{"hooks":{"PostToolUse":["x"]}}`:                        `line 1: hooks.PostToolUse[0]: want an object, have the string x`,
		`{"hooks":{"PreToolUse":[{"matcher":null}]}}`:            `line 1: hooks.PreToolUse[0].matcher: want a string, have null`,
		`{"hooks":{"PreToolUse":[{"hooks":{}}]}}`:                `line 1: hooks.PreToolUse[0].hooks: want an array of objects, have an object`,
		"{\"hooks\":{\"PreToolUse\":[{},{\"hooks\":[\n1]}]}}":    `line 2: hooks.PreToolUse[1].hooks[0]: want an object, have a number`,
		`{"hooks":{"PreToolUse":[{"hooks":[{"type":1}]}]}}`:      `line 1: hooks.PreToolUse[0].hooks[0].type: want a string, have a number`,
		`{"hooks":{"PreToolUse":[{"hooks":[{"command":[]}]}]}}`:  `line 1: hooks.PreToolUse[0].hooks[0].command: want a string, have an array`,
		`{"hooks":{"PreToolUse":[{"hooks":[{"timeout":"5"}]}]}}`: `line 1: hooks.PreToolUse[0].hooks[0].timeout: want a number of seconds, have the string 5`,
		`{"hooks":{"PreToolUse":[{"hooks":[],"hooks":[]}]}}`:     `line 1: hooks.PreToolUse[0].hooks: the key stands twice`,
		`{"hooksFailClosed":"true"}`:                             `line 1: hooksFailClosed: want true or false, have the string true`,
	} {
		_, err := ParseSettings([]byte(text), "/cfg/s.json", "/cfg")
		if want = "parsing settings /cfg/s.json: " + want; err == nil || err.Error() != want {
			t.Errorf("%s\nwant %s\nhave %v", text, want, err)
		}
	}
}

func TestHooksWarnings(t *testing.T) {
	s := parseHooks(t, `{
		"hookFailClosed": true, "HooksFailClosed": true,
		"hooks": {
			"SessionStart": "whatever", "pretooluse": [], "Stop\u0007": [],
			"PreToolUse": [
				{}, {"Matcher": "x", "hooks": []},
				{"hooks": [
					{"prompt": "p", "type": "prompt"}, {"type": "HTTP"}, {"type": "\u001b"},
					{"type": "command"}, {"type": "command", "command": " \n"}, {"type": "command", "command": "a\u0000"},
					{"type": "command", "command": "node", "args": ["x"]},
					{"command": "untyped", "async": true, "Timeout": 3}
				]},
				{"matcher": "^Notebook", "hooks": [{"type": "command", "command": "half"}]},
				{"matcher": "Edit$", "hooks": [{"type": "command", "command": "half"}]},
				{"hooks": [
					{"type": "command", "command": "t0", "timeout": 0}, {"type": "command", "command": "t1", "timeout": -1e999},
					{"type": "command", "command": "t2", "timeout": 1e-9}, {"type": "command", "command": "t3", "timeout": 60000},
					{"type": "command", "command": "t4", "timeout": 1e999}, {"type": "command", "command": "t5", "timeout": 0.001}
				]}
			]
		}
	}`)
	want := []string{
		`/cfg/s.json:4: hooks.SessionStart: there is no such event here, its hooks never run`,
		`/cfg/s.json:6: hooks.PreToolUse[0]: it has no hooks, ignored`,
		`/cfg/s.json:8: hooks.PreToolUse[2].hooks[0]: hooks of type prompt have no effect here, only those of type command`,
		`/cfg/s.json:8: hooks.PreToolUse[2].hooks[1]: hooks of type HTTP have no effect here, only those of type command`,
		`/cfg/s.json:8: hooks.PreToolUse[2].hooks[2]: hooks of type "\x1b" have no effect here, only those of type command`,
		`/cfg/s.json:9: hooks.PreToolUse[2].hooks[3]: it has no command that can be run, ignored`,
		`/cfg/s.json:9: hooks.PreToolUse[2].hooks[4]: it has no command that can be run, ignored`,
		`/cfg/s.json:9: hooks.PreToolUse[2].hooks[5]: it has no command that can be run, ignored`,
		`/cfg/s.json:10: hooks.PreToolUse[2].hooks[6]: hooks with args have no effect here; write them into the command`,
		`/cfg/s.json:11: hooks.PreToolUse[2].hooks[7]: it has no type, taken as command`,
		`/cfg/s.json:11: hooks.PreToolUse[2].hooks[7].async: a key of Claude Code without effect here, ignored`,
		`/cfg/s.json:16: hooks.PreToolUse[5].hooks[0].timeout: 0 seconds is too short; the default of 1m0s is taken`,
		`/cfg/s.json:16: hooks.PreToolUse[5].hooks[1].timeout: -1e999 seconds is too short; the default of 1m0s is taken`,
		`/cfg/s.json:17: hooks.PreToolUse[5].hooks[2].timeout: 1e-9 seconds is too short; the default of 1m0s is taken`,
		`/cfg/s.json:17: hooks.PreToolUse[5].hooks[3].timeout: 60000 seconds is too long; 1h0m0s is taken`,
		`/cfg/s.json:18: hooks.PreToolUse[5].hooks[4].timeout: 1e999 seconds is too long; 1h0m0s is taken`,
	}
	if diff := cmp.Diff(want, s.Warnings()); diff != "" {
		t.Errorf("warnings (-want +have):\n%s", diff)
	}
	for _, w := range s.Warnings() {
		if err := plainLine(w); err != nil {
			t.Errorf("%s: %v", w, err)
		}
	}
	got := map[string]time.Duration{}
	for _, h := range s.Hooks().Matching(PreToolUse, "T", nil) {
		got[h.Command] = h.Timeout
	}
	if diff := cmp.Diff(map[string]time.Duration{"untyped": time.Minute, "t0": time.Minute, "t1": time.Minute, "t2": time.Minute,
		"t3": time.Hour, "t4": time.Hour, "t5": time.Millisecond}, got); diff != "" {
		t.Errorf("hooks (-want +have):\n%s", diff)
	}
}
