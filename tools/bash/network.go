package bash

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/tools"
	"mcp-toolset/web/dial"
	"mcp-toolset/web/proxy"
	"mcp-toolset/web/site"
)

// mostRefused is the limit of refused hosts that an answer describes.
const mostRefused = 3

// outlet connects a command to the hosts that it may reach. It is used by one command, also
// after the call that has started it.
type outlet struct {
	rules  tools.Connections
	dialer dial.Dialer
	local  command.Local

	mu      sync.Mutex
	refused []site.Site
	texts   []string // by refused, mostRefused at most
}

// serve connects the clients of a listener, and returns a function that ends them and returns
// a fact for each host that was refused.
func (c *call) serve(l net.Listener, local command.Local) (stop func() []string) {
	rules := c.env.Commands.Connections
	o := &outlet{rules: rules, local: local, dialer: dial.Dialer{Getenv: c.o.Getenv, Check: rules.CheckAddr}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		proxy.Serve(ctx, l, proxy.Options{Connect: o.connect})
	}()
	return func() []string {
		cancel()
		<-done
		return o.facts()
	}
}

// connect connects to a site if the rules or the user allow it.
func (o *outlet) connect(ctx context.Context, to site.Site) (net.Conn, error) {
	if to.Class() == site.Loopback {
		if conn, err := o.inside(ctx, to); err == nil || !errors.Is(err, syscall.ECONNREFUSED) {
			return conn, err
		}
	}
	conn, err := o.outside(ctx, to)
	var refusal *fault.Fault
	if errors.As(err, &refusal) {
		if to.Class() == site.Loopback {
			refusal = fault.New("nothing in this session listens on "+to.String(), "Start the server with run_in_background, or ask the user to add an allow rule such as WebFetch(domain:"+to.String()+") for one outside of the session.")
			err = refusal
		}
		o.note(to, refusal)
	}
	return conn, err
}

// inside connects to a server that a command of the session runs.
func (o *outlet) inside(ctx context.Context, to site.Site) (conn net.Conn, err error) {
	addrs := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	if addr, ok := to.Addr(); ok {
		addrs = []netip.Addr{addr}
	}
	for _, addr := range addrs {
		if conn, err = o.local(ctx, netip.AddrPortFrom(addr, to.Port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// outside connects to a site outside of the session.
func (o *outlet) outside(ctx context.Context, to site.Site) (net.Conn, error) {
	if err := o.rules.Allow(ctx, to); err != nil {
		return nil, err
	}
	return o.dialer.Connect(ctx, to)
}

// note records a refused host, once.
func (o *outlet) note(to site.Site, f *fault.Fault) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if slices.Contains(o.refused, to) {
		return
	}
	if o.refused = append(o.refused, to); len(o.texts) < mostRefused {
		o.texts = append(o.texts, strings.TrimSuffix(f.Fact+". "+f.Next, "."))
	}
}

// facts returns the facts on the refused hosts.
func (o *outlet) facts() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	texts := slices.Clone(o.texts)
	if more := len(o.refused) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("%d more hosts were refused", more))
	}
	return texts
}
