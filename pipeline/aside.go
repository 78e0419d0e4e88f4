package pipeline

import (
	"context"
	"errors"
	"slices"
	"sync"

	"mcp-toolset/concurrency"
	"mcp-toolset/tools"
)

// Calls of upstream servers that are not connected wait here. Such a call
// leaves its lane until its server is connected or has failed to connect. It
// then takes a new place after the calls that have arrived by then. So a slow
// or missing server delays only the calls that need it. Calls of one lane that
// wait for the same server stay in order among themselves.

// asides holds the waiting calls, by lane and server.
type asides struct {
	mu sync.Mutex
	of map[asideKey][]*aside
}

type asideKey struct {
	lane   *concurrency.Lane
	server string
}

// aside is one waiting call.
type aside struct {
	ticket *concurrency.Ticket // the ticket of its former place
	back   chan struct{}       // closed when the call has a new place, or needs none
}

// enter adds a call that is about to leave its place.
func (a *asides) enter(key asideKey, t *concurrency.Ticket) *aside {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[asideKey][]*aside{}
	}
	me := &aside{t, make(chan struct{})}
	a.of[key] = append(a.of[key], me)
	return me
}

// leave removes a call and closes its channel back.
func (a *asides) leave(key asideKey, me *aside) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of[key] = slices.DeleteFunc(a.of[key], func(o *aside) bool { return o == me }); len(a.of[key]) == 0 {
		delete(a.of, key)
	}
	close(me.back)
}

// earlier returns the waiting calls that arrived before t.
func (a *asides) earlier(key asideKey, t *concurrency.Ticket) (list []*aside) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range a.of[key] {
		if o.ticket.Before(t) {
			list = append(list, o)
		}
	}
	return list
}

// stepAside gives up the call's place, calls wait, and then takes a new place,
// with a new r.Ticket. It returns the cause if ctx ends, the error of wait, or
// a refusal if the lane has no room.
func (p *Pipeline) stepAside(ctx context.Context, r *Request, server string, wait func(context.Context) error) error {
	key := asideKey{r.Ticket.Lane(), server}
	me := p.aside.enter(key, r.Ticket)
	defer p.aside.leave(key, me)
	r.Ticket.Leave()
	err := wait(ctx)
	for _, o := range p.aside.earlier(key, me.ticket) {
		select {
		case <-o.back:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	ticket, err := me.ticket.Again()
	if err != nil {
		return &refusal{stageRefused, err.Error(), "Send this call again when some are answered."}
	}
	r.Ticket = ticket
	return nil
}

// connect is the stage that waits until the tool's upstream server is connected.
// The call is decided on the tool as the server defines it then. A call without
// a place of its own connects the server at once.
func (c *call) connect(ctx context.Context) error {
	t := c.tool
	switch {
	case t.Connect == nil:
		return nil
	case c.Ticket == nil:
		return t.Connect(ctx)
	case c.p.isReady(t.Server) && len(c.p.aside.earlier(asideKey{c.Ticket.Lane(), t.Server}, c.Ticket)) == 0:
		return nil
	}
	if err := c.p.stepAside(ctx, &c.Request, t.Server, t.Connect); err != nil {
		return err
	}
	now, err := c.p.Registry.Lookup(t.Name)
	if err != nil {
		return &tools.Fault{Fact: "the server " + t.Server + " no longer has this tool", Next: "Use another tool."}
	}
	c.tool = now
	return nil
}

// isReady reports whether a server is connected.
func (p *Pipeline) isReady(server string) bool {
	list := p.Registry.Catalogue().Servers()
	i := slices.IndexFunc(list, func(s tools.Server) bool { return s.Name == server })
	return i >= 0 && list[i].State == tools.Ready
}

// find looks a tool up by name. If no tool has the name, but it may belong to a
// server whose tools are not known yet, find waits for that server. It does so
// only for a call with a place to give up. The error is a *tools.UnknownTool or
// the error that ended the wait.
func (c *call) find(ctx context.Context, name string) (*tools.Tool, error) {
	p := c.p
	t, err := p.Registry.View(c.Session.View().Profile).Lookup(name)
	var unknown *tools.UnknownTool
	if p.Await == nil || c.Ticket == nil || !errors.As(err, &unknown) || unknown.Server == "" {
		return t, err
	}
	wait := func(ctx context.Context) error { p.Await(ctx, name); return nil }
	if err := p.stepAside(ctx, &c.Request, unknown.Server, wait); err != nil {
		return nil, err
	}
	return p.Registry.View(c.Session.View().Profile).Lookup(name)
}
