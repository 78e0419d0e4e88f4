package bash

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/tools"
	"mcp-toolset/web/dial"
	"mcp-toolset/web/proxy"
	"mcp-toolset/web/site"
)

// mostShown is the limit of hosts that an answer describes, and maxFailed of those that a
// command may try in vain: each may be a question to the user.
const (
	mostShown = 3
	maxFailed = 100
)

// outlet connects a command to the hosts that it may reach. It is used by one command, also
// after the call that has started it.
type outlet struct {
	rules  tools.Connections
	dialer dial.Dialer
	local  command.Local

	mu     sync.Mutex
	failed []failedSite
}

// failedSite is a site to which the last connection was refused or has failed.
type failedSite struct {
	site site.Site
	fact string
	// background reports that a browser has asked for it by itself.
	background bool
}

// serve is Serve for a command of the call.
func (c *call) serve(l net.Listener, local command.Local) (stop func() []string) {
	facts, stopped := Serve(c.env.Commands.Connections, c.o.Getenv, l, local)
	return func() []string {
		stopped()
		return facts()
	}
}

// Serve connects the clients of a listener to the sites that rules allow. facts returns facts
// on the hosts that were not reached until now, and stop ends the clients.
func Serve(rules tools.Connections, getenv func(string) string, l net.Listener, local command.Local) (facts func() []string, stop func()) {
	o := &outlet{rules: rules, local: local, dialer: dial.Dialer{Getenv: getenv, Check: rules.CheckAddr}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		proxy.Serve(ctx, l, proxy.Options{Connect: o.connect, Failed: o.note})
	}()
	return o.facts, func() {
		cancel()
		<-done
	}
}

// connect connects to a site, and forgets that it was not reached before.
func (o *outlet) connect(ctx context.Context, to site.Site) (net.Conn, error) {
	conn, err := o.find(ctx, ownSite(to))
	if err == nil {
		o.forget(to)
	}
	return conn, err
}

// find connects to a server that a command of the session runs, or else to a site outside if
// the rules or the user allow that.
func (o *outlet) find(ctx context.Context, to site.Site) (net.Conn, error) {
	var unserved error
	if to.Class() == site.Loopback {
		conn, err := o.inside(ctx, to)
		if err == nil || errors.Is(err, process.ErrNetworkGone) || ctx.Err() != nil {
			return conn, err
		}
		unserved = err
	}
	if o.isFull() {
		return nil, fault.New(fmt.Sprintf("the command has tried %d hosts in vain", maxFailed), "Try fewer hosts in one command.")
	}
	conn, err := o.outside(ctx, to)
	if err != nil {
		err = errors.Join(err, unserved)
	}
	return conn, err
}

// isFull reports whether the command has tried too many hosts in vain.
func (o *outlet) isFull() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.failed) >= maxFailed
}

// ownSite returns the site on this machine that an unspecified address or the name of the
// machine stands for.
func ownSite(s site.Site) site.Site {
	addr, ok := s.Addr()
	name, err := os.Hostname()
	switch {
	case ok && addr == netip.IPv4Unspecified():
		s.Host = "127.0.0.1"
	case ok && addr == netip.IPv6Unspecified():
		s.Host = "::1"
	case !ok && err == nil && strings.EqualFold(s.Host, name):
		s.Host = "localhost"
	}
	return s
}

// inside connects to a server that a command of the session runs.
func (o *outlet) inside(ctx context.Context, to site.Site) (_ net.Conn, err error) {
	addrs := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	if addr, ok := to.Addr(); ok {
		addrs = []netip.Addr{addr}
	}
	for _, addr := range addrs {
		conn, failed := o.local(ctx, netip.AddrPortFrom(addr, to.Port))
		if failed == nil {
			return conn, nil
		}
		err = errors.Join(err, failed)
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

// note records a site that was not reached. Most programs do not show why.
func (o *outlet) note(to site.Site, err error) {
	o.forget(to)
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.failed) < maxFailed {
		o.failed = append(o.failed, failedSite{to, strings.TrimSuffix(err.Error(), "."), errors.Is(err, tools.ErrBackground)})
	}
}

// forget removes the record of a site that was reached after all.
func (o *outlet) forget(to site.Site) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = slices.DeleteFunc(o.failed, func(f failedSite) bool { return f.site == to })
}

// facts returns the facts on the sites that were not reached. Those of browsers are in one, the last.
func (o *outlet) facts() (facts []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var background, failed []string
	for _, f := range o.failed {
		if !f.background {
			failed = append(failed, f.fact)
		} else if !slices.Contains(background, f.site.Host) {
			background = append(background, f.site.Host)
		}
	}
	facts = failed[:min(len(failed), mostShown)]
	if more := len(failed) - mostShown; more > 0 {
		facts = append(facts, fmt.Sprintf("%d more hosts were not reached", more))
	}
	if len(background) > 0 {
		names := strings.Join(background[:min(len(background), mostShown)], ", ")
		if more := len(background) - mostShown; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		facts = append(facts, "refused without a question, as background requests of a browser or build tool: "+names)
	}
	return facts
}
