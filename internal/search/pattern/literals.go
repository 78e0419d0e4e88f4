package pattern

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Literals is a necessary condition in conjunctive form: a text that matches contains
// at least one literal of every clause. The text is the line, or with Multiline the
// file; the literals lie inside the match. The most selective clause comes first. If
// Literals is empty, no condition is known.
type Literals []Clause

// Clause is a choice of literals, none of them empty.
type Clause []Literal

// Literal is a text to search for.
type Literal struct {
	Text string // UTF-8
	// Fold compares by Unicode's simple folding (unicode.SimpleFold), rune by rune. Two
	// ASCII letters have partners beyond ASCII: k has U+212A (KELVIN SIGN) and s has
	// U+017F (LONG S). A partner may differ in length.
	Fold bool
}

// Limits of the analysis. Its result is always valid, but may be weaker.
const (
	maxChoice  = 16      // literals of a clause: what a set search does well
	maxLiteral = 128     // bytes of a literal: longer ones are not more selective
	maxClauses = 8       // of a condition: each is a lookup in an index
	maxWork    = 500_000 // comparisons of literals in an analysis, about 10 ms
	maxWeak    = 3       // bytes: a shorter literal is in most files
	maxPairs   = 4       // clauses combined from each side of an alternative: the time is its square
)

// work bounds the time of an analysis.
type work struct{ left int } // comparisons of literals

// facts describes the texts that a tree matches. Its lists hold at most maxChoice
// possible literals.
type facts struct {
	exact          bool      // the matches are exactly those of prefix
	prefix, suffix []Literal // every match begins, ends with one; may contain ""
	must           Literals
}

var nothing = []Literal{{}}

func unknown() facts { return facts{prefix: nothing, suffix: nothing} }
func exactly(list []Literal) facts {
	return facts{exact: true, prefix: list, suffix: list}
}

// Required returns literals that every match of a tree contains. The tree must not have
// counted repeats; those of Parse have none.
func Required(re *syntax.Regexp) Literals {
	w := &work{maxWork}
	return w.clauses(w.analyse(re)).best(maxClauses)
}

// Literal returns the text if it is the whole pattern, and whether its case is ignored.
// ok is false if the pattern is something else or empty.
func (p *Pattern) Literal() (text string, fold, ok bool) {
	if p.Tree.Op != syntax.OpLiteral {
		return "", false, false
	}
	return string(p.Tree.Rune), p.Tree.Flags&syntax.FoldCase != 0, true
}

// clauses returns all facts as clauses.
func (w *work) clauses(f facts) Literals {
	return w.with(w.with(f.must, f.prefix), f.suffix)
}

// with adds a clause, unless it is trivial or redundant. It removes clauses that the
// new one makes redundant.
func (w *work) with(ls Literals, c Clause) Literals {
	if len(c) == 0 || slices.ContainsFunc(c, func(l Literal) bool { return l.Text == "" }) {
		return ls
	}
	for _, old := range ls {
		w.left -= 2 * len(old) * len(c)
	}
	if w.left < 0 {
		return ls // weaker than possible
	}
	if slices.ContainsFunc(ls, func(old Clause) bool { return c.needless(old) }) {
		return ls
	}
	out := slices.DeleteFunc(slices.Clone(ls), func(old Clause) bool { return old.needless(c) })
	out = append(out, c)
	if len(out) > 2*maxClauses {
		worst := 0
		for i := range out {
			if out[i].worth() < out[worst].worth() {
				worst = i
			}
		}
		out = slices.Delete(out, worst, worst+1)
	}
	return out
}

// best returns at most n clauses, the most selective first.
func (ls Literals) best(n int) Literals {
	out := slices.Clone(ls)
	slices.SortStableFunc(out, func(a, b Clause) int { return b.worth() - a.worth() })
	return out[:min(len(out), n)]
}

// needless reports whether c is redundant beside d. A clause that follows from another
// may still be useful: fewer literals are found faster.
func (c Clause) needless(d Clause) bool {
	return d.implies(c) && (len(d) <= len(c) || c.shortest() < maxWeak)
}

// implies reports whether every literal of c contains one of d.
func (c Clause) implies(d Clause) bool {
	for _, l := range c {
		if !slices.ContainsFunc(d, func(m Literal) bool {
			return strings.Contains(l.Text, m.Text) && (m.Fold || !l.Fold)
		}) {
			return false
		}
	}
	return true
}

// worth orders clauses: first by the shortest literal, up to the length beyond which it
// is of no more help, then by the number of literals.
func (c Clause) worth() int { return min(c.shortest(), 12)*2*maxChoice - len(c) }

// shortest returns the length of the shortest literal. Folded ones count for less.
func (c Clause) shortest() int {
	short := maxLiteral
	for _, l := range c {
		n := len(l.Text)
		if l.Fold {
			n = n * 3 / 4
		}
		short = min(short, n)
	}
	return short
}

// analyse returns the facts of a tree.
func (w *work) analyse(re *syntax.Regexp) facts {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return exactly(nothing)
	case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return exactly(nothing)
	case syntax.OpLiteral:
		return w.ofLiteral(re)
	case syntax.OpCharClass:
		return ofClass(set(re.Rune))
	case syntax.OpCapture:
		return w.analyse(re.Sub[0])
	case syntax.OpQuest:
		f := w.analyse(re.Sub[0])
		if re.Flags&syntax.NonGreedy != 0 {
			return w.either(exactly(nothing), f)
		}
		return w.either(f, exactly(nothing))
	case syntax.OpPlus:
		f := w.analyse(re.Sub[0])
		f.must, f.exact = w.clauses(f), false
		return f
	case syntax.OpConcat:
		f := exactly(nothing)
		for _, sub := range re.Sub {
			f = w.join(f, w.analyse(sub))
		}
		return f
	case syntax.OpAlternate:
		f := w.analyse(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			f = w.either(f, w.analyse(sub))
		}
		return f
	}
	// A star, any rune, or $: a carriage return may be between it and the next part.
	return unknown()
}

// ofLiteral returns the facts of a literal. A single folded rune is written out: its
// cases are searched for exactly.
func (w *work) ofLiteral(re *syntax.Regexp) facts {
	fold := re.Flags&syntax.FoldCase != 0
	if fold && len(re.Rune) == 1 {
		return ofClass(rangeSet(re.Rune[0], re.Rune[0]).folded())
	}
	if slices.Contains(re.Rune, unicode.ReplacementChar) {
		return unknown() // package regexp, the oracle of the tests, matches an invalid byte with it
	}
	text := string(re.Rune)
	if len(text) <= maxLiteral {
		return exactly([]Literal{{text, fold}})
	}
	head, tail := maxLiteral, len(text)-maxLiteral
	for !utf8.RuneStart(text[head]) {
		head--
	}
	for !utf8.RuneStart(text[tail]) {
		tail++
	}
	f := facts{prefix: []Literal{{text[:head], fold}}, suffix: []Literal{{text[tail:], fold}}}
	f.must = w.clauses(f)
	return f
}

// ofClass returns the facts of a class, with its runes if it is small.
func ofClass(s set) facts {
	if s.count() > maxChoice || s.has(unicode.ReplacementChar) {
		return unknown()
	}
	var list []Literal
	for i := 0; i < len(s); i += 2 {
		for r := s[i]; r <= s[i+1]; r++ {
			list = append(list, Literal{Text: string(r)})
		}
	}
	return exactly(list)
}

// either returns the facts of an alternative.
func (w *work) either(a, b facts) facts {
	f := facts{exact: a.exact && b.exact}
	f.prefix, f.suffix = unite(a.prefix, b.prefix), unite(a.suffix, b.suffix)
	if f.exact && f.prefix != nil {
		return f
	}
	// Every clause of one side or every clause of the other: combine the best of each,
	// and use the best combinations that fit.
	f.exact = false
	for _, c := range w.clauses(a).best(maxPairs) {
		for _, d := range w.clauses(b).best(maxPairs) {
			if both := unite(c, d); both != nil {
				f.must = w.with(f.must, both)
			}
		}
	}
	if f.prefix == nil {
		f.prefix = nothing
	}
	if f.suffix == nil {
		f.suffix = nothing
	}
	return f
}

// unite returns the union of both lists, or nil if that exceeds maxChoice.
func unite(a, b []Literal) []Literal {
	out := slices.Clone(a)
	for _, l := range b {
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	if len(out) > maxChoice {
		return nil
	}
	return out
}

// join returns the facts of a followed by b.
func (w *work) join(a, b facts) facts {
	across := cross(a.suffix, b.prefix)
	if a.exact && b.exact && across != nil {
		return exactly(across)
	}
	f := facts{prefix: a.prefix, suffix: b.suffix, must: w.clauses(a)}
	for _, c := range w.clauses(b) {
		f.must = w.with(f.must, c)
	}
	if across != nil {
		f.must = w.with(f.must, across)
		if a.exact {
			f.prefix = across
		}
		if b.exact {
			f.suffix = across
		}
	}
	return f
}

// cross returns every literal of a followed by every one of b, or nil if that exceeds a
// limit.
func cross(a, b []Literal) (out []Literal) {
	if len(a)*len(b) > maxChoice {
		return nil
	}
	for _, x := range a {
		for _, y := range b {
			if len(x.Text)+len(y.Text) > maxLiteral {
				return nil
			}
			l := Literal{x.Text + y.Text, x.Fold || y.Fold}
			if !slices.Contains(out, l) {
				out = append(out, l)
			}
		}
	}
	return out
}
