package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
)

var errNoAnchor = errors.New("the folder it begins at is not known")

// hasAnchor reports whether the folder of an anchor is known before any Request. The
// working directory becomes known with the Request, so hasAnchor returns true for it.
func (p *Policy) hasAnchor(a anchor) bool {
	return a != atHome || p.home.path != ""
}

// in names a rule and its place.
func (r *rule) in(b Behavior) string {
	return fmt.Sprintf("%s rule %s in %s", b, plain.Quote(r.text), r.Origin)
}

// Warnings returns warnings about rules of one file that are malformed, that another
// rule of the file makes ineffective, or that open less than they seem to. Each is one
// line with its file and line number, safe to show.
func (r Rules) Warnings() (out []string) {
	for b := range r.lists {
		for i := range r.lists[b] {
			if r, b := &r.lists[b][i], Behavior(b); r.broken != nil {
				out = append(out, fmt.Sprintf("%s is malformed (%v): it %s", r.in(b), r.broken, r.effect(b)))
			}
		}
	}
	for b := Deny; b <= Allow; b++ {
		for i := range r.lists[b] {
			if w := r.warning(b, &r.lists[b][i]); w != "" {
				out = append(out, w)
			}
		}
	}
	return out
}

// warning returns the warning about one rule, or "".
func (r Rules) warning(b Behavior, rule *rule) string {
	if before, q := r.before(b, rule, anyFile); q != nil {
		return rule.shadowWarning(b, before, q)
	}
	switch {
	case rule.broken != nil:
		return ""
	case rule.blanks():
		return fmt.Sprintf("%s has blanks in a row, and covers only words that hold them; write %s", rule.in(b), plain.Quote(rule.tool+"("+strings.Join(strings.Fields(rule.pattern), " ")+")"))
	case b != Allow && rule.onFiles() && !rule.onPaths() && !r.covered(rule):
		family := familyOf[rule.tool]
		return fmt.Sprintf("%s covers only %s; %s covers every tool that %s", rule.in(b), rule.tool, plain.Quote(family.String()+"("+rule.pattern+")"),
			map[Access]string{Read: "reads the file", Edit: "changes the file"}[family])
	case b != Allow:
		return ""
	}
	switch {
	case rule.onForeign():
		return fmt.Sprintf("%s has no effect: what a pattern means to a tool of another server is not known here; write %s", rule.in(b), rule.tool)
	case rule.onFiles() && !rule.onPaths():
		return fmt.Sprintf("%s opens no path outside the workspace roots; %s rules do", rule.in(b), familyOf[rule.tool])
	}
	return ""
}

// blanks reports whether the pattern of a command has blanks in a row. The words of a
// command are joined by one.
func (r *rule) blanks() bool {
	return (isCommandTool(r.tool) || isOtherShell(r.tool)) && strings.Contains(strings.TrimSpace(r.pattern), "  ")
}

// covered reports whether a deny or ask rule on Read or Edit paths has the pattern of a
// rule on one tool.
func (r Rules) covered(one *rule) bool {
	for b := Deny; b <= Ask; b++ {
		for i := range r.lists[b] {
			q := &r.lists[b][i]
			if q.broken == nil && q.tool == familyOf[one.tool].String() && (q.whole || q.pattern == one.pattern) {
				return true
			}
		}
	}
	return false
}

// MergeWarnings returns warnings about rules that a rule of another file makes
// ineffective, in the form of Warnings.
func (r Rules) MergeWarnings() (out []string) {
	for b := Ask; b <= Allow; b++ {
		for i := range r.lists[b] {
			rule := &r.lists[b][i]
			if _, q := r.before(b, rule, sameFile); q != nil {
				continue // a warning of the file itself reports it
			}
			if before, q := r.before(b, rule, anyFile); q != nil {
				out = append(out, rule.shadowWarning(b, before, q))
			}
		}
	}
	return out
}

// shadowWarning returns the warning that rule q of an earlier list makes r ineffective.
func (r *rule) shadowWarning(b, before Behavior, q *rule) string {
	return fmt.Sprintf("%s has no effect: the %s comes first", r.in(b), q.in(before))
}

func anyFile(_, _ *rule) bool { return true }

func sameFile(r, q *rule) bool { return r.Source == q.Source }

// before finds a rule in a list before that of b that covers everything other covers: the
// same rule, or one on the whole tool. It considers only rules that concern accepts. q
// is nil if there is none. An Edit allow rule on paths always has an effect, because
// it also opens the paths to reading.
func (r Rules) before(b Behavior, other *rule, concern func(r, q *rule) bool) (before Behavior, q *rule) {
	if other.broken != nil || b == Allow && other.onPaths() && other.tool == Edit.String() {
		return 0, nil
	}
	for before = Deny; before < b; before++ {
		for i := range r.lists[before] {
			q := &r.lists[before][i]
			// A rule on a host also decides on connections of commands, a rule on the whole tool does not.
			whole := !q.prefix && q.whole && q.tool == other.tool && other.site == nil
			same := q.same(other) || whole || q.prefix && q.names(other.tool)
			if q.broken == nil && same && concern(other, q) {
				return before, q
			}
		}
	}
	return 0, nil
}

// same reports whether two rules are equivalent. Patterns with equal texts may begin
// at different folders if they are from different files.
func (r *rule) same(q *rule) bool {
	return r.text == q.text && (!r.onFiles() || q.broken != nil || r.broken != nil || slices.Equal(r.path.segments, q.path.segments))
}

// ruleWarnings returns the warnings that depend on the Config: rules on tools or
// servers that do not exist, and rules that begin at an unknown folder.
func (p *Policy) ruleWarnings(cfg Config) []string {
	known := cfg.KnownTools
	var out []string
	for b := Deny; b <= Allow; b++ {
		for i := range cfg.Rules.lists[b] {
			r := cfg.Rules.lists[b][i]
			if r.broken == nil && r.onFiles() && !p.hasAnchor(r.path.anchor) {
				r.broken = errNoAnchor
				out = append(out, fmt.Sprintf("%s: %v, so it %s", r.in(b), r.broken, r.effect(b)))
			}
			if fault := r.fault(b, known); fault != "" {
				out = append(out, fault)
			} else if r.unknown(known) {
				out = append(out, fmt.Sprintf("%s names %s, which is not a tool here", r.in(b), plain.Quote(r.tool)))
			}
			if server, ok := r.server(); ok && cfg.KnownServers != nil && !slices.Contains(cfg.KnownServers, server) {
				out = append(out, fmt.Sprintf("%s has no effect: there is no server %s%s", r.in(b), plain.Quote(server), nearServer(server, cfg.KnownServers)))
			}
		}
	}
	return out
}

// server returns the prefix of the upstream server that the rule is on. ok is false if
// the rule is not on exactly one.
func (r *rule) server() (prefix string, ok bool) {
	name, ok := strings.CutPrefix(spelling(r.tool), UpstreamMark)
	if !ok || r.broken != nil {
		return "", false
	}
	prefix, _, ok = strings.Cut(name, UpstreamGap)
	return prefix, ok // without a gap it is a pattern such as mcp__db*
}

func nearServer(server string, known []string) string {
	if near := nearest.Names(server, known, 1); len(near) > 0 {
		return "; did you mean " + near[0] + "?"
	}
	return ""
}

// unknown reports whether the rule is on a tool that does not exist. It returns false
// if known is nil.
func (r *rule) unknown(known []string) bool {
	return known != nil && r.tool != "" && !r.prefix && !isKnown(r.tool, known)
}

// isKnown reports whether a rule may name the tool. Besides known, these are the tools
// of upstream servers, which come and go, and Read and Edit, which cover all tools
// that read or change a path.
func isKnown(tool string, known []string) bool {
	_, family := familyOf[tool]
	return slices.Contains(known, tool) || strings.HasPrefix(tool, UpstreamMark) || family && (tool == Read.String() || tool == Edit.String())
}
