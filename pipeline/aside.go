package pipeline

import (
	"context"
	"errors"
	"slices"
	"sync"

	"mcp-toolset/concurrency"
	"mcp-toolset/tools"
)

// This file is about calls of upstream servers that are not connected. Such a
// call gives up its place until its server is, or is not going to be, and then
// takes one behind what has arrived by then: a server that is slow or gone holds
// up what needs it and nothing else. Calls of one conversation that wait for the
// same server keep their order among themselves.

// asides are the calls that wait.
type asides struct {
	mu sync.Mutex
	of map[asideKey][]*aside
}

type asideKey struct {
	lane   *concurrency.Lane
	server string
}

// aside is one call that waits.
type aside struct {
	ticket *concurrency.Ticket // the place that it had
	back   chan struct{}       // closed when it has a place again, or needs none
}

// enter adds a call, whose place is its own no more.
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

// leave removes a call.
func (a *asides) leave(key asideKey, me *aside) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of[key] = slices.DeleteFunc(a.of[key], func(o *aside) bool { return o == me }); len(a.of[key]) == 0 {
		delete(a.of, key)
	}
	close(me.back)
}

// earlier are the calls that wait and had arrived before one.
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

// stepAside waits for a server without a place in the schedule. The request has
// a new one afterwards. The error is that of wait, or that there is no room.
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

// connect has the server of a tool connected, if it is one's and is not. The tool
// is then the one that it has now, which the call is decided on.
func (p *Pipeline) connect(ctx context.Context, r *Request, t *tools.Tool) (*tools.Tool, error) {
	if t.Prepare == nil || p.isReady(t.Server) && len(p.aside.earlier(asideKey{r.Ticket.Lane(), t.Server}, r.Ticket)) == 0 {
		return t, nil
	}
	if err := p.stepAside(ctx, r, t.Server, t.Prepare); err != nil {
		return t, err
	}
	now, err := p.Registry.Lookup(t.Name)
	if err != nil {
		return t, &tools.Fault{Fact: "the server " + t.Server + " no longer has this tool", Next: "Use another tool."}
	}
	return now, nil
}

// isReady reports whether a server is connected.
func (p *Pipeline) isReady(server string) bool {
	list := p.Registry.Catalogue().Servers()
	i := slices.IndexFunc(list, func(s tools.Server) bool { return s.Name == server })
	return i >= 0 && list[i].State == tools.Ready
}

// find finds a tool by name. One that may be of a server whose tools are not
// known is waited for, if the call has a place to give up. The error is a
// *tools.UnknownTool, or what ended the wait.
func (p *Pipeline) find(ctx context.Context, r *Request, name string) (*tools.Tool, error) {
	t, err := p.Registry.Lookup(name)
	var unknown *tools.UnknownTool
	if p.Await == nil || r.Ticket == nil || !errors.As(err, &unknown) || unknown.Server == "" {
		return t, err
	}
	wait := func(ctx context.Context) error { p.Await(ctx, name); return nil }
	if err := p.stepAside(ctx, r, unknown.Server, wait); err != nil {
		return nil, err
	}
	return p.Registry.Lookup(name)
}
