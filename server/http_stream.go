package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

const eventStream = "text/event-stream"

// stream is the response to one HTTP request. The library writes to it, and the
// server writes the request's notifications.
//
// The library sends notifications through a channel that all requests of a
// session share. They can appear on the stream of another request, and those
// sent just before the answer are often lost. Notifications written here are on
// the right stream and before the answer. The first one turns the response into
// an event stream. The library does not know that and writes its answer as one
// JSON object, which becomes the last event.
type stream struct {
	w http.ResponseWriter
	// head is the library's header. It is copied to w when the library writes.
	// The library may set fields while the server opens the stream.
	head    http.Header
	rc      *http.ResponseController
	in      *incoming
	timeout time.Duration // of one write

	mayWrite func() bool // reports whether the request is not cancelled
	answer   func() bool // the same; if true, it cannot be cancelled any more

	mu            sync.Mutex
	isEventStream bool          // we turned the response into an event stream
	header        bool          // the header is written
	answering     bool          // the answer is being written
	quiet         *time.Timer   // for the next comment; nil: there are no more
	event         chan struct{} // closed when the library has written an event
}

func newStream(w http.ResponseWriter, in *incoming, timeout time.Duration) *stream {
	return &stream{w: w, head: http.Header{}, rc: http.NewResponseController(w), in: in, timeout: timeout, event: make(chan struct{})}
}

// notify writes a notification as an event.
func (s *stream) notify(method string, params any) error {
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err != nil {
		return fmt.Errorf("encoding %s: %w", method, err)
	}
	if err := s.send(data); err != nil {
		return fmt.Errorf("writing %s: %w", method, err)
	}
	return nil
}

// send writes a message of the server as an event.
func (s *stream) send(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mayWrite() {
		return nil
	}
	if !s.header {
		s.isEventStream = true
		s.openStream()
	}
	if err := s.writeEvent(data); err != nil {
		return err
	}
	return s.flush()
}

// quiet is the interval of comments in answers in progress. Balancers cut connections on which
// nothing was sent for 50 to 60 s.
const quiet = 20 * time.Second

// keepAlive writes comments until the returned function is called.
func (s *stream) keepAlive() (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet = time.AfterFunc(quiet, s.comment)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.quiet.Stop()
		s.quiet = nil // nothing is written after the request
	}
}

// comment writes a line that clients ignore, and the next one later. It turns the response into an
// event stream, unless the answer is being written.
func (s *stream) comment() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet == nil || s.answering || !s.mayWrite() || s.header && s.w.Header().Get("Content-Type") != eventStream {
		return
	}
	if !s.header {
		s.isEventStream = true
		s.openStream()
	}
	err := s.bounded(func() error {
		_, err := io.WriteString(s.w, ": in progress\n\n")
		return err
	})
	if err == nil && s.flush() == nil { // otherwise the client is gone
		s.quiet.Reset(quiet)
	}
}

// openStream turns the response into an event stream. The caller holds mu.
func (s *stream) openStream() {
	s.header = true
	s.w.Header().Set("Content-Type", eventStream)
	s.w.Header().Set("Cache-Control", "no-cache")
	s.w.WriteHeader(http.StatusOK)
}

// end ends the response. The response to a cancelled request is an event stream
// without the answer, possibly without any event. Clients treat only such a
// response as ended and not as broken.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.header && !s.mayWrite() {
		s.openStream()
	}
}

// fail answers with an error unless the request has an answer.
func (s *stream) fail(e *rpcError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answering || !s.mayAnswer() {
		return
	}
	if s.header {
		_ = s.writeEvent(e.encode())
		return
	}
	s.header = true
	(&httpFailure{status: http.StatusServiceUnavailable, rpc: e}).write(s.w)
}

// mayAnswer reports whether the answer may be written. The caller holds mu.
func (s *stream) mayAnswer() bool {
	s.answering = s.answering || s.answer()
	return s.answering
}

// writeEvent writes one event. The caller holds mu.
func (s *stream) writeEvent(data []byte) error {
	return s.bounded(func() error {
		_, err := fmt.Fprintf(s.w, "event: message\ndata: %s\n\n", bytes.TrimSpace(data))
		return err
	})
}

// flush sends the written data to the client. The caller holds mu.
func (s *stream) flush() error { return s.bounded(s.rc.Flush) }

// bounded runs a write with the timeout: a client that reads nothing is gone.
// It removes the deadline afterwards, because over HTTP/2 an expired deadline
// ends the stream even when nothing is written.
func (s *stream) bounded(write func() error) error {
	_ = s.rc.SetWriteDeadline(time.Now().Add(s.timeout))
	defer func() { _ = s.rc.SetWriteDeadline(time.Time{}) }()
	return write()
}

// Header returns the library's header. Only the library reads it before it
// writes the response.
func (s *stream) Header() http.Header { return s.head }

// writeHeader writes the library's header. The caller holds mu.
func (s *stream) writeHeader(status int) {
	s.header = true
	maps.Copy(s.w.Header(), s.head)
	s.w.WriteHeader(status)
}

// Write writes an event or a JSON object of the library.
func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.header || s.head.Get("Content-Type") != eventStream && !s.mayAnswer() {
		return
	}
	if s.in.extra != nil && status == http.StatusNotFound {
		status = statusOf(s.in.extra())
	}
	s.writeHeader(status)
}

// Write receives the output of the library: an event, or one JSON object.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	length := len(p) // of the library's text; the text written may differ
	isEvent := bytes.HasPrefix(p, []byte("event: "))
	if isAnswer := !isEvent || answers(p); isAnswer && !s.mayAnswer() || !s.mayWrite() {
		return length, nil
	}
	if !s.header {
		s.writeHeader(http.StatusOK)
	}
	if isEvent {
		if (s.in.unknown != nil || s.in.extra != nil) && answers(p) {
			before, data, _ := bytes.Cut(p, []byte("data: "))
			p = fmt.Appendf(nil, "%sdata: %s\n\n", before, bytes.TrimSpace(s.in.explain(bytes.TrimSpace(data))))
		}
		select {
		case <-s.event:
		default:
			close(s.event)
		}
	} else {
		p = s.in.explain(p)
	}
	if s.isEventStream && !isEvent {
		return length, s.writeEvent(p)
	}
	return length, s.bounded(func() error {
		_, err := s.w.Write(p)
		return err
	})
}

// Flush implements http.Flusher, so that the library sees that the response can
// stream.
func (s *stream) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.header { // otherwise net/http would write a header of its own
		_ = s.flush()
	}
}

// CanStream reports that Flush works.
func (s *stream) CanStream() bool { return true }

// awaitEvent waits until the library has written an event or ctx ends.
func (s *stream) awaitEvent(ctx context.Context) {
	select {
	case <-s.event:
	case <-ctx.Done():
	}
}

// answers reports whether an event of the library is the answer of a request,
// not a notification or a request.
func answers(event []byte) bool {
	_, data, _ := bytes.Cut(event, []byte("data: "))
	var m struct{ Method string }
	return json.Unmarshal(data, &m) == nil && m.Method == ""
}

// explain replaces the library's error for an unknown method of an extension by the answer, and
// the text of its error for an unknown tool, prompt or resource by ours.
func (in *incoming) explain(p []byte) []byte {
	if in.extra != nil && isUnknownMethod(p) {
		return append(in.extra(), '\n')
	}
	if in.unknown == nil {
		return p
	}
	var e mcp.JSONRPCError
	if json.Unmarshal(p, &e) != nil || e.Error.Code != mcp.INVALID_PARAMS && e.Error.Code != mcp.INTERNAL_ERROR {
		return p
	}
	// The library reports an error of the carrier as an internal error.
	e.Error.Code, e.Error.Message = mcp.INVALID_PARAMS, in.unknown.Error()
	data, err := json.Marshal(e)
	if err != nil {
		return p
	}
	return append(data, '\n')
}
