package pipeline

import (
	"context"
	"strings"
	"testing"

	"mcp-toolset/internal/event"
)

// TestDeliver checks that the first answer to a session has its events in a block of
// their own, also a refusal, and that no other answer has them.
func TestDeliver(t *testing.T) {
	b := newBench(t, "")
	b.Events = event.New()
	owner := b.session.View().Owner()
	for _, c := range []struct{ what, tool, args, want string }{
		{"a result with a nested call", "Do", `{"do":"call","arg":"Look {\"do\":\"x\",\"arg\":\"inner\"}"}`, "inner"},
		{"a refusal", "Do", `{"do":"invalid"}`, ""},
	} {
		plain := strings.TrimPrefix(b.run(t, t.Context(), c.tool, c.args), "failed: ")
		b.Events.Add(owner, event.Event{Source: "test", Text: "happened"})
		resp, err := b.Run(t.Context(), b.request(c.tool, c.args))
		if err != nil {
			t.Fatal(err)
		}
		if got := joinText(resp.Content[:len(resp.Content)-1]); got != plain || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, plain)
		}
		if last := joinText(resp.Content[len(resp.Content)-1:]); !strings.HasPrefix(last, "[1 event since the last answer]\n") || !strings.HasSuffix(last, "test: happened") {
			t.Errorf("%s: %q", c.what, last)
		}
		if in, ok := resp.Meta[event.Meta].([]event.Event); !ok || len(in) != 1 || in[0].Text != "happened" {
			t.Errorf("%s: _meta is %v", c.what, resp.Meta)
		}
		if again := strings.TrimPrefix(b.run(t, t.Context(), c.tool, c.args), "failed: "); again != plain {
			t.Errorf("%s again: %q", c.what, again)
		}
	}
}

// TestDeliverToSharers checks that in a client whose agents share a session, the call that hears of
// events also has those that another answer had.
func TestDeliverToSharers(t *testing.T) {
	for client, again := range map[string]bool{"claude-code": true, "codex-mcp-client": false} {
		b := newBench(t, "")
		b.Events = event.New()
		b.session.SetClient(client)
		owner := b.session.View().Owner()
		b.Events.Add(owner, event.Event{Source: "test", Text: "happened"})
		if got := b.run(t, t.Context(), "Do", `{"do":"x","arg":"said"}`); !strings.Contains(got, "test: happened") {
			t.Errorf("%s: %s", client, got)
		}
		if got := b.run(t, t.Context(), "Do", `{"do":"x","arg":"said"}`); got != "said" {
			t.Errorf("%s: %s", client, got)
		}
		if got := b.run(t, t.Context(), "Hear", `{"do":"x"}`); strings.Contains(got, "test, again: happened") != again {
			t.Errorf("%s: %s", client, got)
		}
		if got := b.run(t, t.Context(), "Hear", `{"do":"x"}`); strings.Contains(got, "happened") {
			t.Errorf("%s: %s", client, got)
		}
	}
}

// TestDeliverMuch checks that events beyond the limit are stored and that the answer
// names the file.
func TestDeliverMuch(t *testing.T) {
	b := newBench(t, "")
	b.Events = event.New()
	for range 5 {
		b.Events.Add(b.session.View().Owner(), event.Event{Source: "test", Text: strings.Repeat("x", 1000)})
	}
	got := b.run(t, t.Context(), "Do", `{"do":"x","arg":"said"}`)
	if n := len(got); n > maxEvents+len("said\n") || !strings.HasPrefix(got, "said\n[5 events since") || !strings.Contains(got, "The whole result is in ") {
		t.Errorf("%d characters: %s", n, got)
	}
}

// TestDeliverCancelled checks that a cancelled call takes no events.
func TestDeliverCancelled(t *testing.T) {
	b := newBench(t, "")
	b.Events = event.New()
	owner := b.session.View().Owner()
	b.Events.Add(owner, event.Event{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Run(ctx, b.request("Do", `{"do":"x","arg":"said"}`)); err != nil {
		t.Fatal(err)
	}
	if events, _ := b.Events.Take(owner); len(events) != 1 {
		t.Error("the event is lost")
	}
}
