package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/identity"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// response is the response to a request.
type response struct {
	status    int
	mediaType string
	body      string
}

// silence is the response to a request that was cancelled.
var silence = response{http.StatusOK, "text/event-stream", ""}

// post sends a message and returns the channel of its response.
func (w *web) post(body string, headers ...string) <-chan response {
	out := make(chan response, 1)
	go func() {
		status, header, text := w.do("POST", w.url, body, headers...)
		out <- response{status, header.Get("Content-Type"), text}
	}()
	return out
}

// waiting waits until a number of calls of a server have arrived and not left.
func waiting(t *testing.T, s *Server, n int) {
	t.Helper()
	for end := time.Now().Add(deadline); ; <-time.After(time.Millisecond) {
		calls := 0
		_, lanes := s.Scheduler.Snapshot()
		for _, l := range lanes {
			calls += len(l.Running) + l.Queued
		}
		if calls == n {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d calls have arrived, want %d", calls, n)
		}
	}
}

// listen opens the listening stream of a session.
func (w *web) listen(session string) io.ReadCloser {
	w.t.Helper()
	r, err := http.NewRequest("GET", w.url, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range []string{session, "Authorization: Bearer " + goodToken, "Accept: text/event-stream"} {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	resp, err := w.client.Do(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatalf("listening: %v, %v", resp, err)
	}
	return resp.Body
}

// TestSessionEnds checks that the end of a session cancels its running call,
// prevents waiting ones from starting, and answers none. Other sessions
// continue.
func TestSessionEnds(t *testing.T) {
	const queued = 20
	for range endRuns {
		g, other := newGate(), newGate()
		s, _ := newServer(t, deadline, g.tool("Block", false), other.tool("Wait", true))
		var gone atomic.Int64
		s.SessionEnded = func(session.View) { gone.Add(1) }
		w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
		one, two := w.session(), w.session()
		stream := w.listen(one)
		kept := w.post(callLine(1, "Wait", `{"name":"kept"}`), two)
		await(t, other.begun)
		responses := []<-chan response{w.post(callLine(0, "Block", `{"name":"runs"}`), one)}
		await(t, g.begun)
		for i := range queued {
			responses = append(responses, w.post(callLine(i+1, "Block", `{"name":"waits"}`), one))
		}
		waiting(t, s, queued+2)
		if status, _, body := w.do("DELETE", w.url, "", one); status != http.StatusOK {
			t.Fatalf("DELETE: %d %s", status, body)
		}
		for i, r := range responses {
			if diff := cmp.Diff(silence, await(t, r), cmp.AllowUnexported(response{})); diff != "" {
				t.Errorf("response %d (-want +got):\n%s", i, diff)
			}
		}
		if rest, err := io.ReadAll(stream); err != nil {
			t.Errorf("the listening stream ended with %q, %v", rest, err)
		}
		_ = stream.Close()
		waiting(t, s, 1)
		if starts := g.starts(); len(starts) != 1 {
			t.Errorf("%d calls have started, want the first", len(starts))
		}
		close(other.open)
		if r := await(t, kept); !strings.Contains(r.body, "kept") || strings.Contains(r.body, "cancelled") {
			t.Errorf("the other session's call: %+v", r)
		}
		if n := gone.Load(); n != 1 {
			t.Errorf("%d conversations have ended, want 1", n)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		if n := gone.Load(); n != 2 {
			t.Errorf("%d conversations have ended with the server, want 2", n)
		}
	}
}

// TestSessionClosesLast checks that a conversation is closed after its last
// call, even if that ignores its cancel.
func TestSessionClosesLast(t *testing.T) {
	g := newGate()
	s, _ := newServer(t, deadline, g.tool("Wait", true))
	ended := make(chan session.View, 1)
	s.SessionEnded = func(v session.View) { ended <- v }
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	one := w.session()
	r := w.post(callLine(1, "Wait", `{"name":"x","stubborn":true}`), one)
	await(t, g.begun)
	w.do("DELETE", w.url, "", one)
	if status, _, _ := w.do("POST", w.url, callLine(2, "Wait", `{"name":"x"}`), one); status != http.StatusNotFound {
		t.Errorf("a call of the ended session: %d", status)
	}
	if len(ended) != 0 {
		t.Error("closed while a call was running")
	}
	close(g.open)
	if got := await(t, r); got != silence {
		t.Errorf("the call that did not listen: %+v", got)
	}
	await(t, ended)
}

// opened returns the id of a new session.
func (m *sessions) opened() string {
	id, in := m.Generate(), &incoming{request: &httpRequest{}}
	m.attach(in, id)
	m.leave(in)
	return id
}

// TestUnusedSessions checks that the library may end an unused session, but not
// one with a request in progress. Its client may end both.
func TestUnusedSessions(t *testing.T) {
	s, _ := newServer(t, time.Second)
	m := newSessions(s)
	id := m.opened()
	in := &incoming{}
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := m.enter(in, &httpRequest{id: "n1", cancel: cancel}, id); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Terminate(id); err != nil || !m.has(id) || ctx.Err() != nil {
		t.Errorf("a session in use: %v, open %v, its request %v", err, m.has(id), ctx.Err())
	}
	if !m.willEnd(id, identity.Principal{}) {
		t.Error("its client cannot end it")
	}
	if _, err := m.Terminate(id); err != nil || m.has(id) || ctx.Err() == nil {
		t.Errorf("after its client asked: %v, open %v, its request %v", err, m.has(id), ctx.Err())
	}
	if err := m.enter(&incoming{}, &httpRequest{cancel: cancel}, id); err == nil {
		t.Error("an ended session takes requests")
	}
	m.leave(in)
	unused := m.opened()
	if _, err := m.Terminate(unused); err != nil || m.has(unused) {
		t.Errorf("an unused session: %v, open %v", err, m.has(unused))
	}
}

// TestHTTPCancelByID checks that a cancel ends exactly the request of its
// session with this id, running or waiting, with or without events. That
// request gets no answer.
func TestHTTPCancelByID(t *testing.T) {
	g := newGate()
	talks := tools.MustBuild(tools.Def[gateIn, gateIn, gateOut]{Name: "Talk", Prompt: "Talks.",
		IsConcurrencySafe: tools.Always[gateIn](), IsReadOnly: tools.Always[gateIn](),
		Call: func(ctx context.Context, env *tools.Env, in gateIn) (tools.Result[gateOut], error) {
			env.Progress(tools.Progress{Done: 1})
			g.begun <- in.Name
			<-ctx.Done()
			env.Progress(tools.Progress{Done: 2})
			return tools.Result[gateOut]{Data: gateOut{"late"}}, nil
		}})
	s, _ := newServer(t, deadline, g.tool("Block", false), talks)
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	one, two := w.session(), w.session()
	talk := w.post(`{"jsonrpc":"2.0","id":"talk","method":"tools/call","params":{"name":"Talk","arguments":{"name":"x"},"_meta":{"progressToken":1}}}`, one)
	await(t, g.begun)
	w.do("POST", w.url, cancelLine("talk"), one)
	r := await(t, talk)
	if all := events(r.body); r.mediaType != "text/event-stream" || len(all) != 1 || !strings.Contains(all[0], `"progress":1`) {
		t.Errorf("a stream that was cancelled: %+v", r)
	}

	runs := w.post(callLine(1, "Block", `{"name":"runs"}`), one)
	await(t, g.begun)
	text := w.post(callLine("2", "Block", `{"name":"text"}`), one)
	waiting(t, s, 2)
	number := w.post(callLine(2, "Block", `{"name":"number"}`), one)
	waiting(t, s, 3)
	for _, session := range []string{one, two} { // an unknown id changes nothing
		if status, _, body := w.do("POST", w.url, cancelLine(7), session); status != http.StatusAccepted {
			t.Errorf("a cancel of nothing: %d %s", status, body)
		}
	}
	w.do("POST", w.url, cancelLine(1), two)
	w.do("POST", w.url, cancelLine("1"), one)
	w.do("POST", w.url, cancelLine("2"), one)
	if got := await(t, text); got != silence {
		t.Errorf("a call that waited: %+v", got)
	}
	close(g.open)
	for name, r := range map[string]<-chan response{"runs": runs, "number": number} {
		if got := await(t, r); !strings.Contains(got.body, name) || strings.Contains(got.body, "cancelled") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	w.do("POST", w.url, cancelLine(1), one) // too late
	if r := await(t, w.post(callLine(8, "Block", `{"name":"next"}`), one)); !strings.Contains(r.body, "next") {
		t.Errorf("the next call: %+v", r)
	}
	if want := []string{"runs", "number", "next"}; !slices.Equal(g.starts(), want) {
		t.Errorf("started: %q, want %q", g.starts(), want)
	}
}

// TestCancelRightBehind checks that a cancel sent right after its call on
// another connection always finds it, whichever arrives first.
func TestCancelRightBehind(t *testing.T) {
	g := newGate()
	s, _ := newServer(t, deadline, g.tool("Block", false))
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	one := w.session()
	runs := w.post(callLine("first", "Block", `{"name":"first"}`), one)
	await(t, g.begun)
	var calls []<-chan response
	for i := range 50 {
		calls = append(calls, w.post(callLine(i, "Block", `{"name":"cancelled"}`), one))
		if r := await(t, w.post(cancelLine(i), one)); r.status != http.StatusAccepted {
			t.Errorf("cancel %d: %+v", i, r)
		}
	}
	w.do("POST", w.url, cancelLine("overtakes"), one)
	calls = append(calls, w.post(callLine("overtakes", "Block", `{"name":"overtaken"}`), one))
	found := 0
	for _, c := range calls {
		if await(t, c) == silence {
			found++
		}
	}
	if found != len(calls) {
		t.Errorf("%d of %d cancels have found their call", found, len(calls))
	}
	close(g.open)
	if r := await(t, runs); !strings.Contains(r.body, "first") {
		t.Errorf("the call before them: %+v", r)
	}
	if starts := g.starts(); len(starts) != 1 {
		t.Errorf("started: %q", starts)
	}
}

// TestEarlyCancels checks that early cancels wait for a limited time, for one
// request each, and that their number is limited.
func TestEarlyCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &httpSession{}
		h.addEarly("n1")
		if h.takeEarly("") || h.takeEarly("s1") || !h.takeEarly("n1") || h.takeEarly("n1") {
			t.Error("a cancel is for one request, of its id")
		}
		h.addEarly("n2")
		time.Sleep(earlyMaxAge + time.Nanosecond)
		if h.takeEarly("n2") {
			t.Error("a cancel has waited too long")
		}
		for i := range 10 * maxEarly {
			h.addEarly(fmt.Sprint("n", i))
		}
		if len(h.early) != maxEarly || h.takeEarly("n0") || !h.takeEarly(fmt.Sprint("n", 10*maxEarly-1)) {
			t.Errorf("%d cancels wait, want the last %d", len(h.early), maxEarly)
		}
	})
	s, _ := newServer(t, time.Second)
	m := newSessions(s)
	h := m.byID[m.opened()]
	m.cancelIn(h, "s"+strings.Repeat("x", maxEarlyID), context.Canceled)
	if len(h.early) != 0 {
		t.Error("a long id is kept")
	}
}

// TestServerEndsWithCalls checks that no call starts after the drain time, and
// that requests that were cut off get the reason, because no client has
// cancelled them.
func TestServerEndsWithCalls(t *testing.T) {
	for range endRuns {
		g := newGate()
		s, _ := newServer(t, 50*time.Millisecond, g.tool("Block", false))
		w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
		one := w.session()
		calls := []<-chan response{w.post(callLine(0, "Block", `{"name":"runs"}`), one)}
		await(t, g.begun)
		for i := range 20 {
			calls = append(calls, w.post(callLine(i+1, "Block", `{"name":"waits"}`), one))
		}
		waiting(t, s, 21)
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		for i, c := range calls {
			want := response{http.StatusServiceUnavailable, "application/json", fmt.Sprintf(
				`{"jsonrpc":"2.0","id":%d,"error":{"code":-32000,"message":"the server was stopped before this was done; look at what is done before sending it again"}}`+"\n", i)}
			if diff := cmp.Diff(want, await(t, c), cmp.AllowUnexported(response{})); diff != "" {
				t.Errorf("call %d (-want +got):\n%s", i, diff)
			}
		}
		if starts := g.starts(); len(starts) != 1 {
			t.Errorf("%d calls have started, want the first", len(starts))
		}
	}
}
