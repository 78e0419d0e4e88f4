// Package plain makes text from outside, such as a file's name, safe to show
// in a sentence: nothing in it can end the line, hide, or drive a terminal.
package plain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
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
	if printsASCII(s) || strings.IndexFunc(s, hidden) < 0 && utf8.ValidString(s) {
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

// Lines makes each line of s plain as Text does, and keeps line breaks and tabs.
func Lines(s string) string {
	var b strings.Builder
	for rest, more := s, true; more; {
		i := strings.IndexAny(rest, "\n\t")
		if more = i >= 0; !more {
			b.WriteString(Text(rest))
			continue
		}
		b.WriteString(Text(rest[:i]) + rest[i:i+1])
		rest = rest[i+1:]
	}
	return b.String()
}

// printsASCII tells whether s has only ASCII that prints, as most texts do.
func printsASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// JSON returns a JSON text in one line, in which what does not print is escaped
// as JSON does: the value is the same. What is not valid UTF-8 becomes U+FFFD.
func JSON(raw []byte) (string, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return "", err
	}
	s := compact.String()
	if strings.IndexFunc(s, hidden) < 0 && utf8.ValidString(s) {
		return s, nil
	}
	var b strings.Builder
	for _, r := range s {
		switch high, low := utf16.EncodeRune(r); {
		case !hidden(r):
			b.WriteRune(r)
		case high != utf8.RuneError:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String(), nil
}

func hidden(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }
