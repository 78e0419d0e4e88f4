package ospath

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fold returns text in one case where the style ignores it. Texts that a file
// system takes for one name are equal when folded: two letters are one if they
// have the same upper-case letter.
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
