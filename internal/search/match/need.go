package match

import (
	"bytes"
	"unicode/utf8"

	"mcp-toolset/internal/search/dfa"
	"mcp-toolset/internal/search/pattern"
)

// need is a clause of literals of which a text that matches has one.
type need struct {
	texts  [][]byte
	folded []*dfa.DFA
	most   int // bytes that one of them can have where it matches
}

// needs makes them; what cannot be looked for is left out.
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

// rarest is the need of the clause by which [index.Range] has From and To; false:
// nothing is known of it.
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

// Near reports whether the part of a text from From of an [index.Range] to Reach bytes
// behind its To can have what a match in the range must have.
func (m *Matcher) Near(part []byte) bool {
	n, ok := m.rare()
	return !ok || n.in(part)
}

// Holds reports whether a part of a text holds a match that is one whatever is around
// the part. It says so of a plain literal only.
func (m *Matcher) Holds(part []byte) bool { return m.plain && m.lines.Any(part) }

// Reach is the most bytes that a literal has which Near looks for.
func (m *Matcher) Reach() int {
	n, _ := m.rare()
	return n.most
}

// possible reports whether a text has what every match needs: what finds matches
// that span lines may read 10 MB a second, and this is a hundred times as fast.
func (m *Matcher) possible(data []byte) bool {
	for _, n := range m.must {
		if !n.in(data) {
			return false
		}
	}
	return true
}
