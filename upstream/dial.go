package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// dial connects to the server and lists its tools. The caller must close a
// connection that is returned with an error.
func (s *server) dial(ctx context.Context) (*conn, []json.RawMessage, error) {
	s.mu.Lock()
	legacy := s.legacy
	s.mu.Unlock()
	c, err := s.open(ctx, legacy, false)
	if err != nil && ctx.Err() == nil && c != nil && c.peer != nil && !legacy && c.isLost() {
		// Some servers from before protocol 2026-07-28 exit when they receive
		// an unknown request.
		c.close()
		c, err = s.open(ctx, true, false)
	}
	if err == nil && c.modern && !c.hasTools && !c.hasResources && !c.named {
		// Some answer any unknown request with an empty result.
		c.close()
		c, err = s.open(ctx, true, false)
	}
	if err == nil && c.peer == nil && !c.modern && c.listChanges {
		// Over HTTP such a server reports changes on a stream that must be
		// requested at the start.
		c.close()
		c, err = s.open(ctx, true, true)
	}
	s.mu.Lock()
	s.legacy = err == nil && !c.modern
	s.mu.Unlock()
	if err != nil {
		return c, nil, err
	}
	list, err := c.list(ctx)
	if err != nil {
		return c, nil, err
	}
	c.follow()
	return c, list, nil
}

// open makes one connection and does the handshake.
func (s *server) open(ctx context.Context, legacy, listen bool) (*conn, error) {
	c := newConn(s)
	tap, err := s.transport(ctx, c, listen)
	if err != nil {
		return c, err
	}
	options := []client.ClientOption{
		client.WithElicitationHandler(c),
		client.WithClientCapabilities(mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}}}),
		client.WithDiscoverTimeout(min(discoverTimeout, s.m.ConnectTimeout/2)),
	}
	if legacy {
		options = append(options, client.WithProtocolVersion(mcp.LATEST_LEGACY_PROTOCOL_VERSION))
	}
	c.client = client.NewClient(tap, options...)
	c.client.OnNotification(c.notified)
	if err := c.client.Start(c.ctx); err != nil {
		return c, fmt.Errorf("starting the connection: %w", err)
	}
	ctx, got := capturing(ctx)
	var hello mcp.InitializeRequest
	hello.Params.ClientInfo = mcp.Implementation{Name: "mcp-toolset", Version: s.m.Version}
	result, err := c.client.Initialize(ctx, hello)
	if err != nil {
		if c.isLost() {
			return c, c.lostError()
		}
		return c, &answeredError{got.answer(), err}
	}
	c.modern = mcp.IsModernProtocol(result.ProtocolVersion)
	c.named = result.ServerInfo.Name != ""
	c.hasTools = result.Capabilities.Tools != nil
	c.listChanges = c.hasTools && result.Capabilities.Tools.ListChanged
	c.hasResources = result.Capabilities.Resources != nil
	return c, nil
}

// transport returns the transport to the server. Over stdio, it starts the
// server.
func (s *server) transport(ctx context.Context, c *conn, listen bool) (transport.Interface, error) {
	log := slog.New(debugHandler{s.m.Log.Handler()}).With("server", s.Name)
	if s.URL != "" {
		return s.newHTTPTransport(c, listen, log)
	}
	p, err := s.m.Start(ctx, Command{
		Program: s.Command, Args: s.Args, Env: s.environment(s.m.Environ, runtime.GOOS), Dir: s.workingDir(s.m.Dir),
	})
	if err != nil {
		return nil, err
	}
	c.peer = newPeer(p, s.m.Log.With("server", s.Name), c.markLost)
	io := transport.NewIO(c.peer.out, c.peer.in, nil)
	transport.WithCommandLogger(log)(io)
	return &stdioTap{Stdio: io, lost: c.ended}, nil
}

// follow starts to watch for changes of the tools.
func (c *conn) follow() {
	c.wg.Go(c.relisting)
	if c.modern && c.listChanges {
		c.wg.Go(c.listening)
	}
}

// listening maintains a subscription to changes of the tools.
func (c *conn) listening() {
	const most = time.Minute
	for wait := time.Second; ; wait = min(2*wait, most) {
		ctx, got := capturing(streaming(c.ctx))
		begun := time.Now()
		_ = c.client.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true})
		if got.answer().rpc != nil {
			return // the server has no subscriptions
		}
		if time.Since(begun) > most {
			wait = time.Second
		}
		select {
		case <-c.ctx.Done():
			return
		case <-time.After(wait):
			c.changed() // changes may have been missed
		}
	}
}

// relisting lists the tools again after they have changed.
func (c *conn) relisting() {
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.stale:
		}
		ctx, cancel := context.WithTimeout(c.ctx, c.s.m.ConnectTimeout)
		list, err := c.list(ctx)
		cancel()
		if err == nil {
			c.s.remember(list)
			c.s.m.publish()
		} else if c.ctx.Err() == nil {
			c.s.m.Log.Info("the changed tools of an upstream server could not be listed", "server", c.s.Name, "error", line(err.Error()))
		}
		select {
		case <-c.ctx.Done():
			return
		case <-time.After(relistEvery):
		}
	}
}

// changed requests a new listing of the tools. It does not block.
func (c *conn) changed() {
	select {
	case c.stale <- struct{}{}:
	default:
	}
}

// debugHandler lowers all log records of the library to debug level, because they do
// not help the user.
type debugHandler struct{ slog.Handler }

func (q debugHandler) Enabled(ctx context.Context, _ slog.Level) bool {
	return q.Handler.Enabled(ctx, slog.LevelDebug)
}

func (q debugHandler) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, slog.LevelDebug, "mcp client: "+line(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(slog.String(a.Key, line(a.Value.String())))
		return true
	})
	return q.Handler.Handle(ctx, out)
}

func (q debugHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return debugHandler{q.Handler.WithAttrs(attrs)}
}
func (q debugHandler) WithGroup(name string) slog.Handler {
	return debugHandler{q.Handler.WithGroup(name)}
}
