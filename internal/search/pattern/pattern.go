// Package pattern parses regular expressions in ripgrep's syntax.
//
// The result is a tree of regexp/syntax with a meaning that does not depend on flags:
// flags are resolved into nodes, classes are explicit ranges of runes, counted repeats
// are written out, and groups do not capture. Required and Literal derive from the tree
// the texts that a matching line must contain.
//
// The meaning:
//   - It is that of the Rust crate regex with Unicode on, as ripgrep configures it: ^
//     and $ match at the ends of lines.
//   - $ also matches before a carriage return that ends a line.
//   - OpWordBoundary and OpNoWordBoundary are Unicode boundaries: between runes of \w
//     and others. Package regexp treats them as ASCII.
//   - Without Multiline no node matches a newline.
//   - (?-u) restricts \w, \d and \s to ASCII. A boundary stays Unicode, and a dot and a
//     negated class still match whole characters.
//
// Some forms that ripgrep rejects are accepted with the meaning that users intend: a {
// that does not begin a count is literal, \Q..\E quotes, a{,3} is a{0,3}. Possessive
// quantifiers, which ripgrep silently treats as greedy, are rejected.
package pattern

import (
	"regexp/syntax"
	"unicode/utf8"
)

// Limits. Each is checked before the limited object is built.
const (
	maxPattern = 8 << 10 // bytes of a pattern: long lists of words fit, and the work per byte stays small
	maxDepth   = 100     // nesting of groups or classes: the parser recurses, and a stack overflow cannot be recovered
	maxHeight  = 500     // of the tree: regexp/syntax rejects 1,000, and adds levels for common prefixes of alternatives
	maxSize    = 20_000  // instructions of the program: ten times .{0,2000}; matching costs up to this much per byte
	maxRunes   = 1 << 20 // ends of ranges in all classes, with repeats: 680 times \w
)

// Options holds the options of a pattern.
type Options struct {
	Fold      bool // ignore case, as (?i)
	Multiline bool // a match may span lines, and a dot matches a newline
}

// Pattern is a parsed pattern. It does not change.
type Pattern struct {
	// Tree is the simplified expression. It has no OpCapture and no OpRepeat.
	Tree *syntax.Regexp
}

// Parse parses a pattern in ripgrep's syntax. An error is an *Error.
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
