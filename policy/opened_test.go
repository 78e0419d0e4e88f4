package policy_test

import (
	"path/filepath"
	"testing"

	"mcp-toolset/policy"
)

// TestOpened closes a folder but for one in it, in which another is closed.
func TestOpened(t *testing.T) {
	p := policy.New(policy.Config{
		Roots: []string{"/w/anna/work"}, Closed: []string{"/w", "/w/anna/state"}, Opened: []string{"/w/anna", "/w/.tmp/a"},
	})
	for path, want := range map[string]policy.Behavior{
		"/w/anna/work/a": policy.Allow, "/w/anna/home/a": policy.Ask, "/w/anna": policy.Ask, "/w/.tmp/a/b": policy.Ask, "/etc/hosts": policy.Ask,
		"/w": policy.Deny, "/w/bob/work/a": policy.Deny, "/w/annab": policy.Deny, "/w/.tmp": policy.Deny, "/w/.tmp/b": policy.Deny,
		"/w/anna/state": policy.Deny, "/w/anna/state/token": policy.Deny, "/w/anna/work/../../bob": policy.Deny, "/w/.workspaces/anna.json": policy.Deny,
	} {
		for _, access := range []policy.Access{policy.Read, policy.Edit} {
			d := p.CheckPath("Read", nil, policy.Target{Literal: path, Canonical: filepath.Clean(path), Access: access}, "/w/anna/work", nil)
			if got := d.Behavior; got != want && !(want == policy.Allow && access == policy.Edit && got == policy.Ask) {
				t.Errorf("%s: %v (%s), want %v", path, got, d.Reason, want)
			}
		}
	}
}
