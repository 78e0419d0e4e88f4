package settings

import (
	"testing"
	"time"

	"mcp-toolset/internal/consent/hook"

	"github.com/google/go-cmp/cmp"
)

func parseHooks(t *testing.T, text string) *Settings {
	t.Helper()
	s, err := Parse([]byte(text), "/cfg/s.json", "/cfg")
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
		event hook.Event
		tool  string
		want  []hook.Hook
	}{
		{hook.PreToolUse, "Edit", []hook.Hook{{Command: "a", Timeout: time.Minute, Source: src}, {Command: "b", Timeout: 7 * time.Second, Source: src}, {Command: " b", Timeout: time.Hour, Source: src}}},
		{hook.PreToolUse, "Read", []hook.Hook{{Command: "b", Timeout: 7 * time.Second, Source: src}, {Command: "a", Timeout: time.Second, Source: src}, {Command: " b", Timeout: time.Hour, Source: src}}},
		{hook.PostToolUse, "Read", []hook.Hook{{Command: "after", Timeout: 250 * time.Millisecond, Source: src}}},
		{hook.PostToolUseFailure, "Read", nil},
	} {
		if diff := cmp.Diff(c.want, h.Matching(c.event, c.tool, nil)); diff != "" {
			t.Errorf("%s of %s (-want +have):\n%s", c.event, c.tool, diff)
		}
	}
	if !h.Any(hook.PreToolUse) || !h.Any(hook.PostToolUse) || h.Any(hook.PostToolUseFailure) {
		t.Error("Any does not say which events have hooks")
	}
	first := h.Matching(hook.PreToolUse, "Edit", nil)
	if first[0].Command = "changed"; h.Matching(hook.PreToolUse, "Edit", nil)[0].Command != "a" {
		t.Error("the hooks can be changed from outside")
	}
}

func TestNoHooks(t *testing.T) {
	var none *Settings
	if none.HooksFailClosed() || parseHooks(t, `{}`).HooksFailClosed() {
		t.Error("settings without hooks fail closed")
	}
	for _, h := range []*hook.Hooks{none.Hooks(), parseHooks(t, `{}`).Hooks(), parseHooks(t, `{"hooks":{"PreToolUse":[]}}`).Hooks(), {}} {
		if h.Any(hook.PreToolUse) || h.Matching(hook.PreToolUse, "Read", nil) != nil {
			t.Errorf("%+v has hooks", h)
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
		if s.Hooks().Matching(hook.PreToolUse, "Any", nil) == nil || s.Hooks().Any(hook.PostToolUse) {
			t.Errorf("%s: before %v, after %v", matcher, s.Hooks().Matching(hook.PreToolUse, "Any", nil), s.Hooks().Any(hook.PostToolUse))
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
	one := func(file, command string, closed string) *Settings {
		s, err := Parse([]byte(`{"hooksFailClosed": `+closed+`, "hooks": {"PreToolUse": [{"hooks": [
			{"type": "command", "command": "both", "timeout": 1}, {"type": "command", "command": "`+command+`", "timeout": 2}]}]}}`), file, "/")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := one("/a", "x", "false"), one("/b", "y", "true")
	all := Merge([]*Settings{a, nil, b})
	want := []hook.Hook{{Command: "both", Timeout: time.Second, Source: "/a"}, {Command: "x", Timeout: 2 * time.Second, Source: "/a"}, {Command: "y", Timeout: 2 * time.Second, Source: "/b"}}
	if diff := cmp.Diff(want, all.Hooks().Matching(hook.PreToolUse, "T", nil)); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	if !all.HooksFailClosed() || !Merge([]*Settings{b, a}).HooksFailClosed() || Merge([]*Settings{a}).HooksFailClosed() || a.HooksFailClosed() {
		t.Error("failing closed is not what one of the files says")
	}
	if len(a.Hooks().Matching(hook.PreToolUse, "T", nil)) != 2 {
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
		`{"hooks":{"PreToolUse":[{"hooks":[],"hooks":[]}]}}`:     `line 1: hooks.PreToolUse[0].hooks: the key is given twice`,
		`{"hooksFailClosed":"true"}`:                             `line 1: hooksFailClosed: want true or false, have the string true`,
	} {
		_, err := Parse([]byte(text), "/cfg/s.json", "/cfg")
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
	for _, h := range s.Hooks().Matching(hook.PreToolUse, "T", nil) {
		got[h.Command] = h.Timeout
	}
	if diff := cmp.Diff(map[string]time.Duration{"untyped": time.Minute, "t0": time.Minute, "t1": time.Minute, "t2": time.Minute,
		"t3": time.Hour, "t4": time.Hour, "t5": time.Millisecond}, got); diff != "" {
		t.Errorf("hooks (-want +have):\n%s", diff)
	}
}
