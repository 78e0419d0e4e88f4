package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAgentPrograms(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	var none *Settings
	if none.AgentPrograms() != nil {
		t.Error("no settings name a program")
	}
	s := parsed(t, "f", `{"agents":{"codex":{"command":["codex","exec","-"],"protocol":"text"},"gem":{"command":["~/bin/gem","--acp","--key=secret"],"protocol":"acp","contained":false},"sh":{"command":"cat"},"in":{"command":["./in"],"contained":true}}}`)
	want := []AgentProgram{{"codex", []string{"codex", "exec", "-"}, false, false}, {"gem", []string{"/home/u/bin/gem", "--acp", "--key=secret"}, true, true}, {"sh", []string{"sh", "-c", "cat"}, false, false}, {"in", []string{s.root + "/in"}, false, false}}
	if diff := cmp.Diff(want, s.AgentPrograms()); diff != "" {
		t.Error(diff)
	}
	if got := entries(t, s); strings.Contains(got, "secret") || !strings.Contains(got, "agents.gem.command") || !strings.Contains(got, "agents.codex.protocol") {
		t.Error(got)
	}
	for _, c := range []struct{ more, less, want string }{
		{`{}`, `{"agents":{"a":{"command":"x"}}}`, "a"},
		{`{"agents":{"b":{"command":"x"}}}`, `{"agents":{"a":{"command":"x"}}}`, "b"},
		{`{"agents":{}}`, `{"agents":{"a":{"command":"x"}}}`, ""},
	} {
		merged := Merge([]*Settings{parsed(t, "more", c.more), parsed(t, "less", c.less)})
		var names []string
		for _, a := range merged.AgentPrograms() {
			names = append(names, a.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s over %s: %q", c.more, c.less, got)
		}
	}
	for text, want := range map[string]string{
		`{"agents":[]}`:                                     "agents: want an object, have an array",
		`{"agents":{"A b":{"command":"x"}}}`:                "agents.A b: a name has 1 to 64 small letters, digits and single hyphens",
		`{"agents":{"explore":{}}}`:                         "agents.explore: this type of agents is built in; use another name",
		`{"agents":{"a":"x"}}`:                              "agents.a: want an object, have the string x",
		`{"agents":{"a":{}}}`:                               "agents.a: it has no command; add the program with its arguments",
		`{"agents":{"a":{"command":[]}}}`:                   "agents.a.command: want a program and its arguments, or a text for sh, have an array without a program",
		`{"agents":{"a":{"command":"x","protocol":"mcp"}}}`: `agents.a.protocol: want one of text, acp, have mcp`,
		`{"agents":{"a":{"command":"x","contained":1}}}`:    "agents.a.contained: want true or false, have a number",
	} {
		if _, err := Parse([]byte(text), "f", "/"); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	project := parsed(t, "f", `{"agents":{"a":{"command":"x"}}}`)
	project.withoutUsersOnly()
	if project.AgentPrograms() != nil || len(project.Loosens()) != 0 {
		t.Errorf("a project sets %v", project.AgentPrograms())
	}
	if diff := cmp.Diff([]string{"f:1: agents: a project cannot set it, ignored; set it in your own settings"}, project.Warnings()); diff != "" {
		t.Error(diff)
	}
}
