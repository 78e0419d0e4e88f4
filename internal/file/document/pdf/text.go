package pdf

import (
	"strings"
	"unicode"
)

const (
	// unmapped is the character that pdfium writes for a glyph without a character, and
	// for a hyphen that ended a line.
	unmapped = '\uFFFE'
	// unreadable is the share of lost characters, as one in so many, from which a text is
	// useless: its font does not define the meaning of its glyphs.
	unreadable = 2
)

// clean converts the text that pdfium returns for a page. Lines end in LF without
// preceding blanks, and other control characters stand for lost characters. hyphen reports whether the
// character at an index is a hyphen that ended a line. pdfium joins the two parts of the
// word; clean splits them again, as they are printed.
func clean(s string, hyphen func(index int) bool) string {
	var b strings.Builder
	b.Grow(len(s))
	index := -1
	for _, r := range s { // invalid UTF-8 becomes U+FFFD
		index++
		switch {
		case r == unmapped && hyphen(index):
			b.WriteString("-\n")
		case r == '\r', r == 0, r == '\uFFFF':
		case r == unmapped, unicode.IsControl(r) && r != '\n' && r != '\t': // the code of a glyph without a character
			b.WriteRune(unicode.ReplacementChar)
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

// readable reports whether there is text, and most of it is known characters rather than
// unmapped glyphs.
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
