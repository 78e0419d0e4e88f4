package index

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A gram is hashed by one multiplication; the upper 16 bits of the product
// are its place in the map. The factors are odd and have no pattern, as
// Knuth asks for multiplicative hashing (TAOCP 3, 6.4): 2^32 divided by the
// golden ratio and a prime of the xxHash family.
const (
	factor3 = 0x9E3779B1
	factor4 = 0x85EBCA77

	// foldCase sets the bit in which the cases of an ASCII letter differ. It
	// merges some other bytes too, such as [ and {. That costs little, and
	// finding the letters would cost more than all the rest of the hash.
	foldCase = 0x20202020
)

// hash3 hashes the first three bytes of v in folded case, hash4 all four, of which
// the first keeps its case. v is in little-endian order.
func hash3(v uint32) uint32 { return (v | foldCase) << 8 * factor3 >> 16 }
func hash4(v uint32) uint32 { return (v | foldCase&^0xff) * factor4 >> 16 }

// A gram is two places in the map, one of which is set where it is; they may be the
// same.
type gram struct {
	places [2]uint16
	odd    bool // in an odd block neither need be set
}

// ranked is a gram with the bits of information its bytes hold.
type ranked struct {
	gram
	info int
}

// grams returns those that are in every block in which l starts, those first that are likely to be missing elsewhere, and an estimate in
// bits of how rare l is. Nothing can be asked for when there are none.
//
// In folded case grams are asked for as far as they are ASCII: their letters stand
// for themselves, but for k and s in an odd block.
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

// four is the places of the 4-gram v: if the case does not matter, with its first
// letter in both.
func (l Literal) four(v uint32) [2]uint16 {
	other := v
	if c := byte(v) | 0x20; l.Fold && 'a' <= c && c <= 'z' {
		other ^= 0x20
	}
	return [2]uint16{uint16(hash4(v)), uint16(hash4(other))}
}

// odd tells whether a part of l may be written with a rune that makes a block odd.
func (l Literal) odd(part string) bool { return l.Fold && strings.ContainsAny(part, "kKsS") }

// prefix cuts l to what surely lies within reach of its first byte: in folded
// case the text may have a longer form of a rune than l has.
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

// foldedLen is the length in bytes of the longest rune that r folds to.
func foldedLen(r rune) int {
	n := utf8.RuneLen(r)
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		n = max(n, utf8.RuneLen(f))
	}
	return n
}

// load reads up to four bytes as Signer does.
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

// information is a rough estimate of how much s tells in bits: the logarithm
// of how rare its bytes are in source text. Only the order of the questions
// hangs on it.
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
