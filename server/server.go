// Package server speaks MCP: over stdio, over streamable HTTP, and to a client
// in the same process. It is the only package that knows the MCP library; what
// a call is and does, the pipeline says.
//
// The library keeps the protocol (messages, eras, negotiation); what it gets
// wrong under load is ours: the stdio loop (stdio.go), the order and the
// cancelling of calls, and everything an HTTP request must pass before the
// library sees it (guard.go).
package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/results"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/pipeline"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// Config is what a server works with. All fields but the booleans and those that
// say otherwise are required.
type Config struct {
	Version    string
	Registry   *tools.Registry
	Pipeline   *pipeline.Pipeline
	Scheduler  *concurrency.Scheduler
	Roots      *workspace.Roots
	Results    *results.Store
	Log        *slog.Logger
	Ordered    bool // answer the calls of a stdio client in the order they came
	Structured bool // send structuredContent and outputSchema too
	// WakeListed has upstream servers connected whose tools are not known: all, or
	// those whose tools are always loaded. It does not wait. nil: there are none, so
	// the tools stay what they are.
	WakeListed func(all bool)
	Conditions Conditions // for the instructions; the zero value says nothing
	// Defers reports that clients defer tools by themselves, whatever their names
	// are: it decides where Registry.Deferral is tools.DeferAuto.
	Defers bool
	// AskTimeout is how long a question to a client's user may wait for its
	// answer; 0: DefaultAskTimeout.
	AskTimeout time.Duration
	// Gone is told of every conversation that has ended, but for requests without
	// one; it must not block. nil: nobody is.
	Gone  func(session.View)
	Drain time.Duration // how long calls in flight may go on when the client is gone or the server is told to stop
}

// Server serves one set of tools. Transports share its scheduler.
type Server struct {
	Config
	mcp      *mcpserver.MCPServer
	timeouts timeouts
	maxLine  int   // bytes of a stdio message
	bodies   *room // of HTTP requests

	shown  shown   // definitions as tools/list has them
	last   told    // what clients know to be listed
	rounds *rounds // questions put to clients that answer them with another call
	run    func(context.Context, pipeline.Request) (*tools.Response, error)

	mu    sync.Mutex
	conns int // conversations opened, for their ids
}

// New makes a server. It fails on a tool whose schema is bad.
func New(c Config) (*Server, error) {
	if c.AskTimeout == 0 {
		c.AskTimeout = DefaultAskTimeout
	}
	s := &Server{
		Config: c, timeouts: defaultTimeouts, maxLine: defaultMaxLine, bodies: newRoom(maxSmallBodies, maxBodies-maxSmallBodies),
		run: c.Pipeline.Run,
	}
	var err error
	if s.rounds, err = newRounds(); err != nil {
		return nil, fmt.Errorf("making a key for questions: %w", err)
	}
	hooks := &mcpserver.Hooks{}
	hooks.AddBeforeCallTool(s.resolveName)
	hooks.AddAfterInitialize(func(ctx context.Context, _ any, req *mcp.InitializeRequest, r *mcp.InitializeResult) {
		callFrom(ctx).initialized = true
		r.Instructions = instructions(c.Roots.Paths(), c.Registry, s.offerTo(ctx, req.Params.ClientInfo.Name), c.Conditions)
	})
	hooks.AddAfterSubscriptionsListen(func(ctx context.Context, _ any, _ *mcp.SubscriptionsListenRequest, _ *mcp.SubscriptionsListenResult) {
		if w := callFrom(ctx).stream; w != nil {
			w.awaitEvent(ctx)
		}
	})
	hooks.AddAfterListTools(s.list)
	hooks.AddAfterDiscover(func(ctx context.Context, _ any, _ *mcp.DiscoverRequest, r *mcp.DiscoverResult) {
		r.Instructions = instructions(c.Roots.Paths(), c.Registry, s.offered(ctx), c.Conditions)
	})
	s.mcp = mcpserver.NewMCPServer("mcp-toolset", c.Version,
		mcpserver.WithTitle("Toolset"),
		mcpserver.WithToolCapabilities(s.changes()),
		mcpserver.WithLogging(),
		mcpserver.WithHooks(hooks),
	)
	s.mcp.AddTool(mcp.NewToolWithRawSchema(carrier, "", []byte(`{"type":"object"}`)), s.handle)
	if _, err := s.definitions(c.Registry.Tools(), s.offered(context.Background())); err != nil {
		return nil, err
	}
	if s.WakeListed != nil || c.Registry.Later() {
		s.last.update(c.Registry)
		c.Registry.OnChange(s.tellChanged)
	}
	return s, nil
}

// conversation is the state of one client: its session and its lane.
type conversation struct {
	session *session.Session
	lane    *concurrency.Lane
	results string // folder held in the result store
	asked   *questions
	offer   offer
}

// open starts a conversation. A stateless one lasts for one request and shares
// its principal's results.
func (s *Server) open(principal string, stateless bool) *conversation {
	s.mu.Lock()
	s.conns++
	id := fmt.Sprintf("%d", s.conns)
	s.mu.Unlock()
	holder := principal
	if !stateless {
		holder += "-" + id
	}
	dir := s.Results.Hold(results.HolderName(holder))
	return &conversation{
		session: session.New(session.Config{
			ID: id, Principal: principal, Roots: s.Roots.Paths(), Results: dir, Stateless: stateless,
		}),
		lane:    s.Scheduler.NewLane(holder, s.Roots.Paths()...),
		results: dir,
		asked:   newQuestions(),
	}
}

// close ends a conversation with a client that is gone.
func (s *Server) close(c *conversation) {
	c.asked.end()
	s.Results.Release(c.results)
	if v := c.session.View(); s.Gone != nil && !v.Stateless {
		s.Gone(v)
	}
}
