package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// This file holds what the settings say of other MCP servers: those whose tools
// are offered here, and which of them may be started. The package starts
// nothing.

const (
	// maxServerName bounds the part of a tool's name that names its server, in
	// bytes. Names of tools have at most 64; a longer one is cut and ends in a hash
	// of 9 bytes, and a rule on the server has to know what stands before that.
	maxServerName = 64 - 9 - len(upstreamMark) - len(upstreamGap)
	// minUpstreamTimeout is less than a call over a network may take. Below it
	// somebody has mistaken the unit for seconds.
	minUpstreamTimeout = time.Second
	// maxUpstreamTimeout is longer than anybody waits without a sign of life.
	maxUpstreamTimeout = time.Hour
)

// upstreamGap divides server and tool in the name of a tool.
const upstreamGap = "__"

// Upstream is one server of mcpServers. Texts are as they are written, with
// their variables, until Expand.
type Upstream struct {
	Name    string
	Command string // of one that is started here; "": URL
	Args    []string
	Env     map[string]string
	Dir     string // working directory; "": none given
	URL     string
	Headers map[string]string

	Eager    bool          // to be connected when this server starts
	Always   bool          // its tools are always loaded
	Disabled bool          // not to be used
	Timeout  time.Duration // of a call without a sign of life; 0: none given

	Root   string // the folder that a relative command or working directory begins at; may be ""
	Source string // the settings file, not made safe to show
	Line   int    // the line of its name there, 1-based
}

// Prefix is what the names of the server's tools begin with, behind mcp__ and
// before __: its name, in which every character is a _ that not every client
// takes in the name of a tool. No two servers of the same Settings have the same.
func (u Upstream) Prefix() string { return serverName(u.Name) }

// serverName is a name as Upstream.Prefix has it.
func serverName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || !isNameRune(r) {
			return '_'
		}
		return r
	}, name)
}

// Upstreams are the servers of mcpServers of all files, sorted by name, without
// those that are disabled. Of two with the same name the more authoritative
// wins wholly. nil settings have none.
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

// UpstreamPrefixes are the prefixes of all servers, the disabled ones among them,
// for Config.KnownServers. It is never nil.
func (s *Settings) UpstreamPrefixes() []string {
	out := []string{}
	if s != nil {
		for _, u := range s.upstreams {
			out = append(out, u.Prefix())
		}
	}
	return out
}

// UpstreamPin is the value of upstream.pin: whether a tool of another server is
// refused whose definition has changed since a person last looked at it. It is
// false if the settings, which may be nil, have none.
func (s *Settings) UpstreamPin() bool { return s != nil && s.pin.or(false) }

// addUpstreams adds servers of less authoritative settings. Rules know a server
// by its prefix, so one that shares it with another is left out.
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
				origin{u.Source, u.Line}, joinKey(serversKey, u.Name), show(first.Name), origin{first.Source, first.Line}, toolsOf(u.Prefix())))
		}
	}
}

// toolsOf is what the names of a server's tools begin with.
func toolsOf(prefix string) string { return upstreamMark + prefix + upstreamGap }
