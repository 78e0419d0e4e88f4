package upstream

import (
	"context"
	"errors"
	"sync"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"mcp-toolset/tools"
)

// conn is one connection to a server. Its users enter and leave it. A
// connection that is no longer usable is retired: it closes when the last user
// has left.
type conn struct {
	s         *server
	client    *client.Client
	peer      *peer  // nil over HTTP
	closeIdle func() // closes idle HTTP connections; nil over stdio

	modern, named, hasTools, listChanges, hasResources bool

	ctx    context.Context // ends when the connection is closed
	cancel context.CancelFunc
	ended  chan struct{} // closed when the connection is lost
	stale  chan struct{} // has a value when the tools have changed
	wg     sync.WaitGroup

	mu      sync.Mutex
	cause   error // why the connection is lost
	inside  int   // number of users that have entered
	retired bool
	calls   []*call // running calls, in the order they began
	closing sync.Once
}

func newConn(s *server) *conn {
	c := &conn{s: s, ended: make(chan struct{}), stale: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(s.m.ctx)
	s.m.mu.Lock()
	s.m.conns[c] = struct{}{}
	s.m.mu.Unlock()
	return c
}

// enter begins a use of the connection. It returns false if the connection is
// no longer usable.
func (c *conn) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired || c.cause != nil {
		return false
	}
	c.inside++
	return true
}

// leave ends a use of the connection.
func (c *conn) leave() {
	c.mu.Lock()
	c.inside--
	last := c.retired && c.inside == 0
	c.mu.Unlock()
	if last {
		c.closeLater()
	}
}

// retire makes the connection close as soon as it has no users.
func (c *conn) retire() {
	c.mu.Lock()
	was := c.retired
	c.retired = true
	idle := c.inside == 0
	c.mu.Unlock()
	if !was && idle {
		c.closeLater()
	}
}

// closeLater closes the connection in the background.
func (c *conn) closeLater() {
	if !c.s.m.enter() {
		return // the manager closes all connections
	}
	go func() {
		defer c.s.m.alive.Done()
		c.close()
	}()
}

// markLost records that the server sends nothing more. Only the first call has an
// effect.
func (c *conn) markLost(cause error) {
	c.mu.Lock()
	first := c.cause == nil
	if first {
		c.cause = cause
	}
	c.mu.Unlock()
	if !first {
		return
	}
	close(c.ended)
	if c.ctx.Err() != nil || !c.s.m.enter() {
		return // the connection is being closed
	}
	go func() { // must not block the read loop
		defer c.s.m.alive.Done()
		c.s.dropped(c, c.lostError())
	}()
}

func (c *conn) isLost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause != nil
}

func (c *conn) isTooLong() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Is(c.cause, errTooLong)
}

// lostError returns the reason why the connection was lost.
func (c *conn) lostError() *failure {
	c.mu.Lock()
	cause := c.cause
	c.mu.Unlock()
	switch {
	case errors.Is(cause, errTooLong):
		return &failure{reason: "it sent a line of more than " + sizeText(maxAnswer)}
	case c.peer != nil:
		return &failure{reason: c.peer.exitDescription()}
	}
	return byNetwork(cause)
}

// close ends the connection and, over stdio, the server. It returns after both
// have ended.
func (c *conn) close() {
	c.closing.Do(func() {
		c.mu.Lock()
		c.retired = true
		c.mu.Unlock()
		c.cancel()
		if c.client != nil {
			_ = c.client.Close()
		}
		if c.peer != nil {
			c.peer.end()
		}
		if c.closeIdle != nil {
			c.closeIdle()
		}
		c.wg.Wait()
		c.s.m.mu.Lock()
		delete(c.s.m.conns, c)
		c.s.m.mu.Unlock()
	})
}

// notified handles a notification of the server. It is called on the read loop
// and does not block.
func (c *conn) notified(n mcp.JSONRPCNotification) {
	switch n.Method {
	case string(mcp.MethodNotificationToolsListChanged), string(mcp.MethodNotificationSubscriptionsAcknowledged):
		c.changed() // changes before the subscription were not reported
	case string(mcp.MethodNotificationProgress):
		c.progressed(n.Params.AdditionalFields)
	case string(mcp.MethodNotificationMessage):
		data, _ := n.Params.AdditionalFields["data"].(string)
		c.s.m.Log.Debug("an upstream server logs", "server", c.s.Name, "text", line(data))
	}
}

// progressed passes progress on to the call with its token.
func (c *conn) progressed(fields map[string]any) {
	token, _ := fields["progressToken"].(string)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.calls {
		if call.token != token {
			continue
		}
		p := tools.Progress{}
		p.Done, _ = fields["progress"].(float64)
		p.Total, _ = fields["total"].(float64)
		p.Message, _ = fields["message"].(string)
		p.Message = line(p.Message[:min(len(p.Message), maxWords)])
		call.sendProgress(p)
	}
}
