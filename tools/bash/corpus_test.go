package bash

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/policy"
)

// Decisions on the corpora.

// TestPathPolicy checks that a command that reads secrets or outside of the workspace
// always asks, and that no sandbox is relied on to prevent it.
func TestPathPolicy(t *testing.T) {
	s := at(t, "/ws")
	s.withCommands(commandsWithSecret(t, "/ws"))
	cmds := lines(t, "bash_path_policy.txt")
	if len(cmds) < 60 {
		t.Fatalf("only %d commands", len(cmds))
	}
	for _, s.uncontained = range []bool{false, true} {
		for tool := range s.tools {
			for _, cmd := range cmds {
				if d := s.decide(t, tool, cmd); d.Behavior == policy.Allow {
					t.Errorf("tool %d, uncontained %v: %q: %s, %s", tool, s.uncontained, cmd, show(d), d.Reason)
				}
			}
		}
	}
}

// TestNotReadOnly checks that a command that changes something is never allowed as
// read-only, and never without a sandbox.
func TestNotReadOnly(t *testing.T) {
	s := at(t, "/ws")
	n := 0
	for _, name := range []string{"bash_not_readonly.txt", "more_not_readonly.txt"} {
		for _, cmd := range lines(t, name) {
			if cmd == "" || !utf8.ValidString(cmd) || cmd == "/bin/ls" || // read-only where its folder is trusted
				shellsafe.Normalize(cmd) != cmd { // another text runs
				continue
			}
			n++
			for _, s.uncontained = range []bool{false, true} {
				d := s.decide(t, 0, cmd)
				if d.Layer == policy.LayerReadOnly || s.uncontained && d.Behavior == policy.Allow {
					t.Errorf("uncontained %v: %q: %s", s.uncontained, cmd, show(d))
				}
			}
			if r := s.request(t, 0, cmd); r.ReadOnly {
				t.Errorf("%q is read-only", cmd)
			}
		}
	}
	if n < 700 {
		t.Errorf("only %d commands", n)
	}
}

// TestReadOnlyAllowed checks that a read-only command runs without approval, with or
// without a sandbox, unless it reads outside of the workspace.
func TestReadOnlyAllowed(t *testing.T) {
	s := at(t, "/ws")
	for _, name := range []string{"bash_readonly.txt", "more_readonly.txt"} {
		for _, cmd := range lines(t, name) {
			for _, s.uncontained = range []bool{false, true} {
				outside := strings.Contains(cmd, "/etc") || strings.Contains(cmd, "~") || strings.Contains(cmd, "$HOME")
				if d := s.decide(t, 0, cmd); show(d) != "allow:read-only" && !(outside && show(d) == "ask:path") {
					t.Errorf("uncontained %v: %q: %s, %s", s.uncontained, cmd, show(d), d.Reason)
				}
			}
		}
	}
}

// TestRuleCases checks the decisions on the cases of the corpus under one rule. There
// is no sandbox, so a command that no rule allows asks.
func TestRuleCases(t *testing.T) {
	data, err := os.ReadFile(corpora + "rule_cases.tsv")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		bash := len(f) > 3 && (strings.HasPrefix(f[1], "Bash(") || strings.HasPrefix(f[2], "Bash: "))
		if !bash || f[0] == "rule" || strings.HasPrefix(line, "#") {
			continue
		}
		n++
		cmd := decode(t, strings.TrimPrefix(f[2], "Bash: "))
		want, _, _ := strings.Cut(f[3], " (")
		if want == "reject" {
			if err := validate(cmd, 0, mostTimeout, "", nil); err == nil {
				t.Errorf("%q is valid", cmd)
			}
			continue
		}
		if f[0] == "allow" && shellsafe.Normalize(cmd) != cmd {
			continue // another text runs
		}
		s := newScene(t)
		s.uncontained = true
		s.set(t, entry{f[0], f[1]})
		d := s.decide(t, 0, cmd)
		ok := false
		for _, one := range strings.Split(want, " or ") {
			ok = ok || one == d.Behavior.String() || one == "not denied" && d.Behavior != policy.Deny ||
				one == "ask" && d.Layer == policy.LayerReadOnly // not allowed by the rule
		}
		if !ok {
			t.Errorf("%s %s, %q: %s, want %s", f[0], f[1], cmd, show(d), f[3])
		}
		if d.Behavior == policy.Allow && f[0] == "allow" && d.Layer != policy.LayerRule && d.Layer != policy.LayerReadOnly {
			t.Errorf("%s %s, %q: %s", f[0], f[1], cmd, show(d))
		}
	}
	if n < 80 {
		t.Errorf("only %d cases", n)
	}
}
