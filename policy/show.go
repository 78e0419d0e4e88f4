package policy

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxShown bounds one path or rule in a text, in bytes: longer than nearly any
// real path, short enough that a hostile one cannot drown the sentence.
const maxShown = 240

// show makes text from outside safe to read: as it is when all of it is
// printable, else quoted, so that control characters, terminal escapes, bidi
// controls, invisible characters and invalid UTF-8 stand as escapes. The middle
// of a long text is left out.
func show(s string) string {
	if !plain(s) {
		// Each byte becomes at most ten; the rest of a huge text is not needed.
		s = strconv.Quote(shorten(s, 4*maxShown))
	}
	return shorten(s, maxShown)
}

// plain reports whether every character of s shows, and shows as itself. A
// quote at the beginning could be mistaken for quoting.
func plain(s string) bool {
	if s == "" || s[0] == '"' || !utf8.ValidString(s) {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) < 0
}

// shorten leaves the middle out of s when it is longer than limit bytes. It
// cuts between characters.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head, tail := limit/2, len(s)-limit/2
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + "…" + s[tail:]
}
