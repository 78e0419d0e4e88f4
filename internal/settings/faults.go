package settings

import (
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
)

// Faults returns descriptions of probable misspellings in the settings, which would
// silently turn off a protection: unknown keys below permissions, sandbox and hooks,
// top-level keys close to a known one, and rules on unknown tools with a name close to
// one of tools. They include additional directories that do not exist, if the settings
// were read from a file. Faults does not check rules on tools if tools is empty. Keys, events
// and tools of Claude Code are not faults, since users reuse its files. Each fault is
// one line with its file and line number, is safe to show, and quotes at most a few
// words of the file.
func (s *Settings) Faults(tools []string) []string {
	if s == nil {
		return nil
	}
	return slices.Concat(s.faults, s.missing, s.rules.Faults(tools), s.profileFaults(tools))
}

// fault adds a fault about an unknown key. It suggests the nearest name among known
// and claude, the names that Claude Code knows. kind is "key" or "event".
func (s *Settings) fault(line int, parent, key, kind string, known, claude []string) {
	text := fmt.Sprintf("%s: %s is not a known %s", s.at(line), joinName(parent, key), kind)
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
	if meant := intendedKey(f.key); meant != "" && !slices.Contains(claudeTopKeys, f.key) {
		s.faults = append(s.faults, fmt.Sprintf("%s: %s is not a known key; did you mean %s?", s.at(f.line), joinName("", f.key), meant))
		return
	}
	s.warn(f.line, "%s: unknown key, ignored", joinKey("", f.key))
}

// intendedKey returns the full name of the key that an unknown top-level key misspells,
// or "" if there is none.
func intendedKey(key string) string {
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

// joinName names a key as joinKey does, shortened, and quoted unless it looks like an
// identifier.
func joinName(parent, key string) string {
	if parent == "" {
		return plain.Key(key)
	}
	return parent + "." + plain.Key(key)
}
