package config

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"mcp-toolset/internal/testscale"
	"mcp-toolset/session"
	"mcp-toolset/tools/toolstest"
)

var options = Options{
	Files: []File{{"project", "/f", "trusted"}, {"user", "/h/settings.json", "absent"}},
	Settings: []Setting{
		{Name: "permissions.allow", Meaning: "calls that run without asking", Change: "To change it, the user edits it."},
		{Name: "permissions.defaultMode", Meaning: "the mode", Values: []Value{{Text: "plan", Source: "flag"}}, Unused: []Value{{Text: `"manual"`, Source: "/f:3", Why: "the flag --mode overrides it"}}, Change: "To change it, the user starts the server with another --mode, or without it."},
		{Name: "permissions.deny", Meaning: "calls that are refused", Values: []Value{{Text: `"Bash"`, Source: "/f:1"}, {Text: `"Read(./x)"`, Source: "/g:2"}}, Change: "To change it, the user edits /f."},
		{Name: "sandbox.caches", Meaning: "caches", Unused: []Value{{Text: "false", Source: "/p:2", Why: "the project is not trusted"}}, Change: "To use that of the project, the user runs it."},
		{Name: "--mode", Meaning: "the mode", Values: []Value{{Text: "plan", Source: "flag"}}, Change: "To change it, the user starts the server with --mode MODE."},
		{Name: "--sandbox", Meaning: "contain commands", Default: "auto", Change: "To change it, the user starts the server with --sandbox MODE."},
		{Name: "MCP_TOOLSET_TOKEN", Meaning: "the token", Values: []Value{{Source: "environment"}}, Change: "To change it, ..."},
	},
}

func TestConfig(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	tool := New(options)
	for _, tc := range []struct{ arguments, want string }{
		{`{}`, `Settings files, the most authoritative first:
- project: /f (trusted)
- user: /h/settings.json (absent)
Set:
- permissions.defaultMode: plan [flag]
- permissions.deny: 2 values, first "Bash" [project:1 and other places]
- sandbox.caches: without effect, the project is not trusted [/p:2]
- --mode: plan [flag]
- MCP_TOOLSET_TOKEN: (not shown, it may be secret) [environment]
Defaults: --sandbox auto
Not set: permissions.allow
[Config with setting shows one with its source, and how the user changes it]`},
		{`{"setting":"permissions.defaultMode"}`, `permissions.defaultMode: the mode
In effect:
- plan [flag]
Without effect:
- "manual" [/f:3; the flag --mode overrides it]
To change it, the user starts the server with another --mode, or without it.`},
		{`{"setting":"permissions.deny"}`, `permissions.deny: calls that are refused
In effect:
- "Bash" [/f:1]
- "Read(./x)" [/g:2]
To change it, the user edits /f.`},
		{`{"setting":"sandbox.caches"}`, `sandbox.caches: caches
It is not set.
Without effect:
- false [/p:2; the project is not trusted]
To use that of the project, the user runs it.`},
		{`{"setting":"sandbox"}`, `--sandbox: contain commands
In effect: auto [default]
To change it, the user starts the server with --sandbox MODE.
See also sandbox.caches`},
		{`{"setting":" permissions.allow "}`, `permissions.allow: calls that run without asking
It is not set.
To change it, the user edits it.`},
		{`{"setting":"permissions"}`, `Set:
- permissions.defaultMode: plan [flag]
- permissions.deny: 2 values, first "Bash" [/f:1 and other places]
Not set: permissions.allow
[Config with setting shows one with its source, and how the user changes it]`},
		{`{"setting":"permissions.alow"}`, `there is no setting "permissions.alow". The nearest are permissions.allow, permissions.deny.`},
		{`{"setting":"ermissions"}`, `there is no setting "ermissions". The nearest are permissions.deny, permissions.allow, permissions.defaultMode.`},
		{`{"setting":"--sandbx"}`, `there is no setting "--sandbx". The nearest is sandbox.`},
		{`{"setting":"nothing\nlike it"}`, `there is no setting "nothing\nlike it". Call Config without setting, which lists all.`},
		{`{"setting":1}`, `property "setting" is 1. Send a string.`},
	} {
		resp, err := w.Call(t.Context(), tool, tc.arguments)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = toolstest.Text(resp)
		}
		if got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.arguments, got, tc.want)
		}
	}
	effect := func(planning, acceptEdits bool, prefix string) {
		t.Helper()
		w.Session.Apply(session.Effect{Planning: &planning, AcceptEdits: acceptEdits})
		for arguments, noted := range map[string]bool{`{}`: true, `{"setting":"mode"}`: true, `{"setting":"permissions.deny"}`: false} {
			resp, err := w.Call(t.Context(), tool, arguments)
			if err != nil || strings.HasPrefix(toolstest.Text(resp), prefix) != noted {
				t.Errorf("%s: %v, %s", arguments, err, toolstest.Text(resp))
			}
		}
	}
	effect(true, false, "This session is in plan mode, ")
	effect(false, true, "In this session the user has accepted edits with a plan: where the setting of the mode is default, acceptEdits holds.\n")
}

// TestLimit checks that answers have at most maxText characters, whatever the settings are.
func TestLimit(t *testing.T) {
	long := strings.Repeat("é", 3000)
	var o Options
	for i := range 200 {
		o.Files = append(o.Files, File{"user", fmt.Sprint(i, long), "not trusted: only its deny and ask rules hold"})
		s := Setting{Name: fmt.Sprint("a.", i, long), Meaning: long, Change: long}
		switch i % 4 {
		case 0:
			for range testscale.N(40, 100) {
				s.Values = append(s.Values, Value{Text: long, Source: long})
				s.Unused = append(s.Unused, Value{Text: "x", Source: "y", Why: long})
			}
		case 1:
			s.Default = long
		case 2:
			s.Values = []Value{{Text: "x\ny", Source: "f"}}
		}
		o.Settings = append(o.Settings, s)
		if i >= 100 {
			o.Settings[i].Name = fmt.Sprint("--", i)
			o.Files[i] = File{}
		}
	}
	o.Settings[0].Name = "a"
	for _, name := range append([]string{"", "a", "a."}, o.Settings[1].Name, o.Settings[4].Name, "100") {
		text, err := o.text(name, session.View{Planning: true})
		if n := utf8.RuneCountInString(text); err == nil && n > maxText || err != nil && len(err.Error()) > 600 {
			t.Errorf("%.20s: %d characters: %v", name, n, err)
		}
	}
}
