package policy

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxShown is the limit of one path or rule in a text, in bytes. It is longer than
// nearly all real paths, but short enough that a hostile one cannot bury the sentence.
const maxShown = 240

// show makes text from outside safe to read. It returns printable text as it is and
// quotes any other, so that control characters, terminal escapes, bidi controls,
// invisible characters and invalid UTF-8 appear as escapes. It leaves out the middle
// of a long text.
func show(s string) string {
	if !plain(s) {
		// A byte becomes at most ten when quoted. The rest of a huge text is not needed.
		s = strconv.Quote(shorten(s, 4*maxShown))
	}
	return shorten(s, maxShown)
}

// plain reports whether every character of s is printable. It also rejects a leading
// quote, which could be mistaken for quoting.
func plain(s string) bool {
	if s == "" || s[0] == '"' || !utf8.ValidString(s) {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) < 0
}

// shorten removes the middle of s if s is longer than limit bytes. It never splits a
// character.
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
