// Package plain makes text from outside, such as a file's name, safe to show
// in a sentence: nothing in it can end the line, hide, or drive a terminal.
package plain

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// most is the longest text shown, in characters: longer than any path a person
// can read.
const most = 500

// Line is Text in which a text too long is cut in the middle.
func Line(s string) string {
	s = Text(s)
	if len(s) <= most {
		return s
	}
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most/2]) + "…" + string(r[len(r)-most/2:])
}

// Text returns s in one line. Characters that do not print (control, format
// and bidirectional characters, invalid UTF-8) appear as Go escapes.
func Text(s string) string {
	if strings.IndexFunc(s, hidden) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				b.WriteString(`\x` + strconv.FormatUint(uint64(s[i]), 16))
				continue
			}
		}
		if hidden(r) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func hidden(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }
