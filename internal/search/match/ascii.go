package match

import (
	"regexp/syntax"
	"slices"
	"unicode"
)

// isASCII reports whether a tree matches only ASCII characters, and matches them whatever
// other characters are around them. It may report false for such a tree.
func isASCII(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		fold := re.Flags&syntax.FoldCase != 0 // then k and s match U+212A and U+017F, too
		return !slices.ContainsFunc(re.Rune, func(r rune) bool { return r > unicode.MaxASCII || fold && (r|0x20 == 'k' || r|0x20 == 's') })
	case syntax.OpCharClass:
		return len(re.Rune) > 0 && re.Rune[len(re.Rune)-1] <= unicode.MaxASCII
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText:
		return true
	case syntax.OpCapture, syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat, syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !isASCII(sub) })
	case syntax.OpConcat:
		for i, sub := range re.Sub {
			// Beside a word character of the pattern, undecoded bytes make more boundaries, not fewer.
			inWord := sub.Op == syntax.OpWordBoundary && (i > 0 && isWord(re.Sub[i-1], true) || i+1 < len(re.Sub) && isWord(re.Sub[i+1], false))
			if !inWord && !isASCII(sub) {
				return false
			}
		}
		return true
	}
	return false
}

// isWord reports whether each match of a tree begins or ends with an ASCII word character.
func isWord(re *syntax.Regexp, end bool) bool {
	edge := func(n int) int {
		if end {
			return n - 1
		}
		return 0
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune) > 0 && isWordRange(re.Rune[edge(len(re.Rune))], re.Rune[edge(len(re.Rune))])
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			if !isWordRange(re.Rune[i], re.Rune[i+1]) {
				return false
			}
		}
		return len(re.Rune) > 0
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
		return len(re.Sub) > 0 && isWord(re.Sub[edge(len(re.Sub))], end)
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !isWord(sub, end) })
	}
	return false
}

// isWordRange reports whether a range has only ASCII word characters.
func isWordRange(lo, hi rune) bool {
	for _, r := range [][2]rune{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}} {
		if r[0] <= lo && hi <= r[1] {
			return true
		}
	}
	return false
}
