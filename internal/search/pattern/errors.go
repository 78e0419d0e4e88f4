package pattern

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcp-toolset/internal/fault"
)

// Error says what is wrong with a pattern, and where.
type Error struct {
	fault.Fault
	Offset int // in bytes, where the wrong part begins; at most the pattern's length
}

// Unwrap gives the fault, for errors.As.
func (e *Error) Unwrap() error { return &e.Fault }

// shown is how many characters of the pattern an error repeats.
const shown = 20

// newError makes the error of what is wrong at a byte offset. The position in
// its text counts characters from 1.
func newError(src string, offset int, fact, next string) *Error {
	offset = min(offset, len(src))
	place := fmt.Sprintf(" at position %d", utf8.RuneCountInString(src[:offset])+1)
	switch rest := []rune(src[offset:]); {
	case len(rest) == 0:
		place = " at the end of the pattern"
	case len(rest) > shown:
		place += ", \"" + visible(rest[:shown]) + "...\""
	default:
		place += ", \"" + visible(rest) + "\""
	}
	return &Error{fault.Fault{Fact: fact + place, Next: next}, offset}
}

// visible is text as it is, backslashes too, but for what cannot be seen.
func visible(rs []rune) string {
	var b strings.Builder
	for _, r := range rs {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// tooLong is the error of a pattern over maxPattern.
func tooLong(n int) *Error {
	return &Error{fault.Fault{
		Fact: fmt.Sprintf("the pattern has %d bytes; at most %d are read", n, maxPattern),
		Next: "Search for parts of it in several calls.",
	}, maxPattern}
}

// fail ends the parsing. Parse recovers it.
func (p *parser) fail(offset int, fact, next string) {
	panic(newError(p.src, offset, fact, next))
}

// tooBig ends the parsing of what goes over a limit.
func (p *parser) tooBig(offset int) {
	p.fail(offset, "the pattern is too large when its repeats are written out: the repeat", `Use a smaller count, or * or +.`)
}
