package server

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/pipeline"
)

// DefaultAskTimeout is how long a question waits for a person where the call
// waits with it. It is below what hosts allow a call.
const DefaultAskTimeout = 2 * time.Minute

// questionKey names the question among those of a result that asks.
const questionKey = "permission"

// asker returns how the call's client can be asked, nil if it cannot, and what
// was kept of the question that the request brings the answer to. An error is
// one of the request.
//
// There are two ways. Up to 2025-11-25 the server sends a request on the call's
// own stream and the call waits, in its place. From 2026-07-28 on it cannot:
// the call ends with the question and is sent again with the answer.
func (s *Server) asker(ctx context.Context, in *incoming, out *notifier, req mcp.CallToolRequest, args json.RawMessage) (ask pipeline.Asker, resumed any, err error) {
	if !canBeAsked(ctx) {
		return nil, nil, nil
	}
	if !mcpserver.IsModernRequest(ctx) {
		return func(ctx context.Context, q pipeline.Question) (pipeline.Reply, error) {
			return s.askNow(ctx, in, out, q)
		}, nil, nil
	}
	v := in.conv.session.View()
	a := &rounder{rounds: s.rounds, binding: binding{principal: v.Principal, tool: req.Params.Name, arguments: args}}
	if !v.Stateless {
		a.binding.session = v.ID
	}
	if state := req.Params.RequestState; state != "" {
		if a.answered, err = s.rounds.take(a.binding, state); err != nil {
			return nil, nil, err
		}
	}
	if a.answered != nil {
		resumed = a.answered.kept
		if r, given := req.Params.InputResponses[questionKey]; given {
			a.result, _ = r.MarshalJSON() // the bytes that came
		}
	}
	return a.ask, resumed, nil
}

// canBeAsked reports whether the client declared that its user can be asked by
// a form, for this request or, before 2026-07-28, when it initialized.
func canBeAsked(ctx context.Context) bool {
	var declared *mcp.ElicitationCapability
	if info := mcpserver.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		if info.ClientCapabilities != nil {
			declared = info.ClientCapabilities.Elicitation
		}
	} else if c, ok := mcpserver.ClientSessionFromContext(ctx).(mcpserver.SessionWithClientInfo); ok {
		declared = c.GetClientCapabilities().Elicitation
	}
	// Naming no mode means forms: there was nothing else at first.
	return declared != nil && (declared.Form != nil || declared.URL == nil)
}

// askNow asks by a request of ours and waits for its answer, in the call's own
// place. Nothing is left of the question when it returns.
func (s *Server) askNow(ctx context.Context, in *incoming, out *notifier, q pipeline.Question) (pipeline.Reply, error) {
	none := pipeline.Reply{How: pipeline.NoAnswer}
	id, answer := in.conv.asked.put()
	defer in.conv.asked.forget(id)
	message, err := encodeRequest(id, string(mcp.MethodElicitationCreate), form(q))
	if err != nil {
		return none, fmt.Errorf("encoding a question: %w", err)
	}
	sent := false
	if err := out.open(func() error {
		select {
		case <-ctx.Done():
		case <-in.conv.asked.gone:
		case <-in.deaf:
		default:
			sent = true
			return in.send(message)
		}
		return nil
	}); err != nil || !sent {
		return none, context.Cause(ctx)
	}
	timer := time.NewTimer(s.AskTimeout)
	defer timer.Stop()
	select {
	case m := <-answer:
		if ctx.Err() == nil {
			return reply(q, m.result), nil
		}
	case <-timer.C:
		none.How = pipeline.TimedOut
	case <-in.conv.asked.gone:
	case <-in.deaf:
	case <-ctx.Done():
	}
	// Who is still shown the question need not look at it any more.
	_ = out.open(func() error {
		return in.notify(string(mcp.MethodNotificationCancelled), map[string]any{"requestId": id})
	})
	return none, context.Cause(ctx)
}

// rounder asks by ending the call and having it sent again.
type rounder struct {
	rounds  *rounds
	binding binding

	mu       sync.Mutex
	answered *round          // the question that the request answers; nil: none, or it was used
	result   json.RawMessage // its answer; nil: there is none
}

// ask returns the answer that the request brought if it is to this very
// question, once. Else the question has to be put.
func (a *rounder) ask(ctx context.Context, q pipeline.Question) (pipeline.Reply, error) {
	if ctx.Err() != nil {
		return pipeline.Reply{How: pipeline.NoAnswer}, context.Cause(ctx)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answered != nil && a.result != nil && a.answered.digest == questionDigest(q) {
		a.answered = nil
		return reply(q, a.result), nil
	}
	return pipeline.Reply{How: pipeline.NoAnswer}, &pipeline.InputRequired{Question: q, State: a.rounds.put(a.binding, q)}
}

// inputRequired is the result of a call that ends with a question.
func inputRequired(e *pipeline.InputRequired) *mcp.CallToolResult {
	return mcpserver.NewInputRequestBuilder(e.State).Elicit(questionKey, form(e.Question)).ToolResult()
}
