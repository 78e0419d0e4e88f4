package plain

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxShown is the limit of one path or rule in a text, in bytes. It is longer than
// nearly all real paths, but short enough that a hostile one cannot bury the sentence.
const maxShown = 240

// Quote makes text from outside safe to read. It returns printable text as it is and
// quotes any other, so that control characters, terminal escapes, bidi controls,
// invisible characters and invalid UTF-8 appear as escapes. It leaves out the middle
// of a long text.
func Quote(s string) string {
	if !Printable(s) {
		// A byte becomes at most ten when quoted. The rest of a huge text is not needed.
		s = strconv.Quote(shorten(s, 4*maxShown))
	}
	return shorten(s, maxShown)
}

// Printable reports whether every character of s is printable. It also rejects a leading
// quote, which could be mistaken for quoting.
func Printable(s string) bool {
	if s == "" || s[0] == '"' || !utf8.ValidString(s) {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) < 0
}

// Cut returns at most n characters of s, of which the last is an ellipsis if s has more.
func Cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:max(0, n-1)]) + "…"
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

// maxKey is the limit of the text that Key returns, in bytes.
const maxKey = 40

// Key makes a key or name from outside safe to show. It quotes s unless it looks like
// an identifier, and removes the middle of a long one, so that a text in which it
// occurs cannot carry a message from the author of s.
func Key(s string) string {
	if s == "" || strings.ContainsFunc(s, notInKeys) {
		s = strconv.Quote(shorten(s, 4*maxKey))
	}
	return shorten(s, maxKey)
}

func notInKeys(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.$", r)
}
