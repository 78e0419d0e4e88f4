package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcp-toolset/internal/text/plain"
)

// Settings of projects that are not trusted yet: which of them apply, and what the
// user is asked to trust.

// Loosening is an entry of the settings that could make a decision less strict, or run a
// program.
type Loosening struct {
	Key   string // such as "permissions.allow" or "features.web"
	Line  int    // 1-based
	Value string // complete, in one line, safe to show; for a server's env and headers only the name
}

// Loosens returns the entries that Tightened leaves out, in the order of the file.
func (s *Settings) Loosens() []Loosening {
	if s == nil {
		return nil
	}
	return slices.Clone(s.loosenings)
}

// Tightened returns the settings without the entries that could make a decision less
// strict. Only deny and ask rules, denied servers and a true upstream.pin remain.
// These are the settings of a project that the user has not trusted yet. A warning
// names the entries that are left out.
func (s *Settings) Tightened() *Settings {
	if s == nil {
		return nil
	}
	t := &Settings{source: s.source, root: s.root, features: map[string]feature{}, warnings: slices.Clone(s.warnings), faults: slices.Clone(s.faults)}
	t.rules = s.rules.Restricting()
	t.denied = slices.Clone(s.denied)
	if s.pin.value {
		t.pin = s.pin
	}
	t.entries = s.tightenedEntries()
	t.ruleWarnings = t.rules.Warnings()
	if len(s.loosenings) > 0 {
		t.warnings = append(t.warnings, fmt.Sprintf("%s is not trusted: of it only deny and ask rules hold, not %s; to use all of it, run mcp-toolset trust %s",
			plain.Quote(s.source), s.looseningKeys(), quoted(s.root)))
	}
	return t
}

// looseningKeys names the keys that Tightened leaves out, each with its first line.
func (s *Settings) looseningKeys() string {
	var out, seen []string
	for _, l := range s.loosenings {
		key := l.Key
		if top, _, below := strings.Cut(key, "."); below && top != permissionsKey {
			key = top
		}
		if !slices.Contains(seen, key) {
			seen = append(seen, key)
			out = append(out, fmt.Sprintf("%s (line %d)", plain.Quote(key), l.Line))
		}
	}
	return strings.Join(out, ", ")
}

// noteTop records the entries of a top-level key that Tightened leaves out.
func (s *Settings) noteTop(f field) {
	switch f.key {
	case "$schema", permissionsKey, "upstream": // permissions and upstream record their own entries
	case deniedServersKey: // Tightened retains it
	case serversKey, languageServersKey:
		s.noteServers(f)
	case allowedServersKey:
		// An empty list has no entries to note, but overrides the list of another file.
		if f.value.kind == isArray && len(f.value.items) == 0 {
			s.loosenings = append(s.loosenings, Loosening{f.key, f.line, f.value.json()})
		}
		s.note(f.key, f.value)
	default:
		if slices.Contains(topKeys, f.key) {
			s.note(f.key, f.value)
		}
	}
}

// noteServers is note for mcpServers and lspServers. Values of env and headers are often secret, so
// it records only their names.
func (s *Settings) noteServers(f field) {
	for _, server := range f.value.fields {
		path := joinKey(f.key, server.key)
		for _, g := range server.value.fields {
			at := joinKey(path, g.key)
			if g.key != "env" && g.key != "headers" {
				s.note(at, g.value)
				continue
			}
			for _, value := range g.value.fields {
				s.loosenings = append(s.loosenings, Loosening{at, value.line, strconv.Quote(value.key)})
			}
		}
	}
}

// note records the entries of a key that Tightened leaves out: each item of a list,
// each value of an object.
func (s *Settings) note(key string, n *node) {
	switch n.kind {
	case isArray:
		for _, item := range n.items {
			s.loosenings = append(s.loosenings, Loosening{key, item.line, item.json()})
		}
	case isObject:
		for _, f := range n.fields {
			s.note(joinKey(key, f.key), f.value)
		}
	default:
		s.loosenings = append(s.loosenings, Loosening{key, n.line, n.json()})
	}
}

// json returns the value as JSON in one line, with non-printable characters escaped.
func (n *node) json() string {
	switch n.kind {
	case isObject:
		var all []string
		for _, f := range n.fields {
			all = append(all, strconv.Quote(f.key)+": "+f.value.json())
		}
		return "{" + strings.Join(all, ", ") + "}"
	case isArray:
		var all []string
		for _, item := range n.items {
			all = append(all, item.json())
		}
		return "[" + strings.Join(all, ", ") + "]"
	case isString:
		return strconv.Quote(n.text)
	case isBool:
		return strconv.FormatBool(n.truth)
	case isNumber:
		return n.text
	default:
		return "null"
	}
}

// quoted returns a folder as a word for a shell, if it is printable.
func quoted(dir string) string {
	if !plain.Printable(dir) || !strings.ContainsFunc(dir, func(r rune) bool {
		return !strings.ContainsRune("/._-+,:@%", r) && (r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z')
	}) {
		return plain.Quote(dir)
	}
	return plain.Quote("'" + strings.ReplaceAll(dir, "'", `'\''`) + "'")
}
