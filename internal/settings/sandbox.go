package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"mcp-toolset/internal/text/plain"
)

// Settings of commands: the files and network they may use, and their environment.

// Known keys below sandbox and env.
var (
	sandboxKeys = []string{"allowRead", "allowWrite", "caches", "network", "publish"}
	envKeys     = []string{"pass", "scrub"}
)

// Sandbox describes what commands may access in addition to the workspace roots.
type Sandbox struct {
	AllowRead  []string // files and folders to read: absolute, clean, not canonical; they may not exist
	AllowWrite []string // folders to read and write, with the same properties
	Caches     bool     // whether the caches of build tools may be written
	Network    Network  // which hosts may be reached
	Publish    Publish  // which of their ports this machine may reach
}

// Publish selects ports on which commands listen in a network of their own, and that are published
// on this machine.
type Publish struct {
	Ports []PortRange // published without a question
	Ask   bool        // others are published if the user agrees
}

// PortRange is a range of ports, with both ends.
type PortRange struct{ First, Last uint16 }

// Names reports whether a port is among Ports.
func (p Publish) Names(port uint16) bool {
	return slices.ContainsFunc(p.Ports, func(r PortRange) bool { return r.First <= port && port <= r.Last })
}

// Network selects which hosts commands may reach.
type Network string

// The values of sandbox.network.
const (
	NetworkAsk   Network = "ask"   // those of package managers and of rules; others ask
	NetworkAllow Network = "allow" // all, without a question
	NetworkDeny  Network = "deny"  // none
)

// sandbox holds the settings from which Sandbox is made.
type sandbox struct {
	allowRead  []string // absolute, or relative to ~ or an unknown root
	allowWrite []string
	caches     scalar[bool]
	network    scalar[Network]
	publish    scalar[Publish]
}

func (s *Settings) readSandbox(f field) error {
	if f.value.kind != isObject {
		return f.value.typeError(f.key, "an object")
	}
	for _, g := range f.value.fields {
		path := joinKey(f.key, g.key)
		var err error
		switch g.key {
		case "allowRead":
			s.sandbox.allowRead, err = s.readDirectories(path, g.value)
		case "allowWrite":
			s.sandbox.allowWrite, err = s.readDirectories(path, g.value)
		case "caches":
			if g.value.kind != isBool {
				return g.value.typeError(path, "true or false")
			}
			s.sandbox.caches = scalarOf(g.value.truth)
		case "network":
			if g.value.kind == isObject {
				s.warn(g.line, `%s: the object of Claude Code is ignored; here it is "ask", "allow" or "deny", and hosts are rules such as WebFetch(domain:example.com)`, path)
				continue
			}
			network := Network(g.value.text)
			if g.value.kind != isString || !slices.Contains([]Network{NetworkAsk, NetworkAllow, NetworkDeny}, network) {
				return g.value.typeError(path, `"ask", "allow" or "deny"`)
			}
			s.sandbox.network = scalarOf(network)
		case "publish":
			var ports Publish
			ports, err = g.value.publish(path)
			s.sandbox.publish = scalarOf(ports)
		default:
			s.unknownBelow(g.line, f.key, g.key, sandboxKeys, claudeSandboxKeys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// publish returns the value of sandbox.publish: "ask", or a list of it, ports and ranges.
func (n *node) publish(path string) (p Publish, err error) {
	const want = `"ask", a port such as 5173, or a range such as "8000-8100"`
	items := []*node{n}
	if n.kind == isArray {
		items = n.items
	}
	for i, item := range items {
		at := path
		if n.kind == isArray {
			at = fmt.Sprintf("%s[%d]", path, i)
		}
		if item.kind == isString && item.text == "ask" {
			p.Ask = true
			continue
		}
		first, last, isRange := strings.Cut(item.text, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 16)
		to, failed := strconv.ParseUint(last, 10, 16)
		if (item.kind != isString && item.kind != isNumber) || err != nil || failed != nil || from == 0 || to < from {
			return p, item.typeError(at, want)
		}
		p.Ports = append(p.Ports, PortRange{uint16(from), uint16(to)})
	}
	return p, nil
}

// Sandbox returns what commands may access. The folders are those of sandbox.allowRead
// and sandbox.allowWrite, made absolute as in AdditionalDirectories. For keys that are
// not set, and if s is nil, there are no folders, caches may be written, and the network and
// published ports ask.
func (s *Settings) Sandbox() Sandbox {
	if s == nil {
		return Sandbox{Caches: true, Network: NetworkAsk, Publish: Publish{Ask: true}}
	}
	return Sandbox{AllowRead: expand(s.sandbox.allowRead), AllowWrite: expand(s.sandbox.allowWrite), Caches: s.sandbox.caches.or(true), Network: s.sandbox.network.or(NetworkAsk), Publish: s.sandbox.publish.or(Publish{Ask: true})}
}

func (s *Settings) readEnv(f field) error {
	if f.value.kind != isObject {
		return f.value.typeError(f.key, "an object")
	}
	for _, g := range f.value.fields {
		path := joinKey(f.key, g.key)
		var err error
		switch g.key {
		case "scrub":
			s.scrub, err = s.readVariables(path, g.value)
		case "pass":
			s.pass, err = s.readVariables(path, g.value)
		default:
			s.unknown(f.key, g, envKeys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readVariables reads a list of variable names or patterns. It warns about entries
// that cannot be a variable's name and leaves them out.
func (s *Settings) readVariables(path string, n *node) ([]string, error) {
	names, err := n.strings(path)
	if err != nil {
		return nil, err
	}
	var out []string
	for i, name := range names {
		if !plain.Printable(name) || strings.Contains(name, "=") || strings.ContainsFunc(name, unicode.IsSpace) {
			s.warn(n.items[i].line, "%s: %s is not the name of a variable, ignored", path, plain.Quote(name))
			continue
		}
		out = append(out, name)
	}
	return out, nil
}

// Env returns two lists of variables: env.scrub, which commands must not inherit, and
// env.pass, which they inherit. An entry is a name or a pattern in which * matches any
// text. Both lists are nil if s is nil.
func (s *Settings) Env() (scrub, pass []string) {
	if s == nil {
		return nil, nil
	}
	return slices.Clone(s.scrub), slices.Clone(s.pass)
}
