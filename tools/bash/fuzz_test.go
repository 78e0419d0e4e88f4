package bash

import (
	"strings"
	"testing"
	"unicode/utf8"

	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/internal/testscale"
	"mcp-toolset/policy"
)

// FuzzBash runs the analysis and the policy on any text and checks that nothing panics,
// that an unknown command is never allowed, and that a denied command that is
// recognized is denied.
func FuzzBash(f *testing.F) {
	for _, name := range []string{"bash_readonly.txt", "bash_not_readonly.txt", "bash_either.txt", "bash_path_policy.txt", "more_not_readonly.txt"} {
		for _, cmd := range testscale.Sample(lines(f, name), 60) {
			f.Add(cmd)
		}
	}
	for _, b := range decisions(f) {
		for _, r := range b.rows {
			f.Add(r.command)
		}
	}
	s := at(f, "/ws")
	s.uncontained = true
	f.Fuzz(func(t *testing.T, cmd string) {
		if !utf8.ValidString(cmd) || validate(cmd, 0, mostTimeout, "", nil) != nil {
			return
		}
		cmd = shellsafe.Normalize(cmd)
		a := shellsafe.Analyse(cmd, shellsafe.Options{Dir: s.ws, Roots: []string{s.ws}, Home: s.home})
		s.set(t, entry{"allow", "Bash(ls:*)"}, entry{"allow", "Bash(git log:*)"})
		d := s.decide(t, 0, cmd)
		if d.Behavior == policy.Allow && a.Unresolved != "" {
			t.Errorf("%q is not known (%s) and %s", cmd, a.Unresolved, show(d))
		}
		if d.Behavior == policy.Allow && d.Layer != policy.LayerRule && d.Layer != policy.LayerReadOnly {
			t.Errorf("%q: %s", cmd, show(d))
		}
		s.set(t, entry{"deny", "Bash(curl:*)"}, entry{"allow", "Bash"})
		d = s.decide(t, 0, cmd)
		for _, c := range a.Commands {
			if c.Name == "curl" && d.Behavior != policy.Deny {
				t.Errorf("%q runs curl: %s", cmd, show(d))
			}
		}
		if d.Behavior == policy.Allow && a.Unresolved != "" {
			t.Errorf("%q is not known (%s) and %s", cmd, a.Unresolved, show(d))
		}
		s.set(t)
		if s.decide(t, 1, strings.TrimSpace(cmd)).Behavior == policy.Deny {
			t.Errorf("%q: BashReadOnly is denied by no rule", cmd)
		}
	})
}
