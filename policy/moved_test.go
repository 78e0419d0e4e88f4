package policy_test

import (
	"testing"

	"mcp-toolset/internal/settings"
	"mcp-toolset/policy"
)

// TestMoved checks the decisions of a session in a worktree: what it may change, and that rules on
// the checkout also hold for the copies in the worktree.
func TestMoved(t *testing.T) {
	const main, tree = "/home/u/app", "/home/u/trees/w"
	set, err := settings.Parse([]byte(`{"permissions":{
		"deny": ["Read(//home/u/app/absolute/**)", "Edit(~/app/home.txt)", "Read(relative/**)", "Read(//home/u/trees/w/own.txt)"],
		"ask": ["Edit(//home/u/app/ask.txt)"],
		"allow": ["Edit(//home/u/app/allowed.txt)"]}}`), "/home/u/settings.json", "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	base := policy.New(policy.Config{Rules: set.Rules(), Roots: []string{main, "/srv/other"}, Home: "/home/u", Closed: []string{main + "/closed"}})
	moved := base.Moved([]string{tree, "/srv/other"}, tree, main)
	bypass := policy.New(policy.Config{Roots: []string{main}, Mode: policy.ModeBypass}).Moved([]string{tree}, tree, main)
	for _, test := range []struct {
		path   string
		access policy.Access
		want   policy.Behavior
	}{
		{tree + "/a.txt", policy.Edit, policy.Allow},
		{"/srv/other/a.txt", policy.Edit, policy.Allow},
		{main + "/a.txt", policy.Read, policy.Allow},
		{main + "/a.txt", policy.Edit, policy.Deny},
		{main, policy.Edit, policy.Deny},
		{main + "/.git/config", policy.Edit, policy.Deny},
		{main + "/allowed.txt", policy.Edit, policy.Deny},
		{main + "2/a.txt", policy.Edit, policy.Ask},
		{tree + "/allowed.txt", policy.Edit, policy.Allow},
		{tree + "/absolute/x", policy.Read, policy.Deny},
		{tree + "/absolute/x", policy.Edit, policy.Deny},
		{main + "/absolute/x", policy.Read, policy.Deny},
		{tree + "/home.txt", policy.Edit, policy.Deny},
		{tree + "/home.txt", policy.Read, policy.Allow},
		{tree + "/relative/x", policy.Read, policy.Deny},
		{main + "/relative/x", policy.Read, policy.Deny},
		{tree + "/own.txt", policy.Read, policy.Deny},
		{tree + "/ask.txt", policy.Edit, policy.Ask},
		{tree + "/closed/x", policy.Read, policy.Deny},
		{tree + "/.git/hooks/x", policy.Edit, policy.Ask},
		{"/home/u/trees/other/a.txt", policy.Read, policy.Ask},
	} {
		target := policy.Target{Literal: test.path, Canonical: test.path, Access: test.access}
		tool := test.access.String()
		r := policy.Request{Tool: tool, Dir: tree, Target: &target, ReadOnly: test.access == policy.Read}
		if d := moved.Decide(r); d.Behavior != test.want {
			t.Errorf("%s %s: %s (%s)", tool, test.path, d.Behavior, d.Reason)
		}
		if d := moved.CheckPath(tool, nil, target, tree, nil); d.Behavior != test.want {
			t.Errorf("CheckPath: %s %s: %s (%s)", tool, test.path, d.Behavior, d.Reason)
		}
		parts := policy.Request{Tool: "Bash", Dir: tree, Parts: &policy.Parts{Targets: []policy.Target{target}}}
		if d := moved.Decide(parts); d.Behavior != test.want {
			t.Errorf("Bash: %s %s: %s (%s)", tool, test.path, d.Behavior, d.Reason)
		}
		if test.want == policy.Deny && test.path == main+"/a.txt" {
			if d := bypass.Decide(r); d.Behavior != policy.Deny {
				t.Errorf("bypassPermissions: %s (%s)", d.Behavior, d.Reason)
			}
			const reason, next = `/home/u/app/a.txt is in the main checkout, which is read-only until ExitWorktree`, `use the file in the worktree, /home/u/trees/w/a.txt`
			if d := moved.Decide(r); d.Reason != reason || d.Next != next {
				t.Errorf("%s. %s", d.Reason, d.Next)
			}
			head := policy.Target{Literal: main + "/.git/HEAD", Canonical: main + "/.git/HEAD", Access: policy.Edit}
			if d := moved.Decide(policy.Request{Tool: "Edit", Dir: tree, Target: &head}); d.Behavior != policy.Deny || d.Next != "use git in the worktree" {
				t.Errorf("%s. %s", d.Reason, d.Next)
			}
		}
	}
	hiding := moved.HidingRules(tree, false)
	for path, want := range map[string]bool{tree + "/absolute/x": true, main + "/absolute/x": true, tree + "/relative/x": true, tree + "/x": false} {
		if hiding.Covers(policy.Read, path) != want {
			t.Errorf("%s is hidden: %v", path, !want)
		}
	}
	var names []string
	for _, a := range []policy.Access{policy.Read, policy.Edit} {
		names = append(names, append(hiding.Named(a), hiding.Below(a)...)...)
	}
	for _, want := range []string{main + "/absolute", tree + "/absolute", tree + "/home.txt", tree + "/ask.txt"} {
		found := false
		for _, name := range names {
			found = found || name == want
		}
		if !found {
			t.Errorf("%s is not among %q", want, names)
		}
	}
}
