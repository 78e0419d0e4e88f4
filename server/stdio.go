package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcp-toolset/internal/identity"
	"mcp-toolset/pipeline"
)

// Limits of a stdio connection.
const (
	// defaultMaxLine is the limit of a message, in bytes. A Write of a large
	// file is one line.
	defaultMaxLine = 64 << 20
	// maxInFlight and maxInFlightBytes limit the requests not yet answered, and
	// so memory. A single request may be as long as a line.
	maxInFlight      = 1000
	maxInFlightBytes = 256 << 20
	// stopGrace is the time for cancelled calls to end when the server is told
	// to stop. Clients send SIGKILL about half a second after the first signal.
	stopGrace = 200 * time.Millisecond
	// codeOverload is the JSON-RPC error code of a request refused because
	// there was no room.
	codeOverload = -32000
	// codeLimit is the code of a request that exceeds a limit of its principal.
	codeLimit = -32029
)

// ServeStdio serves one client until it closes in, or until ctx ends, which
// cancels all calls.
//
// Messages are read in order. Before the next line is read, a call has its
// place in the schedule and can be cancelled. Each request runs in its own
// goroutine. When in ends, calls in progress have the drain time to finish, and
// are answered if the client still reads out. After that no call starts. A
// cancelled request gets no answer.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := newStdioConn(ctx, s, out, stop)
	defer s.close(c.conv)
	defer c.agents.end(s)
	if err := s.mcp.RegisterSession(ctx, c.client); err != nil {
		return fmt.Errorf("registering the session: %w", err)
	}
	defer s.mcp.UnregisterSession(context.WithoutCancel(ctx), c.client.SessionID())
	go c.pump(ctx)
	defer context.AfterFunc(ctx, c.end)()

	in, leave := whole(in)
	defer leave()
	read := make(chan error, 1)
	go func() { read <- c.readAll(ctx, in) }()
	var err error
	select {
	case err = <-read:
		c.conv.asked.end() // so that no call in progress waits for an answer
		c.drain(ctx, s.Drain)
	case <-ctx.Done():
	}
	c.end()
	stop(nil)
	if left := c.wait(stopGrace, nil); left > 0 {
		s.Log.Warn("calls still running at exit", "calls", left)
	}
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}

// Input is an input whose beginning has been read.
type Input struct {
	Begin []byte
	Rest  io.Reader
}

// Read implements io.Reader.
func (i *Input) Read(p []byte) (int, error) {
	if len(i.Begin) == 0 {
		return i.Rest.Read(p)
	}
	n := copy(p, i.Begin)
	i.Begin = i.Begin[n:]
	return n, nil
}

// whole returns an input that waits in the poller if possible. end ends a Read that waits.
func whole(in io.Reader) (r io.Reader, end func()) {
	begun, ok := in.(*Input)
	if !ok {
		return waitable(in)
	}
	rest, end := waitable(begun.Rest)
	return &Input{begun.Begin, rest}, end
}

// stdioConn is the connection to one client.
type stdioConn struct {
	s      *Server
	conv   *conversation
	agents hostAgents
	client *stdioClient
	done   <-chan struct{} // closed when the connection ends
	stop   context.CancelCauseFunc

	writeMu sync.Mutex
	out     io.Writer

	mu       sync.Mutex
	inflight map[string]*request // by id: not cancelled and not yet answered
	active   int                 // number of requests being served, including cancelled ones
	bytes    int                 // total size of these requests
	entered  uint64              // number of requests, for their numbers
	ended    bool                // no call may start any more
	idle     chan struct{}       // closed when active becomes 0; nil: not waited for

	channelOnce sync.Once

	orderMu sync.Mutex
	order   []ordered // calls in order of arrival, from the earliest not answered
	barrier chan chan struct{}
}

// request is a request being served.
type request struct {
	cancel    context.CancelCauseFunc
	number    uint64 // in order of arrival
	size      int    // size of its message in bytes
	listen    bool   // an open listen stream, which ends only when cancelled
	answering bool   // too late to cancel
	queued    bool   // its answer waits for those of earlier calls
	finished  bool
	skipped   bool   // cancelled before it ended, so it has lost its place
	held      []byte // the answer that waits
	lost      func() // is called if that is not written
}

func newStdioConn(ctx context.Context, s *Server, out io.Writer, stop context.CancelCauseFunc) *stdioConn {
	conv := s.open(identity.Principal{ID: "stdio"}, false, s.Profile)
	return &stdioConn{
		s: s, conv: conv, client: newStdioClient(conv.session.View().ID), done: ctx.Done(), stop: stop, out: out,
		inflight: map[string]*request{}, barrier: make(chan chan struct{}),
	}
}

// readAll serves lines until the input ends.
func (c *stdioConn) readAll(ctx context.Context, in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for ctx.Err() == nil {
		line, err := readLine(r, c.s.maxLine)
		if errors.Is(err, errLineTooLong) {
			text := fmt.Sprintf("the message is longer than %d MiB and was dropped", c.s.maxLine>>20)
			c.write((&rpcError{code: mcp.INVALID_REQUEST, text: text}).encode())
			continue
		}
		if len(bytes.TrimSpace(line)) > 0 {
			c.accept(ctx, line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading standard input: %w", err)
		}
	}
	return nil
}

// accept handles one message. When it returns, a call has its place, and a
// cancel on a later line finds it.
func (c *stdioConn) accept(ctx context.Context, line []byte) {
	m, bad := readMessage(line)
	if bad != nil {
		c.write(bad.encode())
		return
	}
	switch {
	case m.isCancel():
		c.cancel(m.cancels, m.cause)
		c.skip()
		return
	case m.method == "": // an answer to a request of the server
		if !c.conv.asked.answer(m) {
			c.s.Log.Debug("an answer to no request was dropped")
		}
		return
	case c.s.Channel && m.method == string(mcp.MethodServerDiscover) && m.id != "":
		c.write((&rpcError{mcp.METHOD_NOT_FOUND, "the channel needs a session: begin with initialize", m.rawID}).encode())
		return
	case m.id == "":
		c.handle(c.s.mcp.WithContext(ctx, c.client), line)
		if m.method == "notifications/initialized" && c.s.Channel && c.acceptsChannel() {
			c.channelOnce.Do(func() { go c.channel(ctx) })
		}
		return
	}
	// ctx must not cancel the request directly: calls would be cancelled in any
	// order. end cancels them in the right order.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	req := &request{cancel: cancel, size: len(line), listen: m.method == string(mcp.MethodSubscriptionsListen)}
	if bad := c.enter(m, req); bad != nil {
		cancel(nil)
		c.refused(ctx, m, errors.New(bad.text))
		c.write(bad.encode())
		return
	}
	in := &incoming{conv: c.agents.enter(c.s, c.conv, m.agent), agent: m.agent, notify: c.notify, send: c.send}
	if c.s.isSkillMethod(m) {
		raw := line
		in.extra = func() []byte { return c.s.skillAnswer(m, raw) }
	}
	if m.method == string(mcp.MethodToolsCall) {
		line, in.arguments = withoutArguments(line, m)
		line = quoteHuge(line)
		var err error
		if in.ticket, err = in.conv.lane.Arrive(); err != nil {
			cancel(nil)
			c.agents.leave(m.agent)
			c.exit(m, req)
			c.refused(ctx, m, err)
			c.write((&rpcError{codeOverload, err.Error() + "; send this one again when some are answered", m.rawID}).encode())
			return
		}
		c.queue(m, req)
	}
	serve := func() {
		defer c.finish(m, req)
		defer c.agents.leave(m.agent)
		defer cancel(nil)
		if in.ticket != nil {
			defer in.ticket.Leave()
		}
		c.answer(m, req, in, c.handle(withIncoming(c.s.mcp.WithContext(ctx, c.client), in), line))
	}
	if m.method == string(mcp.MethodInitialize) {
		serve() // later messages may depend on the negotiation
		return
	}
	go serve()
}

// handle passes a message to the library. A panic in the library must not end
// the other calls.
func (c *stdioConn) handle(ctx context.Context, line []byte) (answer mcp.JSONRPCMessage) {
	defer func() {
		if v := recover(); v != nil {
			c.s.Log.Error("a request panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			answer = mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, Error: mcp.JSONRPCErrorDetails{
				Code: mcp.INTERNAL_ERROR, Message: "the server stopped on an internal error; its log has the details",
			}}
		}
	}()
	return c.s.mcp.HandleMessage(ctx, line)
}

// enter registers a request.
func (c *stdioConn) enter(m message, r *request) *rpcError {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.inflight[m.id] != nil:
		return &rpcError{mcp.INVALID_REQUEST, "a request with this id is still in flight; use another id", m.rawID}
	case c.active >= maxInFlight || c.active > 0 && c.bytes+r.size > maxInFlightBytes:
		return &rpcError{codeOverload, fmt.Sprintf("%d requests are in flight; send this one again when some are answered", c.active), m.rawID}
	}
	c.inflight[m.id] = r
	c.active++
	c.bytes += r.size
	c.entered++
	r.number = c.entered
	if c.ended {
		r.cancel(context.Canceled)
	}
	return nil
}

// refused writes a call that does not run to the audit log. It ignores other
// messages.
func (c *stdioConn) refused(ctx context.Context, m message, err error) {
	if m.method == string(mcp.MethodToolsCall) {
		c.s.Pipeline.Refused(ctx, pipeline.Request{Tool: m.tool, Arguments: m.arguments, Session: c.conv.session}, err)
	}
}

// exit removes a request that was served.
func (c *stdioConn) exit(m message, r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inflight[m.id] == r {
		delete(c.inflight, m.id)
	}
	c.bytes -= r.size
	if c.active--; c.active == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// cancel cancels a request that has no answer yet. It will not be answered.
func (c *stdioConn) cancel(id string, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.inflight[id]; r != nil && !r.answering {
		delete(c.inflight, id)
		r.cancel(cause)
	}
}

// answer writes the answer of a request, unless it was cancelled.
func (c *stdioConn) answer(m message, r *request, in *incoming, answer mcp.JSONRPCMessage) {
	c.flushNotifications(r)
	if answer == nil {
		return
	}
	if r.queued {
		r.held, r.lost = encodeAnswer(m, in, answer), in.lost
		return
	}
	c.mu.Lock()
	r.answering = c.inflight[m.id] == r
	c.mu.Unlock()
	if !r.answering {
		in.lost()
		return
	}
	c.write(encodeAnswer(m, in, answer))
}
