// Package pattern reads regular expressions in ripgrep's syntax.
//
// The result is a tree of regexp/syntax that has a plain meaning of its own:
// flags are resolved into nodes, classes are explicit ranges of runes, counted
// repeats are written out, groups do not capture. From the tree come the texts
// that a line must contain to match (Required, Literal).
//
// Rules of the meaning:
//   - It is that of the Rust crate regex with Unicode on, as ripgrep sets it up:
//     ^ and $ hold at the ends of lines.
//   - $ also holds before a carriage return that ends a line.
//   - OpWordBoundary and OpNoWordBoundary are Unicode boundaries: between runes
//     of \w and others. Package regexp takes them as ASCII.
//   - Without Multiline no node matches a newline.
//   - (?-u) narrows \w, \d and \s to ASCII. A boundary stays Unicode, and a dot
//     and a negated class stay whole characters.
//
// Forms that ripgrep refuses and people write are taken as they are meant:
// a { that begins no count is text, \Q..\E quotes, a{,3} is a{0,3}.
// Possessive quantifiers, which ripgrep silently reads as greedy, are refused.
package pattern

import (
	"regexp/syntax"
	"unicode/utf8"
)

// Limits. All are checked before the thing limited is built.
const (
	maxPattern = 8 << 10 // bytes of a pattern: long lists of words fit, and work per byte stays small
	maxDepth   = 100     // groups or classes inside each other: the parser recurses, and a stack overflow cannot be recovered
	maxHeight  = 500     // of the tree: regexp/syntax refuses 1,000, and reads common prefixes of alternatives as further levels
	maxSize    = 20_000  // instructions of the program: ten times .{0,2000}; matching costs up to this much for every byte
	maxRunes   = 1 << 20 // ends of ranges in all classes, repeats counted: 680 times \w
)

// Options are what a caller says beside the pattern.
type Options struct {
	Fold      bool // upper and lower case are the same, as (?i)
	Multiline bool // a match may span lines, and a dot matches a newline
}

// Pattern is a pattern that was read. It is not changed after that.
type Pattern struct {
	// Tree is the simplified expression. It has no OpCapture and no OpRepeat.
	Tree *syntax.Regexp
}

// Parse reads a pattern in ripgrep's syntax. An error is an *Error.
func Parse(src string, o Options) (p *Pattern, err error) {
	if len(src) > maxPattern {
		return nil, tooLong(len(src))
	}
	for i, r := range src {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(src[i:]); n == 1 {
				return nil, newError(src, i, "the pattern is not valid UTF-8", "Send the text in UTF-8.")
			}
		}
	}
	ps := &parser{src: src, line: !o.Multiline, newline: -1,
		flags: flags{fold: o.Fold, lines: true, dotNewline: o.Multiline, unicode: true}}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			p, err = nil, e
		}
	}()
	tree := ps.pattern()
	return &Pattern{Tree: tree}, nil
}
