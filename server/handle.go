package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/event"
	"mcp-toolset/internal/host"
	"mcp-toolset/internal/identity"
	"mcp-toolset/pipeline"
	"mcp-toolset/session"
	"mcp-toolset/skills"
	"mcp-toolset/tools"
)

// incoming holds what a transport knows about a request and the library has no
// field for. It is a value of the request's context, because only the context
// reaches a handler through the library.
type incoming struct {
	method    string
	profile   *session.Profile // that of the URL
	handle    string           // of its session, if it names one so; "": none
	agent     string           // of the host that makes the call; "": its main one
	by        identity.Principal
	conv      *conversation
	ticket    *concurrency.Ticket                   // place of a tools/call
	notify    func(method string, params any) error // writes a notification before the answer
	send      func(message []byte) error            // writes a request of the server, as notify does
	closed    <-chan struct{}                       // closed when no more answers are accepted; nil: never
	stream    *stream                               // the HTTP response; nil over stdio
	request   *httpRequest                          // nil over stdio
	tool      string                                // name of the called tool, once known
	found     *tools.Tool                           // the called tool; nil: not known yet
	arguments json.RawMessage                       // of the call, if the library does not get them
	unknown   error                                 // why there is no such tool, prompt or resource; nil: there is, or it is not known
	skill     *skills.Skill                         // of a prompts/get
	unsent    func()                                // puts back the events of the answer; nil: it has none
	extra     func() []byte                         // answers a method that the library does not know; nil: none

	initialized bool // set after a successful initialize
}

// lost is called when the answer did not reach the client.
func (in *incoming) lost() {
	if in.unsent != nil {
		in.unsent()
		in.unsent = nil
	}
}

type incomingKey struct{}

func withIncoming(ctx context.Context, in *incoming) context.Context {
	return context.WithValue(ctx, incomingKey{}, in)
}

// callFrom returns the request's incoming from the context. It is never nil.
func callFrom(ctx context.Context) *incoming {
	if in, ok := ctx.Value(incomingKey{}).(*incoming); ok {
		return in
	}
	return &incoming{}
}

// carrier is the name of the only tool that the library knows. Tools come and
// go and clients see different lists, so the library cannot hold them.
const carrier = "call"

// resolveName runs before the library looks a tool up. It finds the tool, also
// by a former name, and redirects the call to the carrier. For an unknown name
// the library does not call the carrier. So resolveName writes the call to the
// audit log and stores the error, because the library only answers "not found".
func (s *Server) resolveName(ctx context.Context, _ any, req *mcp.CallToolRequest) {
	in := callFrom(ctx)
	s.Pipeline.CurrentRules() // settings that have changed may offer other tools
	req.Params.Name = strings.TrimPrefix(req.Params.Name, host.Of(clientName(ctx)).Prefix)
	t, err := s.Registry.View(s.profile(ctx)).For(s.offered(ctx)).Lookup(req.Params.Name)
	if err != nil {
		if unknown, ok := err.(*tools.UnknownTool); ok && unknown.Server != "" {
			// The upstream server may have the tool; the call waits for it.
			in.tool, req.Params.Name = req.Params.Name, carrier
			return
		}
		in.unknown = err
		s.refused(ctx, in.conv, *req, err)
		req.Params.Name = "" // the carrier cannot be called by its own name
		return
	}
	in.tool, in.found, req.Params.Name = t.Name, t, carrier
}

// tooMany follows the name of a tool in the answer to a call that found its lane full.
const tooMany = ": refused: too many calls are waiting. Send this one again when some are answered."

// handle runs one tools/call.
func (s *Server) handle(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	in := callFrom(ctx)
	req.Params.Name = in.tool
	if in.arguments != nil {
		req.Params.RawArguments = in.arguments
	}
	if in.ticket == nil {
		s.refused(ctx, in.conv, req, concurrency.ErrFull)
		return mcp.NewToolResultError(in.tool + tooMany), nil
	}
	s.notifyLoaded(ctx, in.conv)
	out := &notifier{ctx: ctx, send: in.notify}
	defer out.close()
	args := req.Params.RawArguments
	if args == nil && req.Params.Arguments != nil {
		var err error
		if args, err = json.Marshal(req.Params.Arguments); err != nil {
			return nil, err
		}
	}
	err := narrow(in.conv.session, req.Params.Meta)
	var user user
	if err == nil {
		if info := mcpserver.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientInfo != nil {
			in.conv.session.SetClient(info.ClientInfo.Name)
		}
		s.used(in.conv.session)
		user, err = s.user(ctx, in, out, req, args)
	}
	if err != nil {
		s.refused(ctx, in.conv, req, err)
		return mcp.NewToolResultError(fmt.Sprintf("%s: invalid input: %v. Send this call again without it.", req.Params.Name, err)), nil
	}
	log := s.Log.With("session", in.conv.session.View().ID)
	if level, wanted := clientLevel(ctx); wanted {
		log = slog.New(&teeHandler{log.Handler(), &clientHandler{notify: out.notify, level: level}})
	}
	resp, err := s.run(ctx, pipeline.Request{
		Tool: req.Params.Name, Found: in.found, Arguments: args, Session: in.conv.session, Ticket: in.ticket,
		Log: log, Progress: progress(out, req.Params.Meta), ID: callID(req.Params.Meta),
		Ask: user.ask, AskWaits: user.rounder == nil, Elicit: user.elicit, Resumed: user.resumed,
		ReadsOnly: !in.by.May(identity.Write),
	})
	var input *pipeline.InputRequired
	if errors.As(err, &input) && user.rounder != nil {
		return user.rounder.end(input), nil
	}
	if err != nil {
		if unknown, ok := errors.AsType[*tools.UnknownTool](err); ok {
			in.unknown = unknown
		}
		return nil, err
	}
	if events, any := resp.Meta[event.Meta].([]event.Event); any {
		owner := in.conv.session.View().Owner()
		in.unsent = func() { s.Pipeline.Events.Return(owner, events) }
	}
	result, err := s.result(resp, host.Of(in.conv.session.View().Client))
	if err != nil {
		log.Error("a result cannot be encoded", "tool", req.Params.Name, "error", err.Error())
		return mcp.NewToolResultError(req.Params.Name + ": failed: its result cannot be encoded. The server's log has the details."), nil
	}
	offerHandle(result, in.conv.session.View())
	return result, nil
}

// refused writes a call that does not run to the audit log.
func (s *Server) refused(ctx context.Context, conv *conversation, req mcp.CallToolRequest, err error) {
	if large := callFrom(ctx).arguments; large != nil {
		req.Params.RawArguments = large
	}
	s.Pipeline.Refused(ctx, pipeline.Request{
		Tool: req.Params.Name, Arguments: req.Params.RawArguments, Session: conv.session, ID: callID(req.Params.Meta),
	}, err)
}

// callID returns the host's id of a call, or "" if it sends none.
func callID(meta *mcp.Meta) string {
	if meta == nil {
		return ""
	}
	id, _ := meta.AdditionalFields["claudecode/toolUseId"].(string)
	return id
}

// notifier sends the notifications of one call until the call has its answer or
// is cancelled. So a goroutine that a tool has left running sends nothing.
type notifier struct {
	ctx  context.Context
	send func(method string, params any) error

	mu     sync.Mutex
	closed bool
}

func (n *notifier) notify(method string, params any) error {
	return n.open(func() error {
		if n.ctx.Err() != nil {
			return nil
		}
		return n.send(method, params)
	})
}

// open calls write unless the call has its answer.
func (n *notifier) open(write func() error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil
	}
	return write()
}

// close waits for a notification in progress and prevents further ones.
func (n *notifier) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
}

// progress returns the function that reports a call's progress, or nil if the
// client did not ask for it.
func progress(out *notifier, meta *mcp.Meta) func(tools.Progress) {
	if meta == nil || meta.ProgressToken == nil {
		return nil
	}
	return func(p tools.Progress) {
		params := map[string]any{"progressToken": meta.ProgressToken, "progress": p.Done}
		if p.Total > 0 {
			params["total"] = p.Total
		}
		if p.Message != "" {
			params["message"] = p.Message
		}
		_ = out.notify(string(mcp.MethodNotificationProgress), params)
	}
}

// clientLevel returns the minimum level of log messages that the client wants,
// and whether it wants any.
func clientLevel(ctx context.Context) (slog.Level, bool) {
	level := mcp.LoggingLevel("")
	if info := mcpserver.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		level = info.LogLevel // per request; absent means none
	} else if s, ok := mcpserver.ClientSessionFromContext(ctx).(mcpserver.SessionWithLogging); ok {
		level = s.GetLogLevel()
	}
	for _, l := range mcpLevels {
		if l.name == level {
			return l.level, true
		}
	}
	return 0, false
}
