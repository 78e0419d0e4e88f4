// Package plain makes untrusted text, such as a file's name, safe to show in a
// sentence. Nothing in the result can end the line, be hidden, or control a
// terminal.
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

// most is the limit of a text shown, in characters. It is longer than any path
// that people can read.
const most = 500

// Line is like Text, but removes the middle of a text that is too long.
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

// Text returns s as one line. Unprintable characters (control, format and
// bidirectional characters, invalid UTF-8) become Go escapes.
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

// Lines applies Text to each line of s. Line breaks and tabs are unchanged.
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

// printsASCII reports whether s consists of printable ASCII only, as most texts
// do.
func printsASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// JSON returns a JSON text on one line. Unprintable characters become JSON
// escapes, so the value is the same. Invalid UTF-8 becomes U+FFFD.
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
