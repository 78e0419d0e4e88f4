package textfile

import (
	"bytes"
	"unicode/utf8"
)

// guessEastAsian names an encoding of Chinese, Japanese or Korean text. Every byte must be valid in
// it, or nearly every one in a longer text, and most characters must be in the ranges of its common
// characters.
func guessEastAsian(b []byte) (guess, bool) {
	for _, damaged := range []int{0, 1} {
		for _, e := range eastAsian {
			if e.fits(b, damaged) {
				return guess{is: "is not UTF-8 and declares no encoding; a guess is " + e.name, iconv: e.iconv}, true
			}
		}
	}
	return guess{}, false
}

// leastSure is the number of characters of two bytes from which an encoding is sure.
const leastSure = 24

// sure returns the East Asian encoding of a text that fits no other of them, has enough characters
// and encodes to the same bytes again. It returns nil if there is none.
func sure(data []byte) (enc Encoding, text []byte) {
	if controls(data[:min(len(data), sampled)]) > 0 || cut(data) {
		return UTF8, nil
	}
	if _, ok := damaged(data); ok {
		return UTF8, nil
	}
	i := bytes.IndexFunc(data, func(r rune) bool { return r >= utf8.RuneSelf })
	head := data[i:min(len(data), i+sampled)]
	fitting := -1
	for n, e := range eastAsian {
		if e.fits(head, 0) {
			if fitting >= 0 {
				return UTF8, nil
			}
			fitting = n
		}
	}
	if fitting < 0 || eastAsian[fitting].pairs(head) < leastSure {
		return UTF8, nil
	}
	enc, _ = lookup(eastAsian[fitting].iconv, false) // a name of the table
	if decoded, ok := enc.charset().decode(data); ok {
		return enc, decoded
	}
	return UTF8, nil
}

// pairs returns the number of different characters of two bytes.
func (e doubleByte) pairs(b []byte) int {
	seen := map[[2]byte]bool{}
	for i := 0; i+1 < len(b); i++ {
		if b[i] >= utf8.RuneSelf && !e.single(b[i]) {
			seen[[2]byte{b[i], b[i+1]}] = true
			i++
		}
	}
	return len(seen)
}

// doubleByte describes an encoding with one or two bytes per character.
type doubleByte struct {
	name, iconv string
	lead        func(c byte) bool
	trail       func(c byte) bool
	single      func(c byte) bool // single bytes beyond ASCII
	common      func(lead, trail byte) bool
	share       int // least share of common characters, in percent
	plainTrail  int // least share of second bytes below 0x80, in percent
}

// eastAsian lists the encodings in the order of testing, narrower ones first. The common characters
// are kana and the first level of kanji (JIS X 0208), hangul (KS X 1001), the first level of hanzi
// (GB 2312, Big5), and punctuation.
var eastAsian = []doubleByte{
	{"Shift JIS", "CP932",
		func(c byte) bool { return in(c, 0x81, 0x9f) || in(c, 0xe0, 0xfc) },
		func(c byte) bool { return in(c, 0x40, 0x7e) || in(c, 0x80, 0xfc) },
		func(c byte) bool { return in(c, 0xa1, 0xdf) },
		func(l, _ byte) bool { return in(l, 0x81, 0x83) || in(l, 0x88, 0x97) }, 80, 0},
	{"EUC-JP", "EUC-JP", isG, isG, never,
		func(l, _ byte) bool { return l == 0xa4 || l == 0xa5 }, 30, 0},
	{"EUC-KR", "CP949", isG, isG, never,
		func(l, _ byte) bool { return in(l, 0xa1, 0xa3) || in(l, 0xb0, 0xc8) }, 98, 0},
	{"Big5", "BIG5",
		func(c byte) bool { return in(c, 0xa1, 0xf9) },
		func(c byte) bool { return in(c, 0x40, 0x7e) || isG(c) },
		never,
		func(l, _ byte) bool { return in(l, 0xa1, 0xc6) }, 90, 15},
	{"GB18030", "GB18030",
		func(c byte) bool { return in(c, 0x81, 0xfe) },
		func(c byte) bool { return in(c, 0x40, 0x7e) || in(c, 0x80, 0xfe) },
		never,
		func(l, t byte) bool { return (in(l, 0xa1, 0xa3) || in(l, 0xb0, 0xd7)) && isG(t) }, 80, 0},
}

func in(c, from, to byte) bool { return from <= c && c <= to }

// isG reports whether a byte belongs to the graphic set of an EUC encoding.
func isG(c byte) bool { return in(c, 0xa1, 0xfe) }

func never(byte) bool { return false }

// fits reports whether b is text in the encoding, of whose characters at most a share in percent is
// damaged. Its last character may be truncated.
func (e doubleByte) fits(b []byte, damaged int) bool {
	pairs, common, plain, bad := 0, 0, 0, 0
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c < 0x80 || e.single(c) {
			continue
		}
		if i+1 == len(b) && e.lead(c) {
			break
		}
		if !e.lead(c) || !e.trail(b[i+1]) {
			if bad++; damaged == 0 {
				return false
			}
			continue
		}
		i++
		pairs++
		if e.common(c, b[i]) {
			common++
		}
		if b[i] < 0x80 {
			plain++
		}
	}
	// An accented letter before an ASCII letter looks like a character, too. In real text, at most
	// about half of the second bytes are ASCII.
	return pairs > 0 && bad*100 <= pairs*damaged && common*100 >= pairs*e.share && plain*100 >= pairs*e.plainTrail && plain*3 <= pairs*2
}
