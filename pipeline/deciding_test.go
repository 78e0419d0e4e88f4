package pipeline

import (
	"slices"
	"testing"

	"mcp-toolset/policy"
)

func TestDeciding(t *testing.T) {
	part := func(b policy.Behavior, text string) policy.PartDecision {
		return policy.PartDecision{Behavior: b, Text: text}
	}
	ask := func(reason string) policy.Decision { return policy.Decision{Behavior: policy.Ask, Reason: reason} }
	for _, tc := range []struct {
		name     string
		decision policy.Decision
		parts    []policy.PartDecision
		want     []int
	}{
		{"allowed", policy.Decision{Behavior: policy.Allow}, []policy.PartDecision{part(policy.Allow, "ls")}, nil},
		{"decided alike", ask("sudo /opt/x"), []policy.PartDecision{part(policy.Allow, "cat /opt/x"), part(policy.Ask, "sudo x")}, []int{1}},
		{"by its path", ask("/opt/zz is outside the workspace roots"), []policy.PartDecision{part(policy.Allow, "ls"), part(policy.Allow, "mkdir -p /opt/zz")}, []int{1}},
		{"by the folder it is in", ask("/up/x is outside"), []policy.PartDecision{part(policy.Allow, "cat ../up/x"), part(policy.Allow, "ls x")}, []int{0}},
		{"in the home folder", ask("/home/u/.ssh/id (a key) is hidden"), []policy.PartDecision{part(policy.Allow, "ls"), part(policy.Allow, "cat ~/.ssh/id")}, []int{1}},
		{"by wildcards", ask("the rule x covers /ws/secrets/key"), []policy.PartDecision{part(policy.Allow, "ls"), part(policy.Allow, "cat sec*/k*")}, []int{1}},
		{"not by the roots", ask("/opt/zz is outside the workspace roots (/ws, /lib)"), []policy.PartDecision{part(policy.Allow, "cd ."), part(policy.Allow, "ls /lib"), part(policy.Allow, "rm -r /opt/zz")}, []int{2}},
		{"behind the roots", ask("x is outside the workspace roots (/ws), and the rule covers /opt/zz"), []policy.PartDecision{part(policy.Allow, "cd ."), part(policy.Allow, "rm -r /opt/zz")}, []int{1}},
		{"the only one", ask("commands are not contained"), []policy.PartDecision{part(policy.Allow, "make")}, []int{0}},
		{"not known", ask("commands are not contained"), []policy.PartDecision{part(policy.Allow, "ls"), part(policy.Allow, "make")}, nil},
	} {
		if got := deciding(tc.decision, tc.parts, "/ws", "/home/u"); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
