package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mcp-toolset/pipeline"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// Agent is a session that the server has for an agent of its own. Its calls take the path of those
// of any client, from their place in a lane on.
type Agent struct {
	s    *Server
	conv *conversation
}

// OpenAgent starts the session of an agent, which follows the session parent. call is the id of the
// call that starts the agent. The caller must close it.
func (s *Server) OpenAgent(parent session.View, name, call string, p *session.Profile) *Agent {
	return s.openAgent(parent, name, call, "agent", p)
}

// openAgent is OpenAgent for an agent of the client with a name.
func (s *Server) openAgent(parent session.View, name, call, client string, p *session.Profile) *Agent {
	c := s.openWith(session.Config{Principal: parent.Principal, User: parent.User, Roots: parent.Roots, Profile: p, Agent: name, Parent: call, Above: parent.Payer()})
	a := &Agent{s, c}
	c.session.SetClient(client)
	a.Follow(parent)
	s.used(c.session)
	return a
}

// Follow moves the session to the place where the session parent works, in its mode. No call may run.
func (a *Agent) Follow(parent session.View) {
	a.Apply(session.Effect{
		Move:     &session.Move{To: parent.Worktree, Roots: parent.Roots, Dir: parent.Dir},
		Planning: &parent.Planning, AcceptEdits: parent.AcceptEdits,
	})
}

// View returns the present state of the session.
func (a *Agent) View() session.View { return a.conv.session.View() }

// Apply changes the session. No call may run.
func (a *Agent) Apply(e session.Effect) { a.conv.session.Apply(e) }

// Close ends the session. No call may run.
func (a *Agent) Close() { a.s.close(a.conv) }

// Tools returns the tools that a model gets the definitions of: all that a profile names, or else
// those of a client that searches for the others.
func (a *Agent) Tools() []*tools.Tool {
	p := a.View().Profile
	return a.s.Registry.ListedFor(p, a.deferral(p), nil)
}

func (a *Agent) deferral(p *session.Profile) tools.Deferral {
	if p != nil && p.Tools != nil {
		return tools.DeferHints
	}
	return a.s.Registry.View(p).Resolve(tools.DeferAuto, false)
}

// Instructions returns what the session's client would get as instructions.
func (a *Agent) Instructions() string {
	v, c := a.View(), a.s.Conditions
	c.Plan = c.Plan || v.Planning
	return strings.TrimSpace(instructions(v.Roots, a.s.Registry, v.Profile, a.deferral(v.Profile), c, MaxInstructions))
}

// Arrive gives a call its place, after all that arrived before it. The caller must call run, which
// runs it and returns its answer. ask is a pipeline.Asker of another call whose user is asked, or
// nil.
func (a *Agent) Arrive(tool string, args json.RawMessage, ask any) (run func(context.Context) *tools.Response) {
	return a.arrive(pipeline.Request{Tool: tool, Arguments: args}, ask)
}

// Permit is Arrive for a call that is decided, and not run: its answer is empty if it is allowed. A
// program that is uncontained makes the call outside of the sandbox.
func (a *Agent) Permit(tool string, args json.RawMessage, ask any, uncontained bool) (decide func(context.Context) *tools.Response) {
	return a.arrive(pipeline.Request{Tool: tool, Arguments: args, Unrun: true, Uncontained: uncontained}, ask)
}

func (a *Agent) arrive(r pipeline.Request, ask any) func(context.Context) *tools.Response {
	r.Session, r.Log, r.AskWaits = a.conv.session, a.s.Log.With("session", a.View().ID), true
	if put, ok := ask.(pipeline.Asker); ok {
		r.Ask = func(ctx context.Context, q pipeline.Question) (pipeline.Reply, error) {
			q.Title = "The agent " + a.View().Agent + ": " + q.Title
			return put(ctx, q)
		}
	}
	ticket, full := a.conv.lane.Arrive()
	r.Ticket = ticket
	return func(ctx context.Context) *tools.Response {
		a.s.used(a.conv.session)
		if full != nil {
			a.s.Pipeline.Refused(ctx, r, full)
			return failed(r.Tool + tooMany)
		}
		resp, err := a.s.run(ctx, r)
		var unknown *tools.UnknownTool
		switch {
		case errors.As(err, &unknown):
			return failed(err.Error())
		case err != nil:
			return failed(fmt.Sprintf("%s: failed: %v", r.Tool, err))
		}
		return resp
	}
}

func failed(text string) *tools.Response {
	return &tools.Response{Content: []tools.Content{tools.Text{Text: text}}, Failed: true}
}
