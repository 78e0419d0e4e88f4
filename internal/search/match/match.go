// Package match decides which lines of a text a pattern matches. It puts
// together what the packages around it know: pattern reads the expression, dfa
// finds lines quickly and matches that span lines, index tells from the literals
// what need not be read.
package match

import (
	"errors"
	"regexp/syntax"
	"slices"
	"sync"

	"mcp-toolset/internal/search/dfa"
	"mcp-toolset/internal/search/index"
	"mcp-toolset/internal/search/pattern"
)

// Options are what a caller says beside the pattern.
type Options struct {
	Fold      bool // upper and lower case are the same
	Multiline bool // a match may span lines, and a dot matches a newline
}

// Matcher finds the lines that match. It is safe for concurrent use.
type Matcher struct {
	lines  *dfa.DFA            // nil: spans, or declined
	text   *dfa.Text           // instead of lines
	plain  bool                // it is a literal, and lines finds it
	spans  bool                // a match may span lines
	filter *index.Query        // nil: nothing to filter by
	must   []need              // of a pattern that spans lines
	rare   func() (need, bool) // see Near
}

// Compile reads a pattern. An error that a caller can mend is a
// *pattern.Error.
func Compile(src string, o Options) (*Matcher, error) {
	p, err := pattern.Parse(src, pattern.Options(o))
	if err != nil {
		return nil, err
	}
	required := pattern.Required(p.Tree)
	m := &Matcher{filter: filter(required), spans: o.Multiline && takesNewline(p.Tree)}
	m.rare = sync.OnceValues(m.rarest)
	if !m.spans {
		if m.lines, err = finder(p, required); err == nil {
			_, _, m.plain = p.Literal()
			return m, nil
		} else if !errors.Is(err, dfa.ErrDeclined) {
			return nil, err
		}
	}
	if m.text, err = dfa.NewText(p.Tree, m.spans); err != nil {
		return nil, err
	}
	if m.spans {
		m.must = needs(required)
	}
	return m, nil
}

// finder makes the finder of lines.
func finder(p *pattern.Pattern, required pattern.Literals) (*dfa.DFA, error) {
	if text, fold, ok := p.Literal(); ok {
		return dfa.Literal(text, fold)
	}
	var o dfa.Options
	if len(required) > 0 { // the most selective clause first
		for _, l := range required[0] {
			o.Must = append(o.Must, l.Text)
			o.MustFold = o.MustFold || l.Fold
		}
	}
	return dfa.New(p.Tree, o)
}

func filter(required pattern.Literals) *index.Query {
	var clauses [][]index.Literal
	for _, c := range required {
		var clause []index.Literal
		for _, l := range c {
			clause = append(clause, index.Literal(l))
		}
		clauses = append(clauses, clause)
	}
	q, _ := index.NewQuery(clauses)
	return q
}

// takesNewline reports whether a tree can match a newline: one that cannot
// matches within lines, whatever it was read for.
func takesNewline(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar:
		return true
	case syntax.OpLiteral:
		return slices.Contains(re.Rune, '\n')
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			if re.Rune[i] <= '\n' && '\n' <= re.Rune[i+1] {
				return true
			}
		}
	}
	return slices.ContainsFunc(re.Sub, takesNewline)
}

// Spanning reports whether a match may span lines: then a text must be given
// as a whole.
func (m *Matcher) Spanning() bool { return m.spans }

// Filter is the literals that a line must contain, or a text if a match may
// span lines; nil if nothing is known.
func (m *Matcher) Filter() *index.Query { return m.filter }
