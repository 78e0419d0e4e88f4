package index

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A gram is hashed by one multiplication. The upper 16 bits of the product are its
// place in the map. The factors are odd and have no pattern, as Knuth requires for
// multiplicative hashing (TAOCP 3, 6.4): 2^32 divided by the golden ratio and a prime
// of the xxHash family.
const (
	factor3 = 0x9E3779B1
	factor4 = 0x85EBCA77

	// foldCase sets the bit in which the cases of an ASCII letter differ. It also
	// merges some other bytes, such as [ and {. That costs little; to identify letters
	// would cost more than the rest of the hash.
	foldCase = 0x20202020
)

// hash3 hashes the first three bytes of v in folded case. hash4 hashes all four, of
// which the first is not folded. v is in little-endian order.
func hash3(v uint32) uint32 { return (v | foldCase) << 8 * factor3 >> 16 }
func hash4(v uint32) uint32 { return (v | foldCase&^0xff) * factor4 >> 16 }

// gram is two places in the map, which may be the same. A block that contains the gram
// has at least one of them set.
type gram struct {
	places [2]uint16
	odd    bool // in an odd block neither need be set
}

// ranked is a gram with the information of its bytes, in bits.
type ranked struct {
	gram
	info int
}

// grams returns grams that are in every block in which l starts, those first that are
// likely to be missing in other blocks. info is an estimate in bits of how rare l is.
// If there are no grams, l cannot be looked up.
//
// In folded case only ASCII grams are used. Their letters match only themselves, except
// k and s in an odd block.
func (l Literal) grams() (grams []gram, info int) {
	text := l.prefix()
	var all []ranked
	for i := range len(text) - 2 {
		three := text[i : i+3]
		if !l.Fold || isASCII(three) {
			h := uint16(hash3(load(three)))
			all = append(all, ranked{gram{[2]uint16{h, h}, l.odd(three)}, information(three)})
		}
		if i+4 > len(text) {
			break
		}
		if four := text[i : i+4]; !l.Fold || isASCII(four) {
			all = append(all, ranked{gram{l.four(load(four)), l.odd(four)}, information(four)})
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return b.info - a.info })
	for _, g := range all {
		if !slices.Contains(grams, g.gram) {
			grams = append(grams, g.gram)
		}
	}
	return grams, information(text)
}

// four returns the places of the 4-gram v. If l is folded, they are those of both cases
// of its first letter.
func (l Literal) four(v uint32) [2]uint16 {
	other := v
	if c := byte(v) | 0x20; l.Fold && 'a' <= c && c <= 'z' {
		other ^= 0x20
	}
	return [2]uint16{uint16(hash4(v)), uint16(hash4(other))}
}

// odd reports whether a part of l may match a rune that makes a block odd.
func (l Literal) odd(part string) bool { return l.Fold && strings.ContainsAny(part, "kKsS") }

// prefix returns the beginning of l that is certainly within reach of its first byte:
// in folded case the text may contain a longer form of a rune than l.
func (l Literal) prefix() string {
	if !l.Fold {
		return l.Text[:min(len(l.Text), reach)]
	}
	need := 0
	for i, r := range l.Text {
		if need += foldedLen(r); need > reach {
			return l.Text[:i]
		}
	}
	return l.Text
}

// foldedLen returns the length in bytes of the longest rune that r folds to.
func foldedLen(r rune) int {
	n := utf8.RuneLen(r)
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		n = max(n, utf8.RuneLen(f))
	}
	return n
}

// load reads up to four bytes in the order that Signer uses.
func load(s string) uint32 {
	var b [4]byte
	copy(b[:], s)
	return binary.LittleEndian.Uint32(b[:])
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// information returns a rough estimate of the information of s in bits: the logarithm
// of how rare its bytes are in source text. It affects only the order of lookups.
func information(s string) (bits int) {
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ', c == '\t', c == 'e', c == 't', c == 'i', c == 'n', c == 'r', c == 's', c == 'a', c == 'o':
			bits += 4
		case c == 'j', c == 'q', c == 'x', c == 'z', c >= utf8.RuneSelf:
			bits += 8
		case 'a' <= c && c <= 'z', c == '_', c == '0':
			bits += 5
		default:
			bits += 6
		}
	}
	return bits
}
