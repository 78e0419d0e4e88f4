package settings

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"mcp-toolset/policy"
)

// parse returns the Settings of one of several files.
func parse(t testing.TB, path, root, text string) *Settings {
	t.Helper()
	s, err := Parse([]byte(text), path, root)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// world returns a Config with the rules of settings.
func world(s *Settings) policy.Config {
	return policy.Config{Rules: s.Rules(), AddTo: s.Source(), Roots: []string{"/ws", "/lib"}, Closed: []string{"/state"}, Home: "/home/u"}
}

// request parses a call: "TOOL PATH", "TOOL PATH -> TARGET" or "TOOL: TEXT".
func request(call string) policy.Request {
	tool, rest, _ := strings.Cut(call, " ")
	if name, ok := strings.CutSuffix(tool, ":"); ok {
		return policy.Request{Tool: name, Dir: "/ws", Match: func(_ policy.Behavior, pattern string) bool { return pattern == rest }}
	}
	literal, canonical, ok := strings.Cut(rest, " -> ")
	if !ok {
		canonical = literal
	}
	target := &policy.Target{Literal: literal, Canonical: canonical}
	if tool == "Edit" || tool == "Write" {
		target.Access = policy.Edit
	}
	return policy.Request{Tool: tool, Dir: "/ws", Target: target}
}

// plainLine returns what makes a text unsafe to show.
func plainLine(s string) error {
	if len(s) > 3000 {
		return fmt.Errorf("%d bytes long", len(s))
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("not UTF-8")
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("holds %+q", r)
		}
	}
	return nil
}
