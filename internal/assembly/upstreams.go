package assembly

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/settings"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
	"mcp-toolset/tools/resources"
	"mcp-toolset/upstream"
	"mcp-toolset/upstream/pin"
)

// Upstreams holds the upstream servers, as the resource tools see them.
type Upstreams struct {
	*upstream.Manager
	rules   atomic.Pointer[policy.Policy]
	servers []upstream.Server
	always  bool // whether to ask the user about every call that no rule covers
}

// Upstreams makes the manager of those servers of the settings that take accepts. take
// may modify a server. Upstreams starts nothing.
func (p *Plan) Upstreams(take func(*upstream.Server) bool) (*Upstreams, error) {
	stateFolder, err := state.Dir(p.options.Getenv, p.Home)
	if err != nil {
		return nil, err
	}
	o := &Upstreams{always: p.options.Remote}
	o.follow(p.Settings)
	wait := milliseconds(p.options.Int("MCP_TOOL_TIMEOUT", 0))
	for _, u := range p.Settings.Upstreams() {
		if server := o.server(p.options.Environment, p.Settings, u, wait); take(&server) {
			o.servers = append(o.servers, server)
		}
	}
	dir := p.options.Dir
	if roots := p.CanonicalRoots(); len(roots) > 0 {
		dir = roots[0]
	}
	o.Manager = upstream.New(upstream.Config{
		Servers: o.servers, Environ: p.options.Environ(), Dir: dir, Version: p.Version, AskAlways: p.options.Remote,
		Pins: Pins(stateFolder), PinRefuses: p.Settings.UpstreamPin(), ConnectTimeout: p.options.ConnectTimeout(), Log: p.Log,
	})
	return o, nil
}

// follow makes the rules of s decide which servers are denied.
func (o *Upstreams) follow(s *settings.Settings) {
	o.rules.Store(policy.New(policy.Config{Rules: s.Rules()}))
}

// Pins returns the store of definitions of upstream tools in a state folder.
func Pins(stateFolder string) *pin.Store {
	return pin.New(filepath.Join(stateFolder, "upstream"), filelock.New(filepath.Join(stateFolder, "locks")), time.Now)
}

// Begin implements Upstream.
func (o *Upstreams) Begin(tell func([]tools.Server)) {
	o.Registry = tell
	o.Manager.Begin()
}

// server returns a server of the settings with its variables expanded, or with the reason why it
// may not or cannot be started. A server is not started either if a rule denies all its tools.
func (o *Upstreams) server(e Environment, s *settings.Settings, u settings.Upstream, wait time.Duration) upstream.Server {
	out := upstream.Server{Name: u.Name, Prefix: u.Prefix(), Eager: u.Eager, Always: u.Always, Timeout: u.Timeout}
	if out.Timeout == 0 {
		out.Timeout = wait
	}
	expanded, err := u.Expand(e.Getenv, e.Home)
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
func (o *Upstreams) ruled(prefix string, b policy.Behavior) (why string, ruled bool) {
	d := o.rules.Load().Decide(policy.Request{Tool: policy.ToolsPrefix(prefix)})
	if d.Layer != policy.LayerRule || d.Behavior != b {
		return "", false
	}
	return fmt.Sprintf("the %s rule %s in %s is on all its tools", b, plain.Text(d.Rule), d.Location()), true
}

// All returns the servers, including those that may not or cannot be started.
func (o *Upstreams) All() []upstream.Server { return o.servers }

// Servers returns the names of the servers that are not refused, and of those whose tools a rule
// denies.
func (o *Upstreams) Servers() []string {
	var names []string
	for _, s := range o.servers {
		if s.Refused == "" || o.denied(s) {
			names = append(names, s.Name)
		}
	}
	return names
}

// denied reports whether a rule prevents a server from being started.
func (o *Upstreams) denied(s upstream.Server) bool {
	_, denied := o.ruled(s.Prefix, policy.Deny)
	return denied
}

// Denied implements resources.Source.
func (o *Upstreams) Denied(server string) (string, bool) {
	return o.ruled(o.prefix(server), policy.Deny)
}

// Asked implements resources.Source.
func (o *Upstreams) Asked(server string) (string, bool) { return o.ruled(o.prefix(server), policy.Ask) }

// AskAlways implements resources.Source.
func (o *Upstreams) AskAlways() bool { return o.always }

func (o *Upstreams) prefix(server string) string {
	i := slices.IndexFunc(o.servers, func(s upstream.Server) bool { return s.Name == server })
	if i < 0 {
		return server
	}
	return o.servers[i].Prefix
}

// Resources implements resources.Source.
func (o *Upstreams) Resources(ctx context.Context, server string) (list []resources.Resource, problems []resources.Problem) {
	found, failed := o.Manager.Resources(ctx, server)
	for _, r := range found {
		list = append(list, resources.Resource(r))
	}
	for _, p := range failed {
		problems = append(problems, resources.Problem(p))
	}
	return list, problems
}
