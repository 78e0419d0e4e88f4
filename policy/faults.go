package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcp-toolset/internal/nearest"
)

// Faults returns descriptions of probable misspellings in the settings, which would
// silently turn off a protection: unknown keys below permissions, sandbox and hooks,
// top-level keys close to a known one, and rules on unknown tools with a name close to
// one of tools. Faults does not check rules on tools if tools is empty. Keys, events
// and tools of Claude Code are not faults, since users reuse its files. Each fault is
// one line with its file and line number, is safe to show, and quotes at most a few
// words of the file.
func (s *Settings) Faults(tools []string) []string {
	if s == nil {
		return nil
	}
	out := slices.Clone(s.faults)
	for b := range s.rules {
		for i := range s.rules[b] {
			if fault := s.rules[b][i].fault(Behavior(b), tools); fault != "" {
				out = append(out, fault)
			}
		}
	}
	return out
}

// Count returns the number of rules with behavior b.
func (s *Settings) Count(b Behavior) int {
	if s == nil {
		return 0
	}
	return len(s.rules[b])
}

// fault adds a fault about an unknown key. It suggests the nearest name among known
// and claude, the names that Claude Code knows. kind is "key" or "event".
func (s *Settings) fault(line int, parent, key, kind string, known, claude []string) {
	text := fmt.Sprintf("%s: %s is not a known %s", origin{s.source, line}, joinName(parent, key), kind)
	if near := nearest.Names(key, slices.Concat(known, claude), 1); len(near) > 0 {
		text += "; did you mean " + near[0] + "?"
	} else {
		text += "; use one of " + strings.Join(known, ", ")
	}
	s.faults = append(s.faults, text)
}

// unknownBelow handles an unknown key below permissions, sandbox or a hook. It warns
// about keys of Claude Code and reports any other as a fault.
func (s *Settings) unknownBelow(line int, parent, key string, known, claude []string) {
	if slices.Contains(claude, key) {
		s.warn(line, "%s: a key of Claude Code without effect here, ignored", joinKey(parent, key))
		return
	}
	s.fault(line, parent, key, "key", known, claude)
}

// unknownTop handles an unknown top-level key. A key close to a known key, including
// the keys below permissions or sandbox, is a fault. Any other causes a warning.
func (s *Settings) unknownTop(f field) {
	if slices.Contains(topKeys, f.key) {
		return // "$schema", which editors use
	}
	if meant := meantKey(f.key); meant != "" && !slices.Contains(claudeTopKeys, f.key) {
		s.faults = append(s.faults, fmt.Sprintf("%s: %s is not a known key; did you mean %s?", origin{s.source, f.line}, joinName("", f.key), meant))
		return
	}
	s.warn(f.line, "%s: unknown key, ignored", joinKey("", f.key))
}

// meantKey returns the full name of the key that an unknown top-level key misspells,
// or "" if there is none.
func meantKey(key string) string {
	if near := nearest.Typo(key, topKeys); near != "" {
		return near
	}
	if near := nearest.Typo(key, permissionKeys); near != "" {
		return joinKey(permissionsKey, near)
	}
	if near := nearest.Typo(key, sandboxKeys); near != "" {
		return joinKey("sandbox", near)
	}
	return ""
}

// fault describes a rule whose tool is unknown but has a name close to a known one. It
// returns "" if there is nothing wrong.
func (r *rule) fault(b Behavior, known []string) string {
	if r.broken != nil && r.tool == "" {
		if near := r.meantTool(known); near != "" {
			return fmt.Sprintf("%s: the %s rule %s is malformed; did you mean %s(PATTERN)?", r.origin, b, joinName("", r.text), near)
		}
		return ""
	}
	if !r.unknown(known) || slices.Contains(claudeTools, r.tool) {
		return ""
	}
	near := nearest.Typo(r.tool, slices.Concat(known, []string{Read.String(), Edit.String()}))
	if near == "" {
		return ""
	}
	return fmt.Sprintf("%s: the %s rule names %s, which is not a tool here; did you mean %s?", r.origin, b, joinName("", r.tool), near)
}

// meantTool returns the tool meant by a rule from which no tool name could be read,
// such as "Bash (x)" or "Bash: x". It returns "" if there is none.
func (r *rule) meantTool(known []string) string {
	if len(known) == 0 {
		return ""
	}
	known = slices.Concat(known, []string{Read.String(), Edit.String()})
	name, _, _ := strings.Cut(strings.TrimSpace(r.text), "(")
	name = strings.TrimSpace(name)
	first := name
	if i := strings.IndexFunc(name, func(c rune) bool { return !isNameRune(c) }); i >= 0 {
		first = name[:i]
	}
	for _, s := range []string{first, name} {
		if slices.Contains(known, s) {
			return s
		}
		if near := nearest.Typo(s, known); near != "" {
			return near
		}
	}
	return ""
}

// maxName is the limit of a key's length in a fault, in bytes. Faults in a project's
// settings are shown to the model and must not carry a message from the author of the
// file.
const maxName = 40

// joinName names a key as joinKey does, shortened, and quoted unless it looks like an
// identifier.
func joinName(parent, key string) string {
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r != '$' && !isNameRune(r) }) {
		key = strconv.Quote(shorten(key, 4*maxName))
	}
	key = shorten(key, maxName)
	if parent == "" {
		return key
	}
	return parent + "." + key
}
