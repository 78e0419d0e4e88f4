package server

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/pipeline"
	"mcp-toolset/tools"
)

// DefaultAskTimeout is how long a question waits for a person where the call
// waits with it. It is below what hosts allow a call.
const DefaultAskTimeout = 2 * time.Minute

// question is what a client's user is asked, of whatever kind.
type question struct {
	key    string // its name among the questions of a result
	form   mcp.ElicitationParams
	digest [sha256.Size]byte // of all that the user is shown
}

func newQuestion(key string, form mcp.ElicitationParams, shown ...[]byte) question {
	return question{key, form, digest(append(shown, []byte(key))...)}
}

// putter puts a question and returns the result as the client sent it; how says
// why there is none. It fails as a pipeline.Asker does.
type putter func(context.Context, question) (result json.RawMessage, how string, err error)

// user is how the user of a call's client can be asked. All of the zero user is
// nil: that cannot be.
type user struct {
	ask     pipeline.Asker
	elicit  func(context.Context, tools.Form) (tools.FormReply, error)
	resumed any      // what was kept of the question that the request brings the answer to
	rounder *rounder // nil: the call waits for answers
}

// user returns how the call's client can be asked. An error is one of the
// request.
//
// There are two ways. Up to 2025-11-25 the server sends a request on the call's
// own stream and the call waits, in its place. From 2026-07-28 on it cannot:
// the call ends with the question and is sent again with the answer.
func (s *Server) user(ctx context.Context, in *incoming, out *notifier, req mcp.CallToolRequest, args json.RawMessage) (user, error) {
	if !canBeAsked(ctx) {
		return user{}, nil
	}
	if !mcpserver.IsModernRequest(ctx) {
		var put atomic.Int32
		return s.askedBy(func(ctx context.Context, q question) (json.RawMessage, string, error) {
			if put.Add(1) > maxQuestions {
				return nil, pipeline.Cancelled, nil
			}
			return s.askNow(ctx, in, out, q)
		}), nil
	}
	v := in.conv.session.View()
	r := &rounder{rounds: s.rounds, binding: binding{principal: v.Principal, tool: req.Params.Name, arguments: args}}
	if !v.Stateless {
		r.binding.session = v.ID
	}
	if err := r.resume(req.Params.RequestState, req.Params.InputResponses); err != nil {
		return user{}, err
	}
	u := s.askedBy(r.put)
	u.resumed, u.rounder = r.kept, r
	return u, nil
}

// askedBy is a user to whom questions are put in one of the two ways.
func (s *Server) askedBy(put putter) user {
	return user{
		ask: func(ctx context.Context, q pipeline.Question) (pipeline.Reply, error) {
			result, how, err := put(ctx, permission(q))
			if err != nil || how != "" {
				return pipeline.Reply{How: how}, err
			}
			return reply(q, result), nil
		},
		elicit: func(ctx context.Context, f tools.Form) (tools.FormReply, error) {
			if !flat(f.Schema) {
				s.Log.Warn("a form of another server is none that a client can show", "server", f.Server, "tool", f.Tool)
				return tools.FormReply{Action: string(mcp.ElicitationResponseActionDecline)}, nil
			}
			result, _, err := put(ctx, foreign(f))
			return formReply(result), err
		},
	}
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
func (s *Server) askNow(ctx context.Context, in *incoming, out *notifier, q question) (result json.RawMessage, how string, err error) {
	id, answer := in.conv.asked.put()
	defer in.conv.asked.forget(id)
	message, err := encodeRequest(id, string(mcp.MethodElicitationCreate), q.form)
	if err != nil {
		return nil, pipeline.NoAnswer, fmt.Errorf("encoding a question: %w", err)
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
		return nil, pipeline.NoAnswer, context.Cause(ctx)
	}
	timer := time.NewTimer(s.AskTimeout)
	defer timer.Stop()
	how = pipeline.NoAnswer
	select {
	case m := <-answer:
		if ctx.Err() == nil {
			return m.result, "", nil
		}
	case <-timer.C:
		how = pipeline.TimedOut
	case <-in.conv.asked.gone:
	case <-in.deaf:
	case <-ctx.Done():
	}
	// Who is still shown the question need not look at it any more.
	_ = out.open(func() error {
		return in.notify(string(mcp.MethodNotificationCancelled), map[string]any{"requestId": id})
	})
	return nil, how, context.Cause(ctx)
}
