package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"sync"
	"time"

	"mcp-toolset/internal/consent/approval"
	faults "mcp-toolset/internal/text/fault"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/web/registry"
	"mcp-toolset/web/site"
)

// Connections that commands make. Each is decided, asked about and logged like a call of a
// tool that no client can call. The rules and answers on WebFetch hold for it.

// connectionTime is the timeout for the user's answer while a connection waits for it. Most
// programs wait longer for a proxy.
const connectionTime = 30 * time.Second

// connectionInput is the input of a connection.
type connectionInput struct {
	Host string `json:"host" jsonschema:"Host name or address"`
	Port uint16 `json:"port" jsonschema:"TCP port"`
}

func (in connectionInput) site() site.Site { return site.Site{Host: in.Host, Port: in.Port} }

// connectionTool is the tool whose calls connections are.
var connectionTool = sync.OnceValue(func() *tools.Tool {
	always := tools.Always[connectionInput]()
	return tools.MustBuild(tools.Def[connectionInput, connectionInput, struct{}]{
		Name: approval.Network, Title: "Connect a command", Prompt: "A connection of a command.",
		SearchHint:  "network connection of a command to a host",
		Description: func(in connectionInput) string { return "Let commands connect to " + in.site().String() },
		// The decision on the command has covered its effects.
		IsReadOnly: always, IsConcurrencySafe: always, IsIdempotent: always, IsOpenWorld: always,
		Prepare: func(_ *tools.Env, in connectionInput) (connectionInput, error) { return in, nil },
		As:      func(connectionInput) string { return policy.SiteTool },
		Site:    connectionInput.site,
		Call: func(context.Context, *tools.Env, connectionInput) (tools.Result[struct{}], error) {
			return tools.Result[struct{}]{}, errors.ErrUnsupported
		},
	})
})

// connections decides on the connections of the commands that a call has started. It is used
// after the end of the call, too, by commands in the background.
type connections struct {
	request Request // of the call
	p       *Pipeline
	ended   chan struct{} // closed when the call has ended, so that its client cannot be asked
}

// newConnections returns the connections of a call, and how they learn of its end.
func (c *call) newConnections() (tools.Connections, func()) {
	s := &connections{p: c.p, ended: make(chan struct{}), request: Request{
		Tool: approval.Network, Session: c.Session, Log: c.p.Log, ID: c.ID, Unattended: c.Unattended,
	}}
	if c.AskWaits {
		s.request.Ask = c.Ask
	}
	return tools.Connections{Allow: s.allow, CheckAddr: s.check}, sync.OnceFunc(func() { close(s.ended) })
}

// ProgramAccess returns the access of a program that the server runs for several sessions, such
// as a language server. v has the working directory, roots and worktree of these sessions. What
// would be asked is refused. The ID of v stands for the call in the audit log.
func (p *Pipeline) ProgramAccess(v session.View) tools.CommandAccess {
	s := &connections{p: p, ended: make(chan struct{}), request: Request{
		Tool: approval.Network, Session: session.New(session.Config{ID: v.ID, Roots: []string{v.Dir}, Stateless: true}), Log: p.Log, ID: v.ID, Unattended: true,
	}}
	close(s.ended)
	return tools.CommandAccess{
		RestrictedPaths: func(ctx context.Context) (tools.RestrictedPaths, error) {
			set := p.CurrentRules()
			rules := set.Policy
			if w := v.Worktree; w != nil {
				rules = rules.Moved(v.Roots, w.Folder, w.Main)
			}
			return p.restrictedPaths(ctx, set, rules.HidingRules(v.Dir, false), rootsOf(v), nil)
		},
		Connections: tools.Connections{Allow: s.allow, CheckAddr: s.check},
	}
}

// newCall returns the call for a connection to a site.
func (s *connections) newCall(to site.Site) (*call, error) {
	input, err := json.Marshal(connectionInput{to.Host, to.Port})
	if err != nil {
		return nil, err
	}
	r := s.request
	r.Arguments, r.ID, r.Ask = input, "", nil
	c := s.p.newCall(r)
	c.tool, c.record.parent, c.before = connectionTool(), s.request.ID, &before{}
	return c, nil
}

// check returns an error unless a connection to an address of the site may be made.
func (s *connections) check(to site.Site, addr netip.Addr) error {
	d := s.p.CurrentRules().connections.CheckAddr(to, addr)
	if d.Behavior == policy.Allow {
		return nil
	}
	c, err := s.newCall(to)
	if err != nil {
		return err
	}
	c.record.decided = d
	c.refuse(refused(d))
	_ = c.logged(context.Background(), nil, nil) // it is refused in any case
	return faults.New(d.Reason, sentence(d.Next))
}

// allow decides on a connection. If the decision is to ask, it asks the client's user, if
// there is one, and waits for the answer.
func (s *connections) allow(ctx context.Context, to site.Site) error {
	c, err := s.newCall(to)
	if err != nil {
		return err
	}
	err = stages(ctx, c.loggable, c.parse, c.prepare, s.decide(c), func(ctx context.Context) error { return s.ask(ctx, c, to) }, func(ctx context.Context) error { return s.settle(ctx, c) })
	if err != nil {
		why := toRefusal(ctx, err)
		if d := c.decision; to.Class() == site.Loopback && d.Behavior == policy.Deny && d.Layer == policy.LayerSite {
			reason, next := unserved(to)
			why = &refusal{stageRefused, reason, sentence(next)}
		}
		c.refuse(why)
		if errors.Is(err, tools.ErrBackground) {
			err = tools.ErrBackground
		} else {
			err = faults.New(why.fact, why.next)
		}
	}
	if c.logged(ctx, nil, nil) != nil {
		return faults.New(c.record.fact, "Ask the user to look at the audit log.")
	}
	return err
}

// unserved returns the reason and the next step for a site of this machine that no rule names and
// no command of the session serves.
func unserved(to site.Site) (reason, next string) {
	return "nothing in this session listens on " + to.String(),
		"start the server with run_in_background, or ask the user to add an allow rule such as " + policy.SiteTool + "(domain:" + to.String() + ") for one outside of the session"
}

// decide returns the stage that decides on a connection.
func (s *connections) decide(c *call) func(context.Context) error {
	return func(ctx context.Context) error {
		c.set = s.p.CurrentRules()
		c.rules = c.set.connections
		return c.decide(ctx)
	}
}

// settle is the stage that decides again if the rules have changed since. An approval holds unless
// they deny the connection.
func (s *connections) settle(ctx context.Context, c *call) error {
	if s.p.CurrentRules() == c.set {
		return nil
	}
	agreed := c.decision
	if err := s.decide(c)(ctx); err != nil {
		return err
	}
	c.record.decided = c.decision
	if c.decision.Behavior == policy.Deny || c.decision.Behavior == policy.Ask && agreed.Layer != policy.LayerApproval {
		return refused(c.decision)
	}
	return nil
}

// ask is the stage that asks about a connection. The user is asked once about each site in a
// session, and about one at a time. After that, a number is given where there is no answer.
func (s *connections) ask(ctx context.Context, c *call, to site.Site) error {
	if c.decision.Behavior != policy.Allow && c.decision.Layer == policy.LayerSite && registry.Background(to) {
		return errors.Join(tools.ErrBackground, &refusal{stageRefused, tools.ErrBackground.Fact, tools.ErrBackground.Next})
	}
	if c.decision.Behavior != policy.Ask || s.request.Ask == nil || s.isOver() {
		return c.ask(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, connectionTime)
	defer cancel()
	first, done := s.request.Session.Question(ctx, approval.Network+" "+c.subject.Value)
	defer done()
	// Another connection may have been answered meanwhile.
	if err := s.decide(c)(ctx); err != nil {
		return err
	}
	if first {
		c.Ask = func(_ context.Context, q Question) (Reply, error) { return s.put(ctx, q) }
	}
	return c.ask(context.WithoutCancel(ctx))
}

// agreedSite returns the site that an answer about a call to a site is about. For a
// connection, the ports of HTTP and HTTPS are one: most servers redirect from one to the other.
func (c *call) agreedSite(s site.Site) site.Site {
	if c.tool.Name == approval.Network && s.Port == 80 {
		s.Port = 443
	}
	return s
}

// put asks a question. It gives no answer when the time is over or the call has ended.
func (s *connections) put(ctx context.Context, q Question) (Reply, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	reply, err := s.request.Ask(ctx, q)
	switch {
	case ctx.Err() == nil || err == nil:
		return reply, err
	case s.isOver():
		return Reply{How: NoAnswer}, nil
	}
	return Reply{How: TimedOut}, nil
}

func (s *connections) isOver() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}
