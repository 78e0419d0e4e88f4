package server

import (
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/session"
)

// TestEventsResource checks that a client that subscribes is notified of events, and that it
// takes them by reading the resource.
func TestEventsResource(t *testing.T) {
	plain, root := newServer(t, time.Second)
	config := plain.Config
	config.Pipeline.Events = event.New()
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	p := connect(t, t.Context(), s)
	p.send("%s", initializeAs("other"))
	if got := p.next(); !strings.Contains(got, `"resources":{"subscribe":true}`) {
		t.Errorf("initialized with %s", got)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	id := 10
	ask := func(method, uri string) string {
		t.Helper()
		id++
		p.send(`{"jsonrpc":"2.0","id":%d,"method":"resources/%s","params":{"uri":"%s"}}`, id, method, uri)
		return p.next()
	}
	add := func(text string) {
		s.Pipeline.Events.Add(session.Owner{Principal: "stdio", Session: "1"}, event.Event{Source: "task a", Text: text})
	}
	if got := ask("list", ""); !strings.Contains(got, eventsURI) {
		t.Errorf("listed %s", got)
	}
	if got := ask("read", eventsURI); !strings.Contains(got, "[no event since the last answer]") {
		t.Errorf("read %s", got)
	}
	ask("subscribe", eventsURI)
	add("one")
	if got, want := p.next(), `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"mcp-toolset://events"}}`; got != want {
		t.Errorf("notified by %s", got)
	}
	add("two") // no second notification before the first is read
	if got := ask("read", eventsURI); !strings.Contains(got, `[2 events since the last answer]\n`) || !strings.Contains(got, "task a: one") {
		t.Errorf("read %s", got)
	}
	p.send("%s", callLine(8, "Read", `{"file_path":"`+root+`/a.txt"}`))
	if got := p.next(); strings.Contains(got, "task a") {
		t.Errorf("delivered twice: %s", got)
	}
	ask("unsubscribe", eventsURI)
	add("three")
	p.send(`{"jsonrpc":"2.0","id":100,"method":"ping"}`)
	if got := p.next(); strings.Contains(got, "updated") {
		t.Errorf("notified after the end of the subscription: %s", got)
	}
	if ask("subscribe", eventsURI); !strings.Contains(p.next(), "resources/updated") {
		t.Error("not notified of an event from before the subscription")
	}
	ask("read", eventsURI)
	ask("unsubscribe", eventsURI)
	if rest, err := p.end(); err != nil || len(rest) != 0 {
		t.Errorf("%v, then %q", err, rest)
	}
}

// TestEventsListen checks that a client of 2026-07-28 is notified of events on a listen stream.
func TestEventsListen(t *testing.T) {
	plain, _ := newServer(t, time.Second)
	config := plain.Config
	config.Pipeline.Events = event.New()
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	p := connect(t, t.Context(), s)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["%s"]},%s}}`, eventsURI, modernMeta)
	if got := p.next(); !strings.Contains(got, "acknowledged") || !strings.Contains(got, eventsURI) {
		t.Fatalf("acknowledged by %s", got)
	}
	s.Pipeline.Events.Add(session.Owner{Principal: "stdio", Session: "1"}, event.Event{Source: "task a", Text: "one"})
	if got := p.next(); !strings.Contains(got, `"method":"notifications/resources/updated"`) {
		t.Errorf("notified by %s", got)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	// Another stream begins while the event waits.
	p.send(`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["%s"]},%s}}`, eventsURI, modernMeta)
	for _, want := range []string{"acknowledged", "notifications/resources/updated"} {
		if got := p.next(); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	if _, err := p.end(); err != nil {
		t.Error(err)
	}
	if len(s.subscribers.of) != 0 {
		t.Errorf("subscribers left: %v", s.subscribers.of)
	}
}
