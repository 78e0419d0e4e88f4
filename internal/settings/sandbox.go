package settings

import (
	"slices"
	"strings"
	"unicode"

	"mcp-toolset/internal/text/plain"
)

// Settings of commands: the files and network they may use, and their environment.

// Known keys below sandbox and env.
var (
	sandboxKeys = []string{"allowRead", "allowWrite", "caches", "network"}
	envKeys     = []string{"pass", "scrub"}
)

// Sandbox describes what commands may access in addition to the workspace roots.
type Sandbox struct {
	AllowRead  []string // files and folders to read: absolute, clean, not canonical; they may not exist
	AllowWrite []string // folders to read and write, with the same properties
	Caches     bool     // whether the caches of build tools may be written
	Network    Network  // which hosts may be reached
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
		default:
			s.unknownBelow(g.line, f.key, g.key, sandboxKeys, claudeSandboxKeys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Sandbox returns what commands may access. The folders are those of sandbox.allowRead
// and sandbox.allowWrite, made absolute as in AdditionalDirectories. For keys that are
// not set, and if s is nil, there are no folders, caches may be written, and the network asks.
func (s *Settings) Sandbox() Sandbox {
	if s == nil {
		return Sandbox{Caches: true, Network: NetworkAsk}
	}
	return Sandbox{AllowRead: expand(s.sandbox.allowRead), AllowWrite: expand(s.sandbox.allowWrite), Caches: s.sandbox.caches.or(true), Network: s.sandbox.network.or(NetworkAsk)}
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
