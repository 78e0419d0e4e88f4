package pdf

import (
	"strings"
	"unicode"
)

const (
	// unmapped is what pdfium writes for a glyph that stands for no character,
	// and for a hyphen that ended a line.
	unmapped = '\uFFFE'
	// unreadable is the part of a text's characters, as one in so many, from
	// which it is no use: its font does not tell what its glyphs mean.
	unreadable = 2
)

// clean makes text of what pdfium returns for a page: lines end in LF and have
// no blanks before it, and there are no control characters. hyphen reports
// whether the character at an index is a hyphen that ended a line; pdfium joins
// the two parts of the word, so here they are parted again as they are printed.
func clean(s string, hyphen func(index int) bool) string {
	var b strings.Builder
	b.Grow(len(s))
	index := -1
	for _, r := range s { // what is not valid UTF-8 becomes U+FFFD
		index++
		switch {
		case r == unmapped && hyphen(index):
			b.WriteString("-\n")
		case r == unmapped:
			b.WriteRune(unicode.ReplacementChar)
		case r == '\n', r == '\t':
			b.WriteRune(r)
		case unicode.IsControl(r), r == '\uFFFF':
		default:
			b.WriteRune(r)
		}
	}
	lines := strings.Split(b.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRightFunc(line, unicode.IsSpace)
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// readable reports whether there is text, and most of it is characters rather
// than glyphs that nothing is known of.
func readable(s string) bool {
	all, lost := 0, 0
	for _, r := range s {
		if unicode.IsSpace(r) {
			continue
		}
		all++
		if r == unicode.ReplacementChar || unicode.Is(unicode.Co, r) {
			lost++
		}
	}
	return all > 0 && lost*unreadable < all
}
