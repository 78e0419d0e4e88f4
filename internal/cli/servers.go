package cli

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"mcp-toolset/internal/assembly"
	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/settings"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
	"mcp-toolset/tools/resources"
	"mcp-toolset/upstream"
)

// The code below prepares the upstream servers of the settings for connecting.

// others holds the upstream servers, as the resource tools see them.
type others struct {
	*upstream.Manager
	rules   *policy.Policy
	servers []upstream.Server
	always  bool // whether to ask the user about every call that no rule covers
}

// upstreams makes the manager of those servers of the settings that take accepts. take may modify a
// server. upstreams starts nothing.
func (c *common) upstreams(host *Host, config assembly.Config, take func(*upstream.Server) bool) (*others, error) {
	pins, err := pinStore(host)
	if err != nil {
		return nil, err
	}
	o := &others{rules: policy.New(policy.Config{Rules: config.Settings.Rules()}), always: c.remote}
	wait := milliseconds(envInt(host, "MCP_TOOL_TIMEOUT", 0))
	for _, u := range config.Settings.Upstreams() {
		if server := o.server(host, config.Settings, u, wait); take(&server) {
			o.servers = append(o.servers, server)
		}
	}
	dir := host.Dir
	if roots := canonicalRoots(config.Roots); len(roots) > 0 {
		dir = roots[0]
	}
	o.Manager = upstream.New(upstream.Config{
		Servers: o.servers, Environ: host.Environ(), Dir: dir, Version: version(), AskAlways: c.remote,
		Pins: pins, PinRefuses: config.Settings.UpstreamPin(), ConnectTimeout: upstreamTimeout(host), Log: config.Log,
	})
	return o, nil
}

// Begin implements assembly.Upstream.
func (o *others) Begin(tell func([]tools.Server)) {
	o.Registry = tell
	o.Manager.Begin()
}

// server returns a server of the settings with its variables expanded, or with the reason why it
// may not or cannot be started. A server is not started either if a rule denies all its tools.
func (o *others) server(host *Host, s *settings.Settings, u settings.Upstream, wait time.Duration) upstream.Server {
	out := upstream.Server{Name: u.Name, Prefix: u.Prefix(), Eager: u.Eager, Always: u.Always, Timeout: u.Timeout}
	if out.Timeout == 0 {
		out.Timeout = wait
	}
	expanded, err := u.Expand(host.Getenv, host.Home)
	if err != nil {
		out.Broken = err.Error()
		expanded = u // it may still be denied
	}
	if why, refused := s.UpstreamRefused(expanded); refused {
		out.Refused = why
	} else if why, denied := o.ruled(out.Prefix, policy.Deny); denied {
		out.Refused = why
	}
	if out.Broken == "" {
		out.Command, out.Args, out.Env, out.Dir = expanded.Command, expanded.Args, expanded.Env, expanded.Dir
		out.URL, out.Headers = expanded.URL, expanded.Headers
	}
	return out
}

// ruled reports whether a rule on all tools of a server has the behavior b, and returns a text that
// names the rule.
func (o *others) ruled(prefix string, b policy.Behavior) (why string, ruled bool) {
	d := o.rules.Decide(policy.Request{Tool: "mcp__" + prefix + "__"})
	if d.Layer != policy.LayerRule || d.Behavior != b {
		return "", false
	}
	return fmt.Sprintf("the %s rule %s in %s is on all its tools", b, plain.Text(d.Rule), d.Where()), true
}

// Servers returns the names of the servers that are not refused, and of those whose tools a rule
// denies.
func (o *others) Servers() []string {
	var names []string
	for _, s := range o.servers {
		if s.Refused == "" || o.denied(s) {
			names = append(names, s.Name)
		}
	}
	return names
}

// denied reports whether a rule prevents a server from being started.
func (o *others) denied(s upstream.Server) bool {
	_, denied := o.ruled(s.Prefix, policy.Deny)
	return denied
}

// Denied implements resources.Source.
func (o *others) Denied(server string) (string, bool) { return o.ruled(o.prefix(server), policy.Deny) }

// Asked implements resources.Source.
func (o *others) Asked(server string) (string, bool) { return o.ruled(o.prefix(server), policy.Ask) }

// AskAlways implements resources.Source.
func (o *others) AskAlways() bool { return o.always }

func (o *others) prefix(server string) string {
	i := slices.IndexFunc(o.servers, func(s upstream.Server) bool { return s.Name == server })
	if i < 0 {
		return server
	}
	return o.servers[i].Prefix
}

// Resources implements resources.Source.
func (o *others) Resources(ctx context.Context, server string) (list []resources.Resource, problems []resources.Problem) {
	found, failed := o.Manager.Resources(ctx, server)
	for _, r := range found {
		list = append(list, resources.Resource(r))
	}
	for _, p := range failed {
		problems = append(problems, resources.Problem(p))
	}
	return list, problems
}

// openUpstreams finds the servers of the settings for the command upstream.
func openUpstreams(host *Host, c *common) (*upstreams, error) {
	log, file, err := c.logger(host)
	if err != nil {
		return nil, err
	}
	config, err := c.place(host, nil, log)
	if err != nil {
		return nil, err
	}
	found := &upstreams{}
	for _, u := range config.Settings.Upstreams() {
		d := declaredUpstream{Name: u.Name, URL: u.URL}
		if u.URL == "" {
			d.Command = append([]string{u.Command}, u.Args...)
		}
		found.declared = append(found.declared, d)
	}
	found.manage = func(only string) (upstreamManager, error) {
		o, err := c.upstreams(host, config, func(s *upstream.Server) bool {
			s.Eager = false // the command decides which servers to connect
			return only == "" || s.Name == only
		})
		if err != nil {
			return nil, err
		}
		w := &watched{Manager: o.Manager, done: func() error { return file.Close() }}
		o.Begin(w.set)
		return w, nil
	}
	return found, nil
}

// watched is a manager with the latest state of its servers.
type watched struct {
	*upstream.Manager
	done func() error

	mu   sync.Mutex
	list []tools.Server
}

func (w *watched) set(list []tools.Server) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = list
}

// Servers returns the present state of the servers.
func (w *watched) Servers() []tools.Server {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.list
}

// Close ends the servers and closes the log.
func (w *watched) Close() error {
	err := w.Manager.Close()
	if closed := w.done(); err == nil {
		err = closed
	}
	return err
}
