package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadsFreely checks that the shortcut for policies without rules on files makes
// the same decisions as the full evaluation.
func TestReadsFreely(t *testing.T) {
	for name, rules := range map[string]Rules{"no rules": {}, "rules on commands": ruleset(entry{"deny", "Bash(rm *)"})} {
		compare(t, name, New(Config{Rules: rules, Roots: []string{"/w", "/w2"}, Closed: []string{"/w/closed"}, Home: "/home/u"}))
		compare(t, name+", the root is /", New(Config{Rules: rules, Roots: []string{"/"}, Closed: []string{"/w/closed"}, Home: "/home/u"}))
	}
}

func compare(t *testing.T, name string, short *Policy) {
	t.Helper()
	if !short.readsFreely {
		t.Errorf("%s: it does not read freely", name)
	}
	long := *short
	long.readsFreely = false
	for _, path := range []string{
		"/w", "/w/a", "/w/a/../b", "/w/a/../closed/b", "/w/../etc/passwd", "/w//a", "/w/a/", "/w2/x/y", "/w3", "/wa", "/", "", "/proc/self/environ", "/w/proc",
		"/w/closed", "/w/closed/a", "/w/closer", "/w/.git/config", "/w/.env", "/home/u/.ssh/id", "/etc/passwd",
	} {
		for _, literal := range []string{path, "/w/link"} {
			for _, access := range []Access{Read, Edit} {
				target := Target{Literal: literal, Canonical: path, Access: access}
				got, want := short.CheckPath("Grep", nil, target, "/w", nil), long.CheckPath("Grep", nil, target, "/w", nil)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: %+v is decided in another way (-long +short):\n%s", name, target, diff)
				}
			}
		}
	}
}
