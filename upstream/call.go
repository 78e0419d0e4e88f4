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

// call is one request of a tool that runs at a server.
type call struct {
	*capture
	conn   *conn
	env    *tools.Env
	token  string // what its progress comes with
	ctx    context.Context
	cancel context.CancelCauseFunc

	progress chan tools.Progress
	alive    chan struct{} // holds one word: there was a sign of life
	asking   atomic.Int32  // questions a person has not answered
	reads    bool          // it reads a resource

	mu      sync.Mutex
	outcome error // what the call ends with, whatever the server says
}

// maxProgress is how often in a second progress is handed on.
const maxProgress = 20

type callKey struct{}

// callOf is the call of a context; nil: it has none.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// withCall is a context that knows the call.
func (c *call) withCall(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// begin makes a call on a connection that was entered.
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

// end is the end of the call and of the use of the connection.
func (c *call) end() {
	c.cancel(context.Canceled)
	c.conn.mu.Lock()
	c.conn.calls = slices.DeleteFunc(c.conn.calls, func(o *call) bool { return o == c })
	c.conn.mu.Unlock()
	c.conn.leave()
}

// tell hands on progress. It does not wait: too much of it is dropped.
func (c *call) tell(p tools.Progress) {
	select {
	case c.progress <- p:
	default:
	}
}

// touch is a sign of life.
func (c *call) touch() {
	select {
	case c.alive <- struct{}{}:
	default:
	}
}

// finish ends the call with an error that has to come out of it as it is.
func (c *call) finish(err error) {
	c.mu.Lock()
	if c.outcome == nil {
		c.outcome = err
	}
	c.mu.Unlock()
	c.cancel(err)
}

// do makes the request and waits for its end, that of the context or for silence.
func (c *call) do(request func(context.Context) error) error {
	limit := c.conn.s.Timeout
	done := make(chan error, 1)
	go func() { done <- request(c.ctx) }()
	silent := time.NewTimer(limit)
	defer silent.Stop()
	var second time.Time // in which progress was handed on so often
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
			for len(c.progress) > 0 { // what came before the result
				c.env.Progress(<-c.progress)
			}
			if c.ctx.Err() != nil {
				return context.Cause(c.ctx)
			}
			return err
		}
	}
}

// prepare connects to the server, so that a call that waits for it holds up no
// other.
func (s *server) prepare(ctx context.Context) error {
	c, err := s.connect(ctx)
	if err == nil {
		c.leave()
	}
	return err
}

// call calls a tool by the name that the server has for it.
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

// request makes a request of a call and returns the raw result. One that a server
// did certainly not take is made again, once, on a new connection.
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

// once makes a request. stale says why the connection is of no use any more, and
// that the server did not take the request.
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
		return x.raw, nil, nil // the library does not understand it; that is for us to say
	case notRun(x, err):
		f := unused(conn, x, err)
		return nil, f, s.unreachable(f)
	}
	return nil, nil, c.failed(err)
}

// unused says why a server did not take a request.
func unused(conn *conn, x *answer, err error) *failure {
	switch {
	case conn.peer != nil && conn.isLost():
		return conn.lostError()
	case conn.peer != nil:
		return &failure{why: "it does not read what it is sent"}
	case x.status == 0 && !errors.Is(err, transport.ErrSessionTerminated):
		return byNetwork(err)
	case conn.modern:
		if f := byStatus(x.status); f != nil {
			return f
		}
	}
	return &failure{why: "it does not know the session any more"}
}

// asksInput reports whether a result is a question.
func asksInput(raw json.RawMessage) bool {
	var r struct {
		Type mcp.ResultType `json:"resultType"`
	}
	return json.Unmarshal(raw, &r) == nil && r.Type == mcp.ResultTypeInputRequired
}
