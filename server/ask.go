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

	"mcp-toolset/internal/host"
	"mcp-toolset/pipeline"
	"mcp-toolset/tools"
)

// DefaultAskTimeout is the default timeout for the user's answer if the call
// waits for it. It is shorter than the time that hosts allow for a call.
const DefaultAskTimeout = 2 * time.Minute

// question is a question of any kind to the client's user.
type question struct {
	key    string // its name among the questions of a result
	form   mcp.ElicitationParams
	digest [sha256.Size]byte // of everything the user is shown
}

func newQuestion(key string, form mcp.ElicitationParams, shown ...[]byte) question {
	return question{key, form, digest(append(shown, []byte(key))...)}
}

// personTime is the time within which no person reads a question and answers it. A client that
// declines or cancels earlier has not asked its user. An early accept counts: the user has
// configured the client so, for example by a hook.
const personTime = 300 * time.Millisecond

// unseen reports whether the client has declined or cancelled a question for its user.
func (s *Server) unseen(result json.RawMessage, after time.Duration) bool {
	action, _ := readAnswer(result)
	return after < s.personTime && (action == mcp.ElicitationResponseActionDecline || action == mcp.ElicitationResponseActionCancel)
}

// askFunc asks a question and returns the client's result. If there is none, or it is not the
// user's, how is the reason. It fails as a pipeline.Asker does.
type askFunc func(context.Context, question) (result json.RawMessage, how string, err error)

// user holds the ways to ask the user of a call's client. In the zero value all
// are nil: the user cannot be asked.
type user struct {
	ask     pipeline.Asker
	elicit  func(context.Context, tools.Form) (tools.FormReply, error)
	resumed any      // InputRequired.State of the question that the request answers
	rounder *rounder // nil: the call waits for answers
}

// user returns the ways to ask the user of the call's client. It returns an
// error if the request is invalid.
//
// There are two ways. Up to protocol 2025-11-25 the server sends a request on
// the call's own stream, and the call waits in its place. From 2026-07-28 on
// this is impossible: the call ends with the question, and the client sends it
// again with the answer.
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
	r := &rounder{rounds: s.rounds, unseen: s.unseen, binding: binding{principal: v.Principal, tool: req.Params.Name, arguments: args}}
	if !v.Forgets() {
		r.binding.session = v.ID
	}
	if err := r.resume(req.Params.RequestState, req.Params.InputResponses); err != nil {
		return user{}, err
	}
	u := s.askedBy(r.ask)
	u.resumed, u.rounder = r.state, r
	return u, nil
}

// askedBy returns a user whose questions are asked by put.
func (s *Server) askedBy(put askFunc) user {
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
			if f.Server == "" && host.Of(clientName(ctx)).NeedsText {
				f.Schema = withoutTexts(f.Schema)
			}
			result, how, err := put(ctx, foreign(f))
			if how == pipeline.Unseen && f.Server == "" {
				return tools.FormReply{Action: string(mcp.ElicitationResponseActionCancel), Unseen: true}, err
			}
			return formReply(result), err
		},
	}
}

// canBeAsked reports whether the client declared that it can show forms to its
// user. It declares that with this request or, before 2026-07-28, at
// initialization.
func canBeAsked(ctx context.Context) bool {
	var declared *mcp.ElicitationCapability
	if info := mcpserver.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		if info.ClientCapabilities != nil {
			declared = info.ClientCapabilities.Elicitation
		}
	} else if c, ok := mcpserver.ClientSessionFromContext(ctx).(mcpserver.SessionWithClientInfo); ok {
		declared = c.GetClientCapabilities().Elicitation
	}
	// A declaration without a mode means forms, which at first were the only
	// mode.
	return declared != nil && (declared.Form != nil || declared.URL == nil)
}

// askNow sends a request to the client and waits for the answer, in the call's
// own place. When it returns, the question is no longer registered.
func (s *Server) askNow(ctx context.Context, in *incoming, out *notifier, q question) (result json.RawMessage, how string, err error) {
	id, answer := in.conv.asked.register()
	defer in.conv.asked.forget(id)
	message, err := encodeRequest(id, string(mcp.MethodElicitationCreate), q.form)
	if err != nil {
		return nil, pipeline.NoAnswer, fmt.Errorf("encoding a question: %w", err)
	}
	sent := false
	if err := out.open(func() error {
		select {
		case <-ctx.Done():
		case <-in.conv.asked.closed:
		case <-in.closed:
		default:
			sent = true
			return in.send(message)
		}
		return nil
	}); err != nil || !sent {
		return nil, pipeline.NoAnswer, context.Cause(ctx)
	}
	began := time.Now()
	timer := time.NewTimer(s.AskTimeout)
	defer timer.Stop()
	how = pipeline.NoAnswer
	select {
	case m := <-answer:
		if ctx.Err() == nil && s.unseen(m.result, time.Since(began)) {
			return m.result, pipeline.Unseen, nil
		}
		if ctx.Err() == nil {
			return m.result, "", nil
		}
	case <-timer.C:
		how = pipeline.TimedOut
	case <-in.conv.asked.closed:
	case <-in.closed:
	case <-ctx.Done():
	}
	// The client can close the question if it still shows it.
	_ = out.open(func() error {
		return in.notify(string(mcp.MethodNotificationCancelled), map[string]any{"requestId": id})
	})
	return nil, how, context.Cause(ctx)
}
