package dfa

import (
	"unicode"
	"unicode/utf8"
)

// Literal returns a DFA for the lines that contain a text, whose bytes need not be
// valid UTF-8. With fold the case is ignored, as in unicode.SimpleFold. Every line
// contains the empty text; no line contains a text with a '\n'. The error wraps
// ErrDeclined: the text has more than about 30,000 bytes.
func Literal(text string, fold bool) (*DFA, error) {
	c := newCompiler(true)
	f := c.empty()
	for i := 0; i < len(text) && c.err == nil; {
		r, n := utf8.DecodeRuneInString(text[i:])
		var next frag
		switch {
		case r == utf8.RuneError && n == 1:
			c.prog.raw = true
			pc := c.emit(inst{op: opJump})
			next = frag{c.emit(inst{op: opBytes, edges: []edge{{text[i], text[i], pc}}}), []uint32{pc * 2}, false}
		case fold:
			next = c.class(foldings(r))
		default:
			next = c.class([]rune{r, r})
		}
		c.patch(f.out, next.start)
		f.out = next.out
		i += n
	}
	prog, err := c.finish(f)
	if err != nil {
		return nil, err
	}
	d := newDFA(prog)
	d.m.filter = newFilter([]string{text}, fold, true)
	return d, nil
}

// foldings returns the set of runes that fold to r, as a class.
func foldings(r rune) []rune {
	set := []rune{r, r}
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		set = append(set, f, f)
	}
	return set
}
