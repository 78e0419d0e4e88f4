package sleep_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/tools/sleep"
	"mcp-toolset/tools/toolstest"
)

func TestSleep(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	synctest.Test(t, func(t *testing.T) {
		events := event.New()
		tool := sleep.New(sleep.Options{Events: events})
		want := func(arguments, want, summary string) {
			t.Helper()
			resp, err := w.Call(t.Context(), tool, arguments)
			if err != nil {
				t.Fatal(err)
			}
			if got := toolstest.Text(resp); got != want {
				t.Errorf("%s: %q, want %q", arguments, got, want)
			}
			if resp.Summary != summary {
				t.Errorf("%s: %q, want %q", arguments, resp.Summary, summary)
			}
		}
		want(`{"duration_ms": 110000}`, "No event in 110.0 s.", "Waited 1 min 50 s")
		go func() {
			time.Sleep(1500 * time.Millisecond)
			events.Add(w.Session.View().Owner(), event.Event{})
		}()
		want(`{"duration_ms": 60000}`, "An event arrived after 1.5 s. It is below, or in the answer to a call that ended at the same time.", "Waited 1.5 s: an event")
		want(`{"duration_ms": 60000}`, "An event arrived after 0.0 s. It is below, or in the answer to a call that ended at the same time.", "Waited 0.0 s: an event") // it is not taken by the tool
		events.Show(w.Session.View().Owner()) // for an answer to another agent, perhaps
		want(`{"duration_ms": 60000}`, "An event arrived after 0.0 s. It is below, or in the answer to a call that ended at the same time.", "Waited 0.0 s: an event")
		events.Collect(w.Session.View().Owner())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.Call(ctx, tool, `{"duration_ms": 60000}`); err != context.DeadlineExceeded {
			t.Error(err)
		}
	})
}
