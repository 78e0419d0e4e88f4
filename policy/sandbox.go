package policy

import (
	"slices"
	"strings"
	"unicode"
)

// This file reads what the settings say of commands: what they may touch, and
// which variables of the environment they get.

// The keys below sandbox and env.
var (
	sandboxKeys = []string{"allowRead", "allowWrite", "caches", "network"}
	envKeys     = []string{"pass", "scrub"}
)

// Sandbox is what commands may touch beside the workspace roots.
type Sandbox struct {
	AllowRead  []string // further files and folders to read: absolute, clean, not canonical; may not exist
	AllowWrite []string // further folders to read and write in, likewise
	Caches     bool     // the caches of build tools may be written
	Network    bool     // the network may be used
}

// sandbox is the part of the settings that Sandbox is made of.
type sandbox struct {
	allowRead       []string // absolute, or begun at ~
	allowWrite      []string
	caches, network scalar[bool]
}

func (s *Settings) readSandbox(f field) error {
	if f.value.kind != isObject {
		return f.value.want(f.key, "an object")
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
				return g.value.want(path, "true or false")
			}
			s.sandbox.caches = given(g.value.truth)
		case "network":
			if g.value.kind == isObject {
				s.warn(g.line, "%s: the form of Claude Code is not known here, ignored", path)
				continue
			}
			if text := g.value.text; g.value.kind != isString || text != "allow" && text != "deny" {
				return g.value.want(path, `"allow" or "deny"`)
			}
			s.sandbox.network = given(g.value.text == "allow")
		default:
			s.unknownBelow(g.line, f.key, g.key, sandboxKeys, claudeSandboxKeys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Sandbox returns what commands may touch. The folders are those of
// sandbox.allowRead and sandbox.allowWrite, made absolute as in
// AdditionalDirectories. Without a key, and with nil settings, there are none, and
// caches and network may be used.
func (s *Settings) Sandbox() Sandbox {
	if s == nil {
		return Sandbox{Caches: true, Network: true}
	}
	return Sandbox{AllowRead: expand(s.sandbox.allowRead), AllowWrite: expand(s.sandbox.allowWrite), Caches: s.sandbox.caches.or(true), Network: s.sandbox.network.or(true)}
}

func (s *Settings) readEnv(f field) error {
	if f.value.kind != isObject {
		return f.value.want(f.key, "an object")
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

// readVariables reads a list of names of variables, or patterns of them. One
// that no variable can have has no effect and is warned about.
func (s *Settings) readVariables(path string, n *node) ([]string, error) {
	names, err := n.strings(path)
	if err != nil {
		return nil, err
	}
	var out []string
	for i, name := range names {
		if !plain(name) || strings.Contains(name, "=") || strings.ContainsFunc(name, unicode.IsSpace) {
			s.warn(n.items[i].line, "%s: %s is not the name of a variable, ignored", path, show(name))
			continue
		}
		out = append(out, name)
	}
	return out, nil
}

// Env are the lists env.scrub, the variables that commands must not get, and
// env.pass, those that they are to get: names, or patterns in which * stands for
// any text. Both are empty for nil settings.
func (s *Settings) Env() (scrub, pass []string) {
	if s == nil {
		return nil, nil
	}
	return slices.Clone(s.scrub), slices.Clone(s.pass)
}
