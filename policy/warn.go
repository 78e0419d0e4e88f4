package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var errNoAnchor = errors.New("the folder it begins at is not known")

// knows reports whether the folder of an anchor is known when rules are read.
// The working directory is known only with a Request.
func (p *Policy) knows(a anchor) bool {
	switch a {
	case atHome:
		return p.home.path != ""
	case atRoot:
		return p.root.path != ""
	default:
		return true
	}
}

// ineffective warns about rules that another rule makes pointless, and about
// allow rules that open less than they seem to.
func (s *Settings) ineffective() []string {
	var out []string
	for b := Ask; b <= Allow; b++ {
		for i := range s.rules[b] {
			r := &s.rules[b][i]
			if r.broken != nil {
				continue
			}
			if before, text, ok := s.before(b, r); ok {
				out = append(out, fmt.Sprintf("%s rule %s has no effect: the %s rule %s comes first", b, show(r.text), before, show(text)))
				continue
			}
			if b == Allow && r.onFiles() && !r.onPaths() {
				out = append(out, fmt.Sprintf("allow rule %s opens no path outside the workspace roots; %s rules do", show(r.text), familyOf[r.tool]))
			}
		}
	}
	return out
}

// before finds a rule in a list before that of b which covers all that r does:
// the same rule, or one on the whole tool. An Edit allow rule on paths always
// does something: it opens them to reading.
func (s *Settings) before(b Behavior, r *rule) (before Behavior, text string, ok bool) {
	if b == Allow && r.onPaths() && r.tool == Edit.String() {
		return 0, "", false
	}
	for before = Deny; before < b; before++ {
		for i := range s.rules[before] {
			q := &s.rules[before][i]
			same := q.text == r.text || !q.prefix && q.whole && q.tool == r.tool || q.prefix && q.names(r.tool)
			if q.broken == nil && same {
				return before, q.text, true
			}
		}
	}
	return 0, "", false
}

// ruleWarnings are the warnings that need the Config: rules on tools that do not
// exist, rules that begin at a folder that is not known.
func (p *Policy) ruleWarnings(s *Settings, known []string) []string {
	var out []string
	for b := Deny; b <= Allow; b++ {
		for i := range s.rules[b] {
			r := s.rules[b][i]
			if r.broken == nil && r.onFiles() && !p.knows(r.path.anchor) {
				r.broken = errNoAnchor
				out = append(out, fmt.Sprintf("%s rule %s: %v, so it %s", b, show(r.text), r.broken, r.effect(b)))
			}
			if known != nil && r.tool != "" && !r.prefix && !isKnown(r.tool, known) {
				out = append(out, fmt.Sprintf("%s rule %s names %s, which is not a tool here%s", b, show(r.text), show(r.tool), didYouMean(r.tool, known)))
			}
		}
	}
	return out
}

// isKnown also holds for the tools of upstream servers, which come and go, and
// for Read and Edit, which stand for all that reads or changes a path.
func isKnown(tool string, known []string) bool {
	_, family := familyOf[tool]
	return slices.Contains(known, tool) || strings.HasPrefix(tool, upstreamMark) || family && (tool == Read.String() || tool == Edit.String())
}

func didYouMean(tool string, known []string) string {
	for _, k := range known {
		if strings.EqualFold(k, tool) {
			return "; did you mean " + k + "?"
		}
	}
	return ""
}
