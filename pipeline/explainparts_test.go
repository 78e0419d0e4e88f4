package pipeline

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/consent/classifier"
	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/internal/settings"
	"mcp-toolset/policy"
)

// TestExplainParts checks that each part is explained, in the session's working
// directory.
func TestExplainParts(t *testing.T) {
	b := newBench(t, `{"permissions":{"ask":["Ruled(say please)"]}}`)
	e := b.Explain(t.Context(), b.requestIn("Ruled", `{"do":"x","arg":"please"}`))
	want := []policy.PartDecision{
		{Text: "x", Behavior: policy.Allow, Layer: policy.LayerReadOnly, Reason: "it only reads"},
		{Text: "say please", Layer: policy.LayerRule, Behavior: policy.Ask, Rule: "Ruled(say please)", Source: "/etc/test.json", Line: 1, Reason: "the ask rule Ruled(say please) covers this call"},
	}
	if diff := cmp.Diff(want, e.Parts); diff != "" || len(e.Commands) != len(e.Parts) {
		t.Errorf("commands %q, (-want +have):\n%s", e.Commands, diff)
	}
	for _, args := range []string{`{"do":"x"}`, `{"du":"x"}`} {
		if e := b.Explain(t.Context(), b.requestIn("Do", args)); e.Parts != nil || e.Commands != nil {
			t.Errorf("%s: %+v", args, e)
		}
	}
}

// TestExplainUnnamed checks that a call which may open other files than it names is
// asked about where there are rules on files.
func TestExplainUnnamed(t *testing.T) {
	b := newBench(t, `{"permissions":{"allow":["Ruled"],"deny":["Read(.env)"]}}`)
	for args, want := range map[string]policy.Behavior{`{"do":"x"}`: policy.Allow, `{"do":"x","path":"it has variables"}`: policy.Ask} {
		if e := b.Explain(t.Context(), b.requestIn("Ruled", args)); e.Decision.Behavior != want {
			t.Errorf("%s: %v, want %v", args, e.Decision.Behavior, want)
		}
	}
}

// TestExplainStartsNothing checks that Explain counts hooks and starts neither
// hooks nor a classifier.
func TestExplainStartsNothing(t *testing.T) {
	b := newBench(t, `{"permissions":{"deny":["Gone"],"ask":["Do(x)"]}}`)
	s, err := settings.Parse([]byte(`{"hooks":{
		"PreToolUse":[{"matcher":"Do|Former|Gone","hooks":[{"type":"command","command":"a"},{"type":"command","command":"b"}]},{"hooks":[{"type":"command","command":"a"}]}],
		"PostToolUse":[{"hooks":[{"type":"command","command":"c"}]}]}}`), "/etc/hooks.json", "/etc")
	if err != nil {
		t.Fatal(err)
	}
	b.rules.Load().Hooks = s.Hooks()
	b.rules.Load().RunHooks = func(context.Context, hook.Event, []hook.Hook, hook.Input) hook.Verdict {
		t.Error("hooks were run")
		return hook.Verdict{}
	}
	b.rules.Load().Classify = func(context.Context, classifier.Question) *policy.ExternalDecision {
		t.Error("the classifier was asked")
		return nil
	}
	for _, tc := range []struct {
		tool, args string
		want       int
	}{
		{"Do", `{"do":"x","path":"/outside"}`, 2}, {"Do", `{"do":"x","path":"x"}`, 2}, {"Look", `{"do":"x"}`, 2}, // by its former name
		{"Ruled", `{"do":"x"}`, 1},
		{"Gone", `{"do":"x"}`, 0}, {"Do", `{"du":"x"}`, 0}, {"Doo", `{}`, 0},
	} {
		e := b.Explain(t.Context(), Request{Tool: tc.tool, Arguments: json.RawMessage(tc.args), Log: slog.New(slog.DiscardHandler)})
		if e.Hooks != tc.want {
			t.Errorf("%s %s: %d hooks, want %d", tc.tool, tc.args, e.Hooks, tc.want)
		}
	}
}
