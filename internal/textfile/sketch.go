package textfile

import (
	"bytes"
	"sort"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// sketch is a text without what people and models get wrong: white space,
// case, accents, and the forms of quotes and dashes.
type sketch struct {
	text   []byte
	pieces []piece
}

// piece is where a line, or a part of a long one, begins: in the sketch, and
// in what it is of.
type piece struct{ bare, view int32 }

// pieceSize is the longest piece in bytes: what is walked to find a character.
const pieceSize = 4 << 10

// newSketch takes at most 2 GiB.
func newSketch(view []byte) sketch {
	s := sketch{text: make([]byte, 0, len(view))}
	for at := 0; at < len(view); {
		s.pieces = append(s.pieces, piece{int32(len(s.text)), int32(at)})
		end := min(at+pieceSize, len(view))
		for end < len(view) && !utf8.RuneStart(view[end]) {
			end++
		}
		if i := bytes.IndexByte(view[at:end], '\n'); i >= 0 {
			end = at + i + 1
		}
		s.text = appendBare(s.text, view[at:end])
		at = end
	}
	return s
}

// piece is the one that text[i] is of.
func (s sketch) piece(i int) piece {
	return s.pieces[sort.Search(len(s.pieces), func(n int) bool { return int(s.pieces[n].bare) > i })-1]
}

// bareASCII is what is left of each ASCII character; 0: nothing.
var bareASCII = func() (table [utf8.RuneSelf]byte) {
	for c := byte('!'); c < 0x7f; c++ {
		table[c] = byte(unicode.ToLower(rune(c)))
	}
	table['`'] = '\''
	return table
}()

// appendBare appends what is left of text.
func appendBare(out, text []byte) []byte {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if b := bareASCII[c]; b != 0 {
				out = append(out, b)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		out = appendBareRune(out, r, text[i:i+size])
		i += size
	}
	return out
}

// appendBareRune is appendBare for one character beyond ASCII.
func appendBareRune(out []byte, r rune, raw []byte) []byte {
	switch {
	case r >= 0x3400 && r < 0xa000: // Chinese characters have nothing to lose
		return append(out, raw...)
	case unicode.IsSpace(r) || invisible(r):
		return out
	}
	if plain := plainQuote(r); plain != r {
		return append(out, byte(plain))
	}
	if plain := plainDash(r); plain != r {
		return append(out, byte(plain))
	}
	p := norm.NFKD.Properties(raw)
	if p.CCC() != 0 {
		return out
	}
	if d := p.Decomposition(); d != nil {
		for _, r := range string(d) {
			if norm.NFKD.PropertiesString(string(r)).CCC() == 0 && r != ' ' {
				out = utf8.AppendRune(out, unicode.ToLower(r))
			}
		}
		return out
	}
	return utf8.AppendRune(out, unicode.ToLower(r))
}

// offset finds in a piece where the n-th byte of its sketch comes from.
func offset(line []byte, n int) int {
	var buf [64]byte
	for i := 0; i < len(line); {
		_, size := utf8.DecodeRune(line[i:])
		left := len(appendBare(buf[:0], line[i:i+size]))
		if left > n {
			return i
		}
		n -= left
		i += size
	}
	return len(line)
}

// grams counts runs of three bytes by hash. How many two texts have in common
// says how alike they are (Ukkonen 1992, q-grams).
const (
	gram     = 3
	hashBits = 16 // 64 Ki counts stay in the cache
)

// What fit looks for, in bytes: the ends of a text, first long, then short
// ones, at least so far around where they should be.
const (
	longestEnd  = 24
	shortestEnd = 4
	leastNear   = 64
)

func hashGram(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 2654435761 >> (32 - hashBits)
}

// nearest finds the part of the sketch with the most grams of old; ok if that
// is at least half of them. Linear time.
func (s sketch) nearest(old []byte) (part span, ok bool) {
	n := len(old) - gram + 1 // grams of old
	if n < 1 || len(s.text) < gram {
		return span{}, false
	}
	at := 0
	// What is left of need is what the part lacks; below zero, what it has too
	// many of.
	need := make([]int32, 1<<hashBits)
	for i := range n {
		need[hashGram(old[i], old[i+1], old[i+2])]++
	}
	t, score, best := s.text, 0, -1
	for i := 0; i+gram <= len(t); i++ {
		if i >= n {
			h := hashGram(t[i-n], t[i-n+1], t[i-n+2])
			if need[h]++; need[h] > 0 {
				score--
			}
		}
		h := hashGram(t[i], t[i+1], t[i+2])
		if need[h]--; need[h] >= 0 {
			score++
		}
		if score > best {
			best, at = score, max(0, i-n+1)
		}
	}
	return s.fit(at, old), best*2 >= n
}

// fit moves the ends of a part as long as old to where old begins and ends in
// it, if that is near: what differs in the middle moves them.
func (s sketch) fit(at int, old []byte) span {
	near := max(leastNear, len(old)/8)
	p := span{at, min(at+len(old), len(s.text))}
	for k := min(longestEnd, len(old)); k >= shortestEnd; k /= 2 {
		from := max(0, at-near)
		if i := bytes.Index(s.text[from:min(at+near+k, len(s.text))], old[:k]); i >= 0 {
			p.from = from + i
			break
		}
	}
	for k := min(longestEnd, len(old)); k >= shortestEnd; k /= 2 {
		from := min(max(p.from, at+len(old)-near-k), len(s.text))
		to := min(at+len(old)+near, len(s.text))
		if i := bytes.LastIndex(s.text[from:max(from, to)], old[len(old)-k:]); i >= 0 {
			p.to = from + i + k
			break
		}
	}
	p.to = max(p.to, p.from+1)
	return p
}
