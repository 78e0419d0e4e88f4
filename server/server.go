// Package server implements MCP over stdio, over streamable HTTP, and for a
// client in the same process. Besides package upstream, only it imports the MCP
// library. What a call is and does is defined by the pipeline.
//
// The library handles messages, protocol versions and negotiation. This package
// handles what the library does wrong under load: the stdio loop (stdio.go),
// the order and cancelling of calls, and all checks of an HTTP request before
// the library sees it (http_guard.go).
//
// # Work-arounds
//
// The library is pinned. These faults were measured, and are handled here:
//
//   - ServeStdio runs calls out of order, loses cancels sent right after their call,
//     and cuts off a burst at its end. Our loop registers place and cancel before it
//     reads the next line (stdio.go).
//   - An error of a handler becomes -32603, which a model may never see. The pipeline
//     answers instead; only unknown tools are errors (explain, encodeAnswer).
//   - HTTP notifications of a session share one channel, so they reach the wrong stream
//     or are lost. They are written to the response of their own request (http_stream.go),
//     with headers of its own, because the library's map has no lock that we could
//     share.
//   - Unknown session ids are accepted, a GET opens a session under any id, and ended
//     ones are never forgotten. Sessions are managed in http_sessions.go, which checks GET
//     and DELETE first and ends them by the DELETE that a client would send.
//   - A write deadline of net/http ends an HTTP/2 stream that has nothing to write, and
//     an unread body is waited for. Each write is bounded (stream.bounded), and a
//     refused request is hung up on (closeAfterAnswer).
//   - A number beyond float64 refuses the whole message. It is quoted, and then refused
//     as an argument (quoteHuge).
//   - A stateless notifications/cancelled names only a request id, so one client could
//     cancel another's call. It is refused over HTTP. Other cancels are handled in
//     http_requests.go, because the library compares ids by their text and forgets a cancel
//     that comes first.
//   - The acknowledgement of a listen stream that ends at once may be lost. A hook
//     waits for it.
//   - There is no check of Origin, no body limit and no token: http_guard.go is around the
//     whole mux.
//   - Elicitation does not check the capability, and accepts forged answers and state.
//     Questions are put here (ask.go, questions.go, rounds.go).
//   - Request ids are decoded as floats. Over stdio, answers carry the bytes of the id.
//   - The library sorts tools, panics on odd schemas, and hides tools that it does not
//     list. It knows one tool only, the carrier; the registry makes the list (list.go).
//
// # Questions
//
// Up to protocol 2025-11-25 a question is a request of ours on the call's own stream,
// while the call waits. From 2026-07-28 on the call ends with the question and is sent
// again. State that the client carries is sealed (rounds.go); decisions stay here, once
// and for ten minutes, so hooks run again only if the input changed. A form of an
// upstream server goes the same two ways (rounder.go, foreign.go). It names its server
// first and is quoted line by line, so that it never looks like a question of ours. A
// schema that is not flat is declined unseen.
//
// # Cancelling
//
// Calls are cancelled from the latest to the earliest: one that runs makes way at once,
// and those that wait for it must be cancelled by then. A cancelled HTTP request gets an
// event stream without an answer. Standard input is read through an epoll instance of its
// own (stdio_polled_linux.go), because a read that blocks keeps a processor for up to 10 ms.
//
// Stateless HTTP requests of a principal share its folder of results, and its background tasks and
// events, unless they send a handle (http_handle.go). Requests with a token that lacks the scope for
// writing are refused before the library sees them (http_identity.go), and what they start may only
// read (pipeline.Request.ReadsOnly).
package server

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/identity"
	"mcp-toolset/internal/record/results"
	"mcp-toolset/pipeline"
	"mcp-toolset/session"
	"mcp-toolset/skills"
	"mcp-toolset/tools"
)

// Config holds the parts that a server uses. All fields are required except the
// booleans and those with a documented zero value.
type Config struct {
	Version    string
	Registry   *tools.Registry
	Pipeline   *pipeline.Pipeline
	Scheduler  *concurrency.Scheduler
	Roots      *workspace.Roots
	Results    *results.Store
	Log        *slog.Logger
	Ordered    bool // answer the calls of a stdio client in order of arrival
	Channel    bool // send events to a stdio client as messages of a channel
	Structured bool // also send structuredContent and outputSchema
	// Skills are served as prompts and resources; nil: the server has none.
	Skills *skills.Live
	// Profile is the profile of sessions that do not name one; nil: all tools. Profiles are the
	// others, which HTTP serves at /mcp/NAME.
	Profile  *session.Profile
	Profiles []*session.Profile
	// WakeListed connects upstream servers whose tools are not known: all of
	// them, or those whose tools are always loaded. It waits for them no longer
	// than most. It is nil if there are none.
	WakeListed func(ctx context.Context, all bool, most time.Duration)
	Conditions Conditions // for the instructions; the zero value adds nothing
	// Defers reports that clients of any name defer tools themselves. It is
	// used if Registry.Deferral is tools.DeferAuto.
	Defers bool
	// AskTimeout is the timeout for the user's answer; 0: DefaultAskTimeout.
	AskTimeout time.Duration
	// Resume returns how a new session moves into a worktree, or nil. It may be nil.
	Resume func(session.View) *session.Move
	// SessionUsed is called when a session is initialized and for each call, except requests
	// without a session and without a handle. It must not block. It may be nil.
	SessionUsed func(session.View)
	// SessionEnded is called for each session that has ended, also that of a handle. It must not
	// block. It may be nil.
	SessionEnded func(session.View)
	Sessions     int           // limit of the sessions of one principal over HTTP; 0: the usual one
	Drain        time.Duration // time for calls in progress when the client is gone or the server must stop
}

// Server serves one set of tools. All transports share its scheduler.
type Server struct {
	Config
	mcp      *mcpserver.MCPServer
	timeouts timeouts
	// personTime is the constant of this name; tests answer at once.
	personTime time.Duration
	maxLine    int         // limit of a stdio message, in bytes
	bodies     *bodyBudget // for bodies of HTTP requests

	shown  shown         // cached definitions for tools/list
	last   notifiedLists // the lists that clients were notified of
	settle settling
	rounds *rounds // questions that are answered by another call

	subscribers  subscribers              // to events
	handles      handles                  // sessions of requests with a handle
	httpSessions atomic.Pointer[sessions] // nil until ServeHTTP
	reads        *session.Session         // what requests without a session and without a handle have read; there is one token
	run          func(context.Context, pipeline.Request) (*tools.Response, error)

	mu    sync.Mutex
	conns int // number of conversations opened, for their ids
}

// New returns a server. It fails if the schema of a tool is invalid.
func New(c Config) (*Server, error) {
	if c.AskTimeout == 0 {
		c.AskTimeout = DefaultAskTimeout
	}
	s := &Server{
		Config: c, timeouts: defaultTimeouts, personTime: personTime, reads: session.New(session.Config{}), maxLine: defaultMaxLine, bodies: newBodyBudget(maxSmallBodies, maxBodies-maxSmallBodies),
		run: c.Pipeline.Run, subscribers: subscribers{of: map[session.Owner]map[string]func(){}},
	}
	var err error
	if s.rounds, err = newRounds(); err != nil {
		return nil, fmt.Errorf("making a key for questions: %w", err)
	}
	hooks := &mcpserver.Hooks{}
	hooks.AddBeforeCallTool(s.resolveName)
	hooks.AddAfterInitialize(func(ctx context.Context, _ any, req *mcp.InitializeRequest, r *mcp.InitializeResult) {
		in := callFrom(ctx)
		in.initialized = true
		if in.conv != nil {
			in.conv.session.SetClient(req.Params.ClientInfo.Name)
			s.used(in.conv.session)
		}
		r.Instructions = s.instructions(ctx, s.offerTo(ctx, req.Params.ClientInfo.Name))
	})
	hooks.AddAfterSubscriptionsListen(func(ctx context.Context, _ any, _ *mcp.SubscriptionsListenRequest, _ *mcp.SubscriptionsListenResult) {
		if w := callFrom(ctx).stream; w != nil {
			w.awaitEvent(ctx)
		}
	})
	hooks.AddAfterListTools(s.list)
	hooks.AddAfterDiscover(func(ctx context.Context, _ any, _ *mcp.DiscoverRequest, r *mcp.DiscoverResult) {
		r.Instructions = s.instructions(ctx, s.offered(ctx))
	})
	s.mcp = mcpserver.NewMCPServer("mcp-toolset", c.Version, append([]mcpserver.ServerOption{
		mcpserver.WithTitle("Toolset"),
		mcpserver.WithToolCapabilities(s.changes()),
		mcpserver.WithResourceCapabilities(true, true),
		mcpserver.WithLogging(),
		mcpserver.WithHooks(hooks),
	}, slices.Concat(s.experimental(), s.skillOptions())...)...)
	s.offerEvents(hooks)
	s.offerSkills(hooks)
	s.offerViews(hooks)
	s.mcp.AddTool(mcp.NewToolWithRawSchema(carrier, "", []byte(`{"type":"object"}`)), s.handle)
	if _, err := s.definitions(c.Registry.Tools(), s.offered(context.Background())); err != nil {
		return nil, err
	}
	if s.changes() {
		s.last.update(c.Registry)
		c.Registry.OnChange(s.notifyChanged)
	}
	return s, nil
}

// conversation holds the state of one client: its session and its lane.
type conversation struct {
	session *session.Session
	lane    *concurrency.Lane
	results string // folder in the result store that the conversation holds
	asked   *questions
	offer   offer
}

// open starts a conversation. A stateless one lasts for one request and shares
// the stored results of its principal. p is its profile; nil: all tools.
func (s *Server) open(by identity.Principal, stateless bool, p *session.Profile) *conversation {
	name := ""
	if by.Issuer != "" { // else the ID has it
		name = by.Name
	}
	c := s.openWith(session.Config{Principal: by.ID, User: name, Roots: s.Roots.Paths(), Stateless: stateless, Profile: p, Reads: s.reads})
	if s.Resume != nil && !stateless {
		if m := s.Resume(c.session.View()); m != nil {
			c.session.Apply(session.Effect{Move: m})
		}
	}
	return c
}

// openWith starts a conversation. It sets the id and the folder of results of its session.
func (s *Server) openWith(config session.Config) *conversation {
	s.mu.Lock()
	s.conns++
	config.ID = fmt.Sprintf("%d", s.conns)
	s.mu.Unlock()
	holder, results := config.Principal, identity.FileName(config.Principal)
	if !config.Stateless {
		holder, results = holder+"-"+config.ID, results+"."+config.ID // no result of FileName has a dot
	}
	if config.Results = s.Results.Hold(results); config.Agent != "" {
		holder = "agent " + config.Agent
	}
	c := &conversation{
		session: session.New(config), lane: s.Scheduler.NewLane(holder, config.Roots...), results: config.Results, asked: newQuestions(),
	}
	c.session.OnMove(func(roots []string) { c.lane.Move(roots...) })
	return c
}

// used reports the use of a session.
func (s *Server) used(of *session.Session) {
	v := of.View()
	if !v.Forgets() && s.SessionUsed != nil {
		s.SessionUsed(v)
	}
}

// ended reports the end of a session.
func (s *Server) ended(v session.View) {
	s.subscribers.forget(v.Owner())
	if s.SessionEnded != nil {
		s.SessionEnded(v)
	}
}

// close ends the conversation of a client that is gone.
func (s *Server) close(c *conversation) {
	c.asked.end()
	s.ends(c)
}

// ends ends the session of a conversation. Its client can still be asked in others.
func (s *Server) ends(c *conversation) {
	s.Results.Release(c.results)
	if v := c.session.View(); !v.Forgets() {
		s.ended(v)
	}
}
