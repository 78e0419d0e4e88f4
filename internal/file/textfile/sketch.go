package textfile

import (
	"bytes"
	"sort"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// sketch is a text without the features that users and models often get wrong: white space, case,
// accents, and the forms of quotes and dashes.
type sketch struct {
	text   []byte
	pieces []piece
}

// piece is the start of a line, or of a part of a long line, in the sketch and in the view.
type piece struct{ bare, view int32 }

// pieceSize is the limit of a piece in bytes. Finding a character scans one piece.
const pieceSize = 4 << 10

// newSketch returns the sketch of a view of at most 2 GiB.
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

// piece returns the piece that contains text[i].
func (s sketch) piece(i int) piece {
	return s.pieces[sort.Search(len(s.pieces), func(n int) bool { return int(s.pieces[n].bare) > i })-1]
}

// bareASCII maps each ASCII character to its byte in a sketch; 0 drops it.
var bareASCII = func() (table [utf8.RuneSelf]byte) {
	for c := byte('!'); c < 0x7f; c++ {
		table[c] = byte(unicode.ToLower(rune(c)))
	}
	table['`'] = '\''
	return table
}()

// appendBare appends the sketch of text.
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

// appendBareRune appends the sketch of a character beyond ASCII.
func appendBareRune(out []byte, r rune, raw []byte) []byte {
	switch {
	case r >= 0x3400 && r < 0xa000: // Chinese characters do not change
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

// offset returns the offset in a piece that yields the n-th byte of its sketch.
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

// Runs of three bytes are counted by hash. The number that two texts share measures their
// similarity (Ukkonen 1992, q-grams).
const (
	gram     = 3
	hashBits = 16 // 64 Ki counts fit in the processor's cache
)

// Parameters of fit, in bytes. It looks for the ends of a text, first for long ends, then for short
// ones, within at least leastNear bytes of their expected place.
const (
	longestEnd  = 24
	shortestEnd = 4
	leastNear   = 64
)

func hashGram(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 2654435761 >> (32 - hashBits)
}

// nearest finds the part of the sketch that shares the most grams with old. ok reports whether it
// shares at least half of them. It takes linear time.
func (s sketch) nearest(old []byte) (part span, ok bool) {
	n := len(old) - gram + 1 // grams of old
	if n < 1 || len(s.text) < gram {
		return span{}, false
	}
	at := 0
	// need counts the grams that the part lacks. Negative counts are grams that the part has in
	// excess.
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

// fit adjusts a part as long as old: it moves the ends to where old begins and ends, if that is
// near. Differences in the middle shift them.
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
