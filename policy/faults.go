package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcp-toolset/internal/nearest"
)

// Faults returns what is probably misspelled in the settings, which would turn off a
// protection without a trace: unknown keys below permissions, sandbox and hooks,
// top-level keys close to a known one, and rules on unknown tools close to one of
// tools. Without tools, rules are not looked at. Keys, events and tools of Claude
// Code are no faults, since people reuse its files. Each fault is one line with its
// file and line number, safe to show, and holds at most a few words of the file.
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

// Count returns how many rules there are of a behavior.
func (s *Settings) Count(b Behavior) int {
	if s == nil {
		return 0
	}
	return len(s.rules[b])
}

// fault adds a fault about a key, with the nearest of those that are known here or
// that Claude Code has. kind is "key" or "event".
func (s *Settings) fault(line int, parent, key, kind string, known, claude []string) {
	text := fmt.Sprintf("%s: %s is not a known %s", origin{s.source, line}, joinName(parent, key), kind)
	if near := nearest.Names(key, slices.Concat(known, claude), 1); len(near) > 0 {
		text += "; did you mean " + near[0] + "?"
	} else {
		text += "; use one of " + strings.Join(known, ", ")
	}
	s.faults = append(s.faults, text)
}

// unknownBelow judges an unknown key below permissions, sandbox or a hook: one of
// Claude Code is warned about, any other is a fault.
func (s *Settings) unknownBelow(line int, parent, key string, known, claude []string) {
	if slices.Contains(claude, key) {
		s.warn(line, "%s: a key of Claude Code without effect here, ignored", joinKey(parent, key))
		return
	}
	s.fault(line, parent, key, "key", known, claude)
}

// unknownTop judges an unknown top-level key: one close to a known key, or one that
// belongs below permissions or sandbox, is a fault, any other is warned about.
func (s *Settings) unknownTop(f field) {
	if slices.Contains(topKeys, f.key) {
		return // "$schema", for editors
	}
	if meant := meantKey(f.key); meant != "" && !slices.Contains(claudeTopKeys, f.key) {
		s.faults = append(s.faults, fmt.Sprintf("%s: %s is not a known key; did you mean %s?", origin{s.source, f.line}, joinName("", f.key), meant))
		return
	}
	s.warn(f.line, "%s: unknown key, ignored", joinKey("", f.key))
}

// meantKey returns the key that an unknown top-level key is a misspelling of, in
// full, "" if there is none.
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

// fault returns what is wrong with a rule on a tool whose name is close to one that
// is known, "" if nothing is.
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

// meantTool returns the tool that a rule without the name of a tool is meant for, as
// "Bash (x)" and "Bash: x" are, "" if there is none.
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

// maxName bounds a key in a fault, in bytes. A fault in the settings of a project is
// shown to the model, and must not carry a message from whoever wrote the file.
const maxName = 40

// joinName names a key as joinKey does, shortened, and quoted unless it looks like
// an identifier.
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
