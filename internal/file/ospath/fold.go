package ospath

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fold returns text with differences in case removed, if the style ignores case. Two
// letters are equal when folded if they have the same upper-case letter. Names that a
// file system takes for the same are therefore equal when folded.
func (s Style) Fold(text string) string {
	if !s.fold {
		return text
	}
	for i := 0; i < len(text); i++ {
		if b := text[i]; b >= utf8.RuneSelf || b >= 'A' && b <= 'Z' {
			return strings.Map(func(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }, text)
		}
	}
	return text
}
