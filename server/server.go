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
	hooks.AddAfterInitialize(func(ctx context.Context, _ any, _ *mcp.InitializeRequest, _ *mcp.InitializeResult) {
		callFrom(ctx).initialized = true
	})
	hooks.AddAfterSubscriptionsListen(func(ctx context.Context, _ any, _ *mcp.SubscriptionsListenRequest, _ *mcp.SubscriptionsListenResult) {
		if w := callFrom(ctx).stream; w != nil {
			w.awaitEvent(ctx)
		}
	})
	s.mcp = mcpserver.NewMCPServer("mcp-toolset", c.Version,
		mcpserver.WithTitle("Toolset"),
		mcpserver.WithInstructions(instructions(c.Roots.Paths())),
		mcpserver.WithToolCapabilities(false), // the list is fixed while the server lives
		mcpserver.WithLogging(),
		mcpserver.WithHooks(hooks),
	)
	for _, t := range c.Registry.Tools() {
		def, err := definition(t, c.Structured)
		if err != nil {
			return nil, err
		}
		s.mcp.AddTool(def, s.handle)
	}
	return s, nil
}

// MaxInstructions is where clients cut the instructions, in bytes.
const MaxInstructions = 2048

// instructions tell a model what it cannot see in the tools themselves.
func instructions(roots []string) string {
	text := "Tools for working on files on this machine, as a coding agent does.\n" +
		"Paths may be absolute, start with ~, or be relative to the working directory. Workspace roots, the first being the working directory at the start:\n"
	for i, r := range roots {
		line := "- " + r + "\n"
		if len(text)+len(line) > MaxInstructions-600 {
			text += fmt.Sprintf("- and %d more\n", len(roots)-i)
			break
		}
		text += line
	}
	return text + "Calls sent together over stdio or in one HTTP session run as one batch: reads in parallel, anything that changes something alone and in the order sent, so a read behind a write sees it. " +
		"HTTP requests of protocol 2026-07-28 have no session and no order: send what builds on a call when that is answered. " +
		"A result too long to show names a file that holds all of it: go on with Read there."
}

// conversation is the state of one client: its session and its lane.
type conversation struct {
	session *session.Session
	lane    *concurrency.Lane
	results string // folder held in the result store
	asked   *questions
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
