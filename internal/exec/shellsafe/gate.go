package shellsafe

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// continued is the reason to refuse a text of which the parser and bash may join lines
// differently.
const continued = "a line ends with a backslash"

// gate checks a text before it is parsed. It returns the reason for refusing the
// text, or "", and whether the parser may read a refused text nevertheless.
//
// The parser and bash disagree on CR, which could hide a command. The other characters
// could hide one from the user.
func gate(s string) (why string, parse bool) {
	code := weight(s)
	if len(code) > MaxBytes || len(s) > maxText {
		return "it is longer than 16 KiB", false
	}
	if !utf8.ValidString(s) {
		return "it is not valid UTF-8", false
	}
	if why := nesting(code); why != "" {
		return why, false
	}
	for _, r := range s {
		if r < utf8.RuneSelf && r >= ' ' && r != 0x7f || r == '\n' || r == '\t' {
			continue
		}
		if why := refusedRune(r); why != "" {
			return why, r != 0
		}
	}
	if (len(s)-len(strings.TrimRight(s, "\\")))%2 == 1 {
		return continued, true
	}
	return "", false
}

// refusedRune returns the reason why a character must not occur in a command, or
// "".
func refusedRune(r rune) string {
	switch {
	case r == '\n' || r == '\t':
		return ""
	case r == 0:
		return "it holds a NUL"
	case r == '\r':
		return "it holds a carriage return"
	case unicode.Is(unicode.Cc, r):
		return "it holds a control character"
	case r < utf8.RuneSelf || r == 0xFE0F: // the latter follows many emoji
		return ""
	case unicode.In(r, unicode.Z, unicode.White_Space) || r == 0x2800:
		return "it holds white space that is not ASCII"
	case unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return "it holds an invisible character"
	}
	return ""
}

// nesting refuses a text whose tree may be deep: the parser recurses, and a stack
// overflow ends the program. It ignores quotes. Brackets in quoted text can cause a
// refusal; closing ones in quoted text cannot hide more depth than MaxBytes allows.
func nesting(s string) string {
	const deep = "it is nested too deeply"
	depth, ticks, docs := 0, 0, 0
	keywords, word := 0, 0
	for i := 0; i <= len(s); i++ {
		var b byte = '\n'
		if i < len(s) {
			b = s[i]
		}
		switch b {
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth = max(0, depth-1)
		case '`':
			ticks++
		case '<':
			if i+1 < len(s) && s[i+1] == '<' {
				docs++
			}
		}
		if depth > maxNesting || ticks > 2*maxNesting || docs > 2*maxNesting {
			return deep
		}
		if 'a' <= b && b <= 'z' || b == '!' {
			continue
		}
		switch s[word:i] {
		case "if", "while", "until", "for", "case", "select", "time", "coproc", "function", "!":
			keywords++
		case "fi", "done", "esac":
			keywords = max(0, keywords-1)
		}
		if keywords > 2*maxNesting {
			return deep
		}
		word = i + 1
	}
	return ""
}
