package dfa

import "unicode"

// wordTables together define a word character: Unicode Technical Standard 18, annex C,
// "word", which is also ripgrep's \w. L, Nl and Other_Alphabetic make up the property
// Alphabetic.
var wordTables = []*unicode.RangeTable{
	unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.M, unicode.Nd, unicode.Pc, unicode.Join_Control,
}

// IsWord reports whether r is a word character: Alphabetic, Mark, Decimal_Number,
// Connector_Punctuation or Join_Control. Word boundaries are between a rune that is and
// one that is not.
func IsWord(r rune) bool {
	if r < 0x80 {
		return r >= 0 && isWordByte(byte(r))
	}
	return unicode.In(r, wordTables...)
}

func isWordByte(b byte) bool {
	return b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9' || b == '_'
}
