package server

import (
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/session"
)

// isListChanged reports whether a message is the notification that the list of resources has
// changed, which all clients get.
func isListChanged(line string) bool {
	return line == `{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`
}

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
	changed := 0
	next := func() string {
		t.Helper()
		for {
			got := p.next()
			if !isListChanged(got) {
				return got
			}
			changed++
		}
	}
	p.send("%s", initializeAs("other"))
	if got := p.next(); !strings.Contains(got, `"resources":{"subscribe":true,"listChanged":true}`) {
		t.Errorf("initialized with %s", got)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	id := 10
	ask := func(method, uri string) string {
		t.Helper()
		id++
		p.send(`{"jsonrpc":"2.0","id":%d,"method":"resources/%s","params":{"uri":"%s"}}`, id, method, uri)
		return next()
	}
	add := func(text string) {
		s.Pipeline.Events.Add(session.Owner{Principal: "stdio", Session: "1"}, event.Event{Source: "task a", Text: text})
	}
	if got := ask("list", ""); !strings.Contains(got, eventsURI) || strings.Contains(got, "lastModified") {
		t.Errorf("listed %s", got)
	}
	if got := ask("read", eventsURI); !strings.Contains(got, "[no event since the last answer]") {
		t.Errorf("read %s", got)
	}
	ask("subscribe", eventsURI)
	add("one")
	if got, want := next(), `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"mcp-toolset://events"}}`; got != want {
		t.Errorf("notified by %s", got)
	}
	add("two") // no second notification before the first is read
	if got := ask("read", eventsURI); !strings.Contains(got, `[2 events since the last answer]\n`) || !strings.Contains(got, "task a: one") {
		t.Errorf("read %s", got)
	}
	p.send("%s", callLine(8, "Read", `{"file_path":"`+root+`/a.txt"}`))
	if got := next(); strings.Contains(got, "task a") {
		t.Errorf("delivered twice: %s", got)
	}
	if got := ask("list", ""); !strings.Contains(got, `"annotations":{"lastModified":"`) {
		t.Errorf("listed %s", got)
	}
	ask("unsubscribe", eventsURI)
	add("three")
	p.send(`{"jsonrpc":"2.0","id":100,"method":"ping"}`)
	if got := next(); strings.Contains(got, "updated") {
		t.Errorf("notified after the end of the subscription: %s", got)
	}
	// The answer and the notification of an event from before come in any order.
	if both := ask("subscribe", eventsURI) + next(); !strings.Contains(both, "resources/updated") || !strings.Contains(both, `"result":{}`) {
		t.Errorf("after the subscription: %s", both)
	}
	ask("read", eventsURI)
	ask("unsubscribe", eventsURI)
	rest, err := p.end()
	for _, line := range rest {
		if isListChanged(line) {
			changed++
		} else {
			t.Errorf("then %s", line)
		}
	}
	if err != nil || changed != 2 { // for each event that nothing waited before
		t.Errorf("%v; the list changed %d times", err, changed)
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
	p.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["%s"],"resourcesListChanged":true},%s}}`, eventsURI, modernMeta)
	if got := p.next(); !strings.Contains(got, "acknowledged") || !strings.Contains(got, eventsURI) {
		t.Fatalf("acknowledged by %s", got)
	}
	s.Pipeline.Events.Add(session.Owner{Principal: "stdio", Session: "1"}, event.Event{Source: "task a", Text: "one"})
	if got := p.next(); !isListChanged(got) {
		t.Errorf("notified by %s", got)
	}
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
