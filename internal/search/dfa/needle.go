package dfa

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// needle is a text to search for: by its rarest byte if that is rare enough, otherwise
// by two of its bytes at a time.
type needle struct {
	text  []byte // letters in lower case if fold is set
	fold  []byte // 0x20 for letters whose case is ignored; nil: there are none
	exact bool   // whether this is the whole text, not only a part

	x, y   int  // positions in text of its two rarest bytes, x the rarest
	single bool // search only for the byte at x, in both cases, until it turns out to be common

	around around // of a text of one byte
}

// newNeedle returns a needle for a text or, with fold, for a part of it that consists
// of ASCII and whose letters only fold to ASCII. If there is none, the needle has no
// text.
func newNeedle(s string, fold bool) (best needle) {
	if !fold {
		n := needle{text: []byte(s), exact: bytes.IndexByte([]byte(s), '\n') < 0}
		n.choose()
		return n
	}
	for i := 0; i < len(s); {
		if !foldsInASCII(s[i]) {
			i++
			continue
		}
		start := i
		for i < len(s) && foldsInASCII(s[i]) {
			i++
		}
		n := needle{exact: i-start == len(s)}
		for _, b := range []byte(s[start:i]) {
			letter := byte(0)
			if b|0x20 >= 'a' && b|0x20 <= 'z' {
				letter = 0x20
			}
			n.text, n.fold = append(n.text, b|letter), append(n.fold, letter)
		}
		if n.choose(); len(best.text) == 0 || n.cost() < best.cost() {
			best = n
		}
	}
	return best
}

// foldsInASCII reports whether b is ASCII and all it folds to is too, which excludes k
// and s. It returns false for '\n', which no line contains.
func foldsInASCII(b byte) bool {
	if b >= utf8.RuneSelf || b == '\n' {
		return false
	}
	for i, r := range foldings(rune(b)) {
		if i%2 == 0 && r >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// frequency returns the fraction of all bytes that could be text[i].
func (n *needle) frequency(i int) float64 {
	sum := float64(frequency[n.text[i]])
	if n.fold != nil && n.fold[i] != 0 {
		sum += float64(frequency[n.text[i]&^0x20])
	}
	return sum / frequencySum
}

// choose selects the two rarest bytes, and decides whether one is sufficient.
func (n *needle) choose() {
	if len(n.text) == 0 {
		return
	}
	for i := range n.text {
		switch s := n.frequency(i); {
		case s < n.frequency(n.x):
			n.x, n.y = i, n.x
		case i > 0 && (n.y == n.x || s < n.frequency(n.y)):
			n.y = i
		}
	}
	pair := n.cost()
	n.single = true
	n.single = n.cost() <= pair
}

// cased reports whether the rarest byte is a letter of either case.
func (n *needle) cased() bool { return n.fold != nil && n.fold[n.x] != 0 }

func (n *needle) scanCost() float64 {
	switch {
	case !n.single:
		return pairCost()
	case n.cased():
		return 2 * skipCost
	}
	return skipCost
}

// cost returns the estimated cost of searching for the needle, in nanoseconds per byte.
func (n *needle) cost() float64 {
	look := lookCost
	if len(n.text) == 1 && !n.exact {
		look = lineCost
	}
	if n.single || n.x == n.y {
		return n.scanCost() + n.frequency(n.x)*look
	}
	const related = 3 // pairs of letters are more frequent than by chance
	return n.scanCost() + related*n.frequency(n.x)*n.frequency(n.y)*look
}

// find returns the first position of the needle in buf from position from on, or
// len(buf), and the number of places looked at in vain. It stops, with ok false, when
// those cost more than credit and the time saved.
func (n *needle) find(buf []byte, from, credit int) (at, looks int, ok bool) {
	last, single := len(buf)-len(n.text), n.single
	pairWorth := int(lookCost / pairCost()) // bytes that are passed in the time of a look
	lower, upper := -1, -1                  // next positions of the rarest byte, a letter
	for i := from; i <= last; i++ {
		var k int
		if single && n.cased() {
			k = n.either(buf[:last+n.x+1], i+n.x, &lower, &upper)
		} else {
			k = n.candidate(buf, i, last-i+1, single)
		}
		if k < 0 {
			break
		}
		i += k
		if n.matchesAt(buf[i:i+len(n.text)]) && n.around.allows(buf, i) {
			return i, looks, true
		}
		looks++
		if looks*lookWorth > credit+(i-from)/2 {
			return 0, looks, false
		}
		single = single && (n.x == n.y && !n.cased() || looks*pairWorth < i-from+freeLooks*pairWorth) // one byte is not a pair
	}
	return len(buf), looks, true
}

// matchesAt reports whether a text of the needle's length matches it.
func (n *needle) matchesAt(b []byte) bool {
	if n.fold == nil {
		return string(b) == string(n.text)
	}
	fold := n.fold[:len(b)]
	for i, c := range n.text[:len(b)] {
		if b[i]|fold[i] != c {
			return false
		}
	}
	return true
}

// either returns the first position of the rarest byte in either case from position
// from on, relative to that, or -1. lower and upper cache the next position of each
// case.
func (n *needle) either(buf []byte, from int, lower, upper *int) int {
	next := func(b byte, at *int) {
		if *at >= from {
			return
		}
		*at = len(buf)
		if k := bytes.IndexByte(buf[from:], b); k >= 0 {
			*at = from + k
		}
	}
	next(n.text[n.x], lower)
	next(n.text[n.x]&^0x20, upper)
	if at := min(*lower, *upper); at < len(buf) {
		return at - from
	}
	return -1
}

// candidate returns the first of count places from i on that has the bytes searched
// for, relative to i, or -1.
func (n *needle) candidate(buf []byte, i, count int, single bool) int {
	if single {
		return bytes.IndexByte(buf[i+n.x:i+n.x+count], n.text[n.x])
	}
	p := pair{x: uint64(n.text[n.x]) * ones, y: uint64(n.text[n.y]) * ones}
	if n.fold != nil {
		p.foldX, p.foldY = uint64(n.fold[n.x])*ones, uint64(n.fold[n.y])*ones
	}
	return p.index(buf[i+n.x:i+n.x+count], buf[i+n.y:i+n.y+count])
}

const ones, highs = 0x01 * (1<<64 - 1) / 0xff, 0x80 * ((1<<64 - 1) / 0xff)

// pair searches for two bytes in two texts at the same offset. Each word holds the byte
// eight times. A fold of 0x20 in each byte ignores the case of a letter.
type pair struct{ x, y, foldX, foldY uint64 }

// zero sets the highest bit of each byte at which the texts have the pair. Only the
// first bit that is set is certain, because a borrow may propagate from it (Mycroft,
// 1987).
func (p *pair) zero(a, b []byte) uint64 {
	v := (binary.LittleEndian.Uint64(a) | p.foldX) ^ p.x
	v |= (binary.LittleEndian.Uint64(b) | p.foldY) ^ p.y
	return (v - ones) &^ v & highs
}

// index returns the first place where a has x and b, of the same length, has y, or -1.
func (p *pair) index(a, b []byte) int {
	n := len(a)
	b = b[:n]
	k := p.skip(a, b)
	a, b = a[k:], b[k:]
	for len(a) >= 32 && len(b) >= 32 {
		z0, z1, z2, z3 := p.zero(a, b), p.zero(a[8:], b[8:]), p.zero(a[16:], b[16:]), p.zero(a[24:], b[24:])
		if z0|z1|z2|z3 != 0 {
			break
		}
		a, b = a[32:], b[32:]
	}
	for len(a) >= 8 && len(b) >= 8 {
		if z := p.zero(a, b); z != 0 {
			return n - len(a) + bits.TrailingZeros64(z)/8
		}
		a, b = a[8:], b[8:]
	}
	for i := range a {
		if a[i]|byte(p.foldX) == byte(p.x) && b[i]|byte(p.foldY) == byte(p.y) {
			return n - len(a) + i
		}
	}
	return -1
}

// lastNewline is bytes.LastIndexByte(b, '\n'), eight bytes at a time.
func lastNewline(b []byte) int {
	for len(b) >= 8 {
		v := binary.LittleEndian.Uint64(b[len(b)-8:]) ^ '\n'*ones
		// Here the last one must be certain: no carry leaves its byte.
		if z := ^((v&^highs + ^uint64(highs)) | v) & highs; z != 0 {
			return len(b) - 1 - bits.LeadingZeros64(z)/8
		}
		b = b[:len(b)-8]
	}
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] == '\n' {
			return i
		}
	}
	return -1
}
