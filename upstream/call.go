package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"mcp-toolset/tools"
)

// call is one request that a tool makes to a server, from begin to end.
type call struct {
	*capture
	conn   *conn
	env    *tools.Env
	token  string // the token that its progress notifications carry
	ctx    context.Context
	cancel context.CancelCauseFunc

	progress chan tools.Progress
	alive    chan struct{} // has a value after a sign of life
	asking   atomic.Int32  // number of questions that the user has not answered
	reads    bool          // whether the call reads a resource

	mu      sync.Mutex
	outcome error // overrides the outcome of the request if it is set
}

// maxProgress is the limit of progress reports passed on per second.
const maxProgress = 20

type callKey struct{}

// callOf returns the call of a context, or nil if it has none.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// withCall returns a context that carries the call.
func (c *call) withCall(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// begin creates a call on a connection that the caller has entered.
func (c *conn) begin(ctx context.Context, env *tools.Env, reads bool) *call {
	n := &call{
		conn: c, env: env, reads: reads, token: fmt.Sprintf("call-%d", c.s.m.count.Add(1)),
		progress: make(chan tools.Progress, 64), alive: make(chan struct{}, 1),
	}
	ctx, n.capture = capturing(ctx)
	ctx, n.cancel = context.WithCancelCause(ctx)
	n.ctx = n.withCall(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, n)
	return n
}

// end ends the call and leaves the connection.
func (c *call) end() {
	c.cancel(context.Canceled)
	c.conn.mu.Lock()
	c.conn.calls = slices.DeleteFunc(c.conn.calls, func(o *call) bool { return o == c })
	c.conn.mu.Unlock()
	c.conn.leave()
}

// sendProgress passes on progress without blocking. It drops progress if the channel is
// full.
func (c *call) sendProgress(p tools.Progress) {
	select {
	case c.progress <- p:
	default:
	}
}

// touch records a sign of life.
func (c *call) touch() {
	select {
	case c.alive <- struct{}{}:
	default:
	}
}

// finish cancels the call and makes it end with err, whatever the server
// answers. The first error counts.
func (c *call) finish(err error) {
	c.mu.Lock()
	if c.outcome == nil {
		c.outcome = err
	}
	c.mu.Unlock()
	c.cancel(err)
}

// do makes the request. It returns when the request or its context ends, or
// when the server gives no sign of life for the timeout of calls.
func (c *call) do(request func(context.Context) error) error {
	limit := c.conn.s.Timeout
	done := make(chan error, 1)
	go func() { done <- request(c.ctx) }()
	silent := time.NewTimer(limit)
	defer silent.Stop()
	var second time.Time // start of the second that handed counts
	handed := 0
	for {
		select {
		case p := <-c.progress:
			if now := time.Now(); now.Sub(second) >= time.Second {
				second, handed = now, 0
			}
			if handed++; handed <= maxProgress {
				c.env.Progress(p)
			}
			silent.Reset(limit)
		case <-c.alive:
			silent.Reset(limit)
		case <-silent.C:
			if c.asking.Load() > 0 || len(c.alive)+len(c.progress) > 0 {
				silent.Reset(limit)
				continue
			}
			c.cancel(errSilent)
			return errSilent
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		case err := <-done:
			for len(c.progress) > 0 { // progress from before the result
				c.env.Progress(<-c.progress)
			}
			if c.ctx.Err() != nil {
				return context.Cause(c.ctx)
			}
			return err
		}
	}
}

// prepare connects to the server ahead of a call, so that a call that waits for
// the connection does not delay others.
func (s *server) prepare(ctx context.Context) error {
	c, err := s.connect(ctx)
	if err == nil {
		c.leave()
	}
	return err
}

// call calls a tool by the name it has on the server.
func (s *server) call(ctx context.Context, env *tools.Env, tool string, args json.RawMessage) (*tools.Response, error) {
	raw, err := s.request(ctx, env, false, func(ctx context.Context, c *call) error {
		var r mcp.CallToolRequest
		r.Params.Name, r.Params.Arguments = tool, args
		r.Params.Meta = &mcp.Meta{ProgressToken: c.token}
		_, err := c.conn.client.CallTool(ctx, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.response(raw)
}

// request makes a request of a call and returns the raw result. If the server
// certainly did not take the request, it is repeated once on a new connection.
func (s *server) request(ctx context.Context, env *tools.Env, reads bool, send func(context.Context, *call) error) (json.RawMessage, error) {
	for again := true; ; again = false {
		conn, err := s.connect(ctx)
		if err != nil {
			return nil, err
		}
		raw, stale, err := s.once(ctx, conn, conn.begin(ctx, env, reads), send)
		if stale == nil {
			return raw, err
		}
		if s.dropped(conn, stale); !again {
			return nil, err
		}
	}
}

// once makes a request. If stale is not nil, the server did not take the
// request and the connection is no longer usable; stale says why.
func (s *server) once(ctx context.Context, conn *conn, c *call, send func(context.Context, *call) error) (raw json.RawMessage, stale *failure, err error) {
	defer c.end()
	err = c.do(func(ctx context.Context) error { return send(ctx, c) })
	c.mu.Lock()
	outcome := c.outcome
	c.mu.Unlock()
	x := c.answer()
	switch {
	case outcome != nil:
		return nil, nil, outcome
	case err == nil:
		return x.raw, nil, nil
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case errors.Is(err, errSilent):
	case x.raw != nil && !asksInput(x.raw):
		return x.raw, nil, nil // the library cannot decode it; the caller reports that
	case notRun(x, err):
		f := unused(conn, x, err)
		return nil, f, s.unreachable(f)
	}
	return nil, nil, c.failed(err)
}

// unused returns the reason why a server did not take a request.
func unused(conn *conn, x *answer, err error) *failure {
	switch {
	case conn.peer != nil && conn.isLost():
		return conn.lostError()
	case conn.peer != nil:
		return &failure{reason: "it does not read what it is sent"}
	case x.status == 0 && !errors.Is(err, transport.ErrSessionTerminated):
		return byNetwork(err)
	case conn.modern:
		if f := byStatus(x.status); f != nil {
			return f
		}
	}
	return &failure{reason: "it does not know the session any more"}
}

// asksInput reports whether a result is a question to the user.
func asksInput(raw json.RawMessage) bool {
	var r struct {
		Type mcp.ResultType `json:"resultType"`
	}
	return json.Unmarshal(raw, &r) == nil && r.Type == mcp.ResultTypeInputRequired
}
