// Package match finds the lines of a text that match a pattern. It combines the
// packages around it: pattern parses the expression, dfa finds lines fast and matches
// that span lines, and index finds from the literals what need not be read.
package match

import (
	"errors"
	"regexp/syntax"
	"slices"
	"sync"
	"unicode"

	"mcp-toolset/internal/search/dfa"
	"mcp-toolset/internal/search/index"
	"mcp-toolset/internal/search/pattern"
)

// Options holds the options of a pattern.
type Options struct {
	Fold      bool // ignore case
	Multiline bool // a match may span lines, and a dot matches a newline
}

// Matcher finds the lines that match. It is safe for concurrent use.
type Matcher struct {
	lines  *dfa.DFA            // nil if spans is set or dfa declined
	text   *dfa.Text           // used instead of lines
	plain  bool                // the pattern is a literal that lines finds
	ascii  bool                // see ASCII
	spans  bool                // a match may span lines
	filter *index.Query        // nil: nothing to filter by
	must   []need              // of a pattern that spans lines
	rare   func() (need, bool) // see Near
}

// Compile parses a pattern. An error in the pattern is a *pattern.Error.
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
			var text string
			text, _, m.plain = p.Literal()
			m.ascii = isASCII(p.Tree) || m.plain && !slices.ContainsFunc([]rune(text), func(r rune) bool { return r > unicode.MaxASCII })
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

// finder returns the DFA that finds lines.
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

// takesNewline reports whether a tree can match a newline. One that cannot matches
// within lines, even with Multiline.
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

// Spanning reports whether a match may span lines. Then the text must be passed as a
// whole.
func (m *Matcher) Spanning() bool { return m.spans }

// ASCII reports whether all that the pattern matches is ASCII, whatever is around it. Older
// encodings have these bytes in common with UTF-8.
func (m *Matcher) ASCII() bool { return m.ascii }

// Filter returns the literals that a line must contain, or the text if a match may span
// lines. It returns nil if none are known.
func (m *Matcher) Filter() *index.Query { return m.filter }
