package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAnswerOrSilence checks that a cancel at any time suppresses the whole
// answer or none of it, and that nothing is written after it.
func TestAnswerOrSilence(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`
	event := func(data string) string { return "event: message\ndata: " + data + "\n\n" }
	note := event(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`)
	for _, tc := range []struct {
		why   string
		steps []string
		want  response
	}{
		{"no cancel", []string{"json", answer}, response{200, "application/json", answer}},
		{"a cancel before", []string{"cancel", "json", answer}, silence},
		{"a cancel within", []string{"json", "late", answer}, response{200, "application/json", answer}},
		{"a cancel behind", []string{"json", answer, "late"}, response{200, "application/json", answer}},
		{"ours, no cancel", []string{"notify", "json", answer}, response{200, eventStream, note + event(answer)}},
		{"ours, a cancel before the answer", []string{"notify", "cancel", "json", answer}, response{200, eventStream, note}},
		{"ours, a cancel before all", []string{"cancel", "notify", "json", answer}, silence},
		{"the library's, no cancel", []string{"stream", note, event(answer)}, response{200, eventStream, note + event(answer)}},
		{"the library's, a cancel between", []string{"stream", note, "cancel", note, event(answer)}, response{200, eventStream, note}},
		{"the library's, a cancel behind", []string{"stream", event(answer), "late"}, response{200, eventStream, event(answer)}},
		{"cancelled, and no answer comes", []string{"cancel"}, silence},
	} {
		s, _ := newServer(t, time.Second)
		m := newSessions(s)
		id := m.opened()
		in, req := &incoming{}, &httpRequest{id: "n1", cancel: func(error) {}}
		if err := m.enter(in, req, id); err != nil {
			t.Fatal(err)
		}
		rec := httptest.NewRecorder()
		w := newStream(rec, in, time.Second)
		w.answer = func() bool { return m.answer(req) }
		w.mayWrite = func() bool { return m.mayWrite(req) }
		for _, step := range tc.steps {
			switch step {
			case "cancel":
				m.cancelIn(req.session, "n1", context.Canceled)
			case "late":
				if m.cancelIn(req.session, "n1", context.Canceled); !m.mayWrite(req) {
					t.Errorf("%s: what is being answered was cancelled", tc.why)
				}
			case "notify":
				_ = w.notify("notifications/progress", map[string]any{"progress": 1})
			case "json", "stream":
				w.Header().Set("Content-Type", map[string]string{"json": "application/json", "stream": eventStream}[step])
				w.WriteHeader(http.StatusOK)
			default:
				_, _ = w.Write([]byte(step))
			}
		}
		w.end()
		m.leave(in)
		got := response{rec.Code, rec.Result().Header.Get("Content-Type"), rec.Body.String()}
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(response{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.why, diff)
		}
	}
}

// TestOwnHeader checks that the library can set headers without our lock while
// we open the stream. Using one map for both ended the process.
func TestOwnHeader(t *testing.T) {
	for range 100 {
		rec := httptest.NewRecorder()
		rec.Header().Set("Vary", "Origin")
		w := newStream(rec, &incoming{}, time.Second)
		w.mayWrite = func() bool { return true }
		w.answer = w.mayWrite
		opened := make(chan error)
		go func() { opened <- w.notify("notifications/progress", nil) }()
		for range 1000 { // for as long as the other goroutine takes to begin
			w.Header().Set("Content-Type", eventStream)
		}
		w.WriteHeader(http.StatusOK)
		if err := <-opened; err != nil {
			t.Fatal(err)
		}
		if got := rec.Result().Header; got.Get("Content-Type") != eventStream || got.Get("Vary") != "Origin" {
			t.Fatalf("the header is %v", got)
		}
	}
}
