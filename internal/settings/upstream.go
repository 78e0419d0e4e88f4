package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
)

// Settings of other MCP servers: the servers whose tools this server offers. This
// package does not start them.

const (
	// maxServerName is the limit of the part of a tool's name that names its server, in bytes.
	// Names of tools have at most 64 bytes. A longer name is truncated and ends in a hash of 9
	// bytes, and a rule on the server must match the part before the hash.
	maxServerName = 64 - 9 - len(policy.UpstreamMark) - len(policy.UpstreamGap)
	// minUpstreamTimeout is shorter than some calls over a network. A smaller value probably
	// means that seconds were taken for the unit.
	minUpstreamTimeout = time.Second
	// maxUpstreamTimeout is longer than any user waits for a call without progress.
	maxUpstreamTimeout = time.Hour
)

// Upstream describes one server of mcpServers. Its texts are as written in the
// settings, including variables, until Expand replaces them.
type Upstream struct {
	Name    string
	Command string // program of a server that is started here; "" if URL is set
	Args    []string
	Env     map[string]string
	Dir     string // working directory; "" if not set
	URL     string
	Headers map[string]string

	Eager    bool          // whether to connect to it when this server starts
	Always   bool          // whether its tools are always loaded, never deferred
	Disabled bool          // whether it must not be used
	Timeout  time.Duration // limit of a call without progress; 0 if not set

	Root   string // folder to which a relative command or working directory is relative; may be ""
	Source string // the settings file; not made safe to show
	Line   int    // line of its name in Source, 1-based
}

// Prefix returns the server's part in the names of its tools, between mcp__ and __. It
// is the server's name with _ in place of every character that some clients do not
// accept in tool names. No two servers of the same Settings have the same prefix.
func (u Upstream) Prefix() string { return policy.ServerPrefix(u.Name) }

func (u Upstream) origin() policy.Origin { return policy.Origin{Source: u.Source, Line: u.Line} }

// Upstreams returns the servers of mcpServers of all files, sorted by name, without
// those that are disabled. Of two servers with the same name, the more authoritative
// one replaces the other completely. Upstreams returns nil if s is nil.
func (s *Settings) Upstreams() []Upstream {
	if s == nil {
		return nil
	}
	var out []Upstream
	for _, u := range s.upstreams {
		if u.Disabled {
			continue
		}
		u.Args, u.Env, u.Headers = slices.Clone(u.Args), maps.Clone(u.Env), maps.Clone(u.Headers)
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b Upstream) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// UpstreamPrefixes returns the prefixes of all servers, including disabled ones, for
// Config.KnownServers. The result is never nil.
func (s *Settings) UpstreamPrefixes() []string {
	out := []string{}
	if s != nil {
		for _, u := range s.upstreams {
			out = append(out, u.Prefix())
		}
	}
	return out
}

// UpstreamPin returns the value of upstream.pin: whether to refuse an upstream tool
// whose definition has changed since the user last saw it. It returns false if s is
// nil or has no such value.
func (s *Settings) UpstreamPin() bool { return s != nil && s.pin.or(false) }

// addUpstreams adds servers of less authoritative settings. Rules identify a server by
// its prefix, so addUpstreams leaves out a server whose prefix is taken.
func (s *Settings) addUpstreams(less []Upstream) {
	by := map[string]Upstream{}
	for _, u := range s.upstreams {
		by[u.Prefix()] = u
	}
	for _, u := range less {
		first, taken := by[u.Prefix()]
		switch {
		case !taken:
			by[u.Prefix()] = u
			s.upstreams = append(s.upstreams, u)
		case first.Name != u.Name:
			s.warnings = append(s.warnings, fmt.Sprintf("%s: %s: tools of the server %s in %s have names that begin with %s, too; ignored",
				u.origin(), joinKey(serversKey, u.Name), plain.Quote(first.Name), first.origin(), policy.ToolsPrefix(u.Prefix())))
		}
	}
}
