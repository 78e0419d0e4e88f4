package pipeline

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/event"
	"mcp-toolset/tools"
)

// TestLater checks that a call that runs after its caller is decided on its own, asks nobody, and
// takes no events.
func TestLater(t *testing.T) {
	b := newBench(t, asks)
	folder := b.approvals(t)
	b.Events = event.New()
	owner := b.session.View().Owner()
	if got := b.run(t, t.Context(), "Do", `{"do":"later"}`); got != "" {
		t.Fatalf("got %q", got)
	}
	later := lastLater
	b.Events.Add(owner, event.Event{Source: "x", Text: "y"})
	for args, want := range map[string]string{
		`{"do":"x","arg":"done"}`:                 "done",
		`{"do":"x","path":"ask.txt"}`:             "refused by policy: the ask rule Do(ask.txt) covers this call, and the user cannot be asked here",
		`{"do":"x","arg":"done","path":"no.txt"}`: "refused by policy: the deny rule Do(no.txt)",
	} {
		resp, err := later(t.Context(), "Do", json.RawMessage(args))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(joinText(resp.Content), b.root, "$ROOT"); !strings.Contains(got, want) || strings.Contains(got, "approve") {
			t.Errorf("%s: %s", args, got)
		}
	}
	if events, _ := b.Events.Take(owner); len(events) != 1 {
		t.Errorf("the events are %v", events)
	}
	// A decision by number is for the call of the model.
	const asked = `{"do":"x","path":"ask.txt"}`
	if got := b.run(t, t.Context(), "Do", asked); !strings.Contains(got, "approval 1 is pending") {
		t.Fatal(got)
	}
	if _, err := approval.Approve(t.Context(), folder, 1, false); err != nil {
		t.Fatal(err)
	}
	if resp, err := later(t.Context(), "Do", json.RawMessage(asked)); err != nil || !resp.Failed {
		t.Errorf("it uses an approval of the user: %v", err)
	}
}

// lastLater is Env.Later of the last call with "later".
var lastLater func(context.Context, string, json.RawMessage) (*tools.Response, error)
