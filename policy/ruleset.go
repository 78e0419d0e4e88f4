package policy

import "slices"

// Rules holds the deny, ask and allow rules of settings files, those of the most
// authoritative file first. The zero value holds none. It must not be changed once a
// Policy or another Rules was made from it.
type Rules struct{ lists [3][]rule } // by Behavior

// Add adds a rule to the list of b. root is the folder at which patterns with a
// leading / begin. A malformed rule is added too: see Warnings.
func (r *Rules) Add(b Behavior, text string, from Origin, root string) {
	r.lists[b] = append(r.lists[b], parseRule(text, len(r.lists[b]), from, root))
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

// Count returns the number of rules with behavior b.
func (r Rules) Count(b Behavior) int { return len(r.lists[b]) }
