package policy

import (
	"slices"
	"strings"

	"mcp-toolset/internal/text/plain"
)

// Rules holds the deny, ask and allow rules of settings files, those of the most
// authoritative file first. The zero value holds none. It must not be changed once a
// Policy or another Rules was made from it.
type Rules struct{ lists [3][]rule } // by Behavior

// Add adds a rule to the list of b. root is the folder at which patterns with a
// leading / begin. A malformed rule is added too: see Warnings.
func (r *Rules) Add(b Behavior, text string, from Origin, root string) {
	r.lists[b] = append(r.lists[b], parseRule(text, len(r.lists[b]), from, root))
}

// AddPreset adds an allow rule of a preset. It allows a command with literal words as other rules
// do, but lifts no concern: not about a file outside of the workspace, nor about a risk.
func (r *Rules) AddPreset(text string, except Except, from Origin) {
	r.Add(Allow, text, from, "")
	r.lists[Allow][len(r.lists[Allow])-1].preset = &except
}

// Append adds the rules of less authoritative files.
func (r *Rules) Append(less *Rules) {
	for b := range r.lists {
		for _, rule := range less.lists[b] {
			rule.order = len(r.lists[b])
			r.lists[b] = append(r.lists[b], rule)
		}
	}
}

// Restricting returns the deny and ask rules.
func (r Rules) Restricting() Rules {
	return Rules{[3][]rule{Deny: slices.Clone(r.lists[Deny]), Ask: slices.Clone(r.lists[Ask])}}
}

// Listed is a rule as written.
type Listed struct {
	Behavior Behavior
	Text     string
	Origin   Origin
}

// List returns all rules, the deny rules first, each list in order of effect.
func (r Rules) List() (out []Listed) {
	for b := Deny; b <= Allow; b++ {
		for i := range r.lists[b] {
			out = append(out, Listed{b, r.lists[b][i].text, r.lists[b][i].Origin})
		}
	}
	return out
}

// Count returns the number of rules with behavior b.
func (r Rules) Count(b Behavior) int { return len(r.lists[b]) }

// Anchored describes a path rule that begins at the folder of its settings file: its
// pattern begins with one slash. Its texts are safe to show.
type Anchored struct {
	Rule       string // with its place, as in "deny rule Read(/etc/**) in s.json:3"
	Root       string // the folder at which it begins
	First      string // the first name of the pattern
	Second     string // the second one; "" if it is missing or has wildcards
	FromSystem string // the rule from the file-system root
	FromDir    string // the rule from the working directory
}

// Anchored returns the rules that begin at the folder of their settings file and whose
// first name has no wildcards.
func (r Rules) Anchored() (out []Anchored) {
	for b := range r.lists {
		for i := range r.lists[b] {
			rule := &r.lists[b][i]
			if rule.broken != nil || !rule.onFiles() || rule.path.bound == 0 || !strings.HasPrefix(rule.pattern, "/") {
				continue
			}
			names := rule.path.segments[rule.path.bound:]
			if len(names) == 0 || names[0].kind != exact {
				continue
			}
			a := Anchored{
				Rule: rule.in(Behavior(b)), Root: rule.path.root, First: names[0].name,
				FromSystem: plain.Quote(rule.tool + "(/" + rule.pattern + ")"), FromDir: plain.Quote(rule.tool + "(" + strings.TrimLeft(rule.pattern, "/") + ")"),
			}
			if len(names) > 1 && names[1].kind == exact {
				a.Second = names[1].name
			}
			out = append(out, a)
		}
	}
	return out
}
