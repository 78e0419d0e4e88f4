package policy

import (
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
)

// Faults returns descriptions of rules on unknown tools with a name close to one of
// tools: probable misspellings, which would silently turn off a protection. It returns
// nil if tools is empty. Tools of Claude Code are not faults, since users reuse its
// files. Each fault is one line with its file and line number, is safe to show, and
// quotes at most a few words of the file.
func (r Rules) Faults(tools []string) []string {
	var out []string
	for b := range r.lists {
		for i := range r.lists[b] {
			if fault := r.lists[b][i].fault(Behavior(b), tools); fault != "" {
				out = append(out, fault)
			}
		}
	}
	return out
}

// fault describes a rule whose tool is unknown but has a name close to a known one. It
// returns "" if there is nothing wrong.
func (r *rule) fault(b Behavior, known []string) string {
	if r.broken != nil && r.tool == "" {
		if near := r.intendedTool(known); near != "" {
			return fmt.Sprintf("%s: the %s rule %s is malformed; did you mean %s(PATTERN)?", r.Origin, b, plain.Key(r.text), near)
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
	return fmt.Sprintf("%s: the %s rule names %s, which is not a tool here; did you mean %s?", r.Origin, b, plain.Key(r.tool), near)
}

// intendedTool returns the tool meant by a rule from which no tool name could be read,
// such as "Bash (x)" or "Bash: x". It returns "" if there is none.
func (r *rule) intendedTool(known []string) string {
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
