package match

import (
	"bytes"
	"unicode/utf8"

	"mcp-toolset/internal/search/dfa"
	"mcp-toolset/internal/search/pattern"
)

// need is a clause of literals. Every matching text contains at least one of them.
type need struct {
	texts  [][]byte
	folded []*dfa.DFA
	most   int // limit of the bytes of a literal where it matches
}

// needs converts clauses to needs. It omits clauses that cannot be searched for.
func needs(required pattern.Literals) []need {
	var list []need
	for _, c := range required {
		var n need
		for _, l := range c {
			n.most = max(n.most, utf8.UTFMax*len(l.Text)) // in another case
			if !l.Fold {
				n.texts = append(n.texts, []byte(l.Text))
				continue
			}
			d, err := dfa.Literal(l.Text, true)
			if err != nil || bytes.IndexByte([]byte(l.Text), '\n') >= 0 {
				n = need{}
				break
			}
			n.folded = append(n.folded, d)
		}
		if len(n.texts)+len(n.folded) == len(c) {
			list = append(list, n)
		}
	}
	return list
}

func (n need) in(data []byte) bool {
	for _, t := range n.texts {
		if bytes.Contains(data, t) {
			return true
		}
	}
	for _, d := range n.folded {
		if d.Any(data) {
			return true
		}
	}
	return false
}

// rarest returns the need of the clause that determines From and To of an
// [index.Range]. It returns false if there is none.
func (m *Matcher) rarest() (need, bool) {
	if m.filter == nil {
		return need{}, false
	}
	var c pattern.Clause
	for _, l := range m.filter.Rarest() {
		c = append(c, pattern.Literal(l))
	}
	list := needs(pattern.Literals{c})
	if len(list) == 0 {
		return need{}, false
	}
	return list[0], true
}

// Near reports whether a match in a range can exist, given the part of the text from
// From of the [index.Range] to Reach bytes after its To.
func (m *Matcher) Near(part []byte) bool {
	n, ok := m.rare()
	return !ok || n.in(part)
}

// Holds reports whether a part of a text contains a match that does not depend on the
// text around the part. It returns true only for a plain literal.
func (m *Matcher) Holds(part []byte) bool { return m.plain && m.lines.Any(part) }

// Reach returns the limit of the bytes of a literal that Near searches for.
func (m *Matcher) Reach() int {
	n, _ := m.rare()
	return n.most
}

// possible reports whether a text contains what every match needs. This is a hundred
// times as fast as a search for matches that span lines, which may read 10 MB per
// second.
func (m *Matcher) possible(data []byte) bool {
	for _, n := range m.must {
		if !n.in(data) {
			return false
		}
	}
	return true
}
