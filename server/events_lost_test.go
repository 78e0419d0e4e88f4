package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/identity"
	"mcp-toolset/pipeline"
	"mcp-toolset/tools"
)

// TestLostAnswer checks that events of an answer that is cancelled before it is sent are in the
// next one.
func TestLostAnswer(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"Read","arguments":{"file_path":"a.txt"}}}`
	again := func(what string, send func(id int) string) { // the first calls may overtake the lost answer
		t.Helper()
		got := ""
		for id, end := 3, time.Now().Add(deadline); !strings.Contains(got, "1 event since the last answer"); id++ {
			if time.Now().After(end) {
				t.Fatalf("%s: %s", what, got)
			}
			got = send(id)
		}
	}
	for _, ordered := range []bool{false, true} {
		s, done, release := newLosing(t)
		s.Ordered = ordered
		p := connect(t, t.Context(), s)
		p.send(call, 1)
		await(t, done)
		p.send("%s", cancelLine(1))
		p.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		p.next() // the cancel has been handled
		close(release)
		again(fmt.Sprintf("ordered %t", ordered), func(id int) string {
			p.send(call, id)
			return p.next()
		})
		if rest, err := p.end(); len(rest) > 0 || err != nil {
			t.Errorf("at the end: %q, %v", rest, err)
		}
	}
	s, done, release := newLosing(t)
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	id := w.session()
	ctx, hangUp := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", w.url, strings.NewReader(fmt.Sprintf(call, 1)))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []string{id, "Authorization: Bearer " + goodToken, "Content-Type: application/json", "Accept: application/json, text/event-stream"} {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if resp, err := http.DefaultClient.Do(r); err == nil { // it may have a header
			resp.Body.Close()
		}
	}()
	await(t, done)
	hangUp()
	await(t, gone)
	close(release)
	again("over HTTP", func(n int) string {
		_, _, body := w.do("POST", w.url, fmt.Sprintf(call, n), id)
		return body
	})
}

// newLosing returns a server in which the first call, whose answer has an event, waits for release
// once it is done. Then nothing can be cancelled but the answer.
func newLosing(t *testing.T) (s *Server, done, release chan struct{}) {
	plain, _ := newServer(t, deadline)
	config := plain.Config
	config.Pipeline.Events = event.New()
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	done, release = make(chan struct{}, 1), make(chan struct{})
	first := true
	s.run = func(ctx context.Context, r pipeline.Request) (*tools.Response, error) {
		if !first {
			return config.Pipeline.Run(ctx, r)
		}
		first = false
		config.Pipeline.Events.Add(r.Session.View().Owner(), event.Event{Source: "task a", Text: "ended"})
		resp, err := config.Pipeline.Run(ctx, r)
		done <- struct{}{}
		<-release
		<-ctx.Done()
		return resp, err
	}
	return s, done, release
}
