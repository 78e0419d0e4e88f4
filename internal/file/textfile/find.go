package textfile

import (
	"bytes"
	"strings"
)

// span is a range of bytes in decoded text.
type span struct{ from, to int }

// find returns the places where an edit applies.
func find(d []byte, e Edit) ([]span, error) {
	s := newSearch(d, e.Old)
	first := s.index(0)
	if first < 0 {
		return nil, explain(d, e.Old)
	}
	if !e.All {
		// One more search, from the next byte on, finds overlaps too.
		if s.index(first+1) >= 0 {
			return nil, s.ambiguous(first)
		}
		return s.spans([]int{first}), nil
	}
	var at []int
	for i := first; i >= 0; i = s.index(i + len(s.needle)) {
		if len(at) == mostReplacements {
			return nil, tooMany()
		}
		at = append(at, i)
	}
	return s.spans(at), nil
}

// search finds a text by its bytes, which takes linear time however repetitive the text is.
// Comparing line endings at each candidate would not.
type search struct {
	d      []byte // decoded text
	text   []byte // d, or d with each CRLF replaced by one byte
	needle []byte
	short  bool // whether text has one byte for each CRLF
}

func newSearch(d []byte, old string) search {
	s := search{d: d, text: d, needle: []byte(old)}
	inLine := !strings.Contains(old, "\n") && !strings.HasSuffix(old, "\r")
	if inLine || bytes.IndexByte(d, '\r') < 0 {
		return s
	}
	ends := countEndings(d)
	if ends.CRLF == 0 {
		return s
	}
	mark := "\n"
	if ends.LF > 0 && strings.Contains(old, "\r\n") {
		mark = "\xff" // never in UTF-8, so it matches only a CRLF, and "\n" does not match one
	}
	needle := strings.ReplaceAll(old, "\r\n", mark)
	if ends.LF == 0 && !strings.HasSuffix(old, "\r") {
		s.needle = []byte(strings.ReplaceAll(needle, "\n", "\r\n"))
		return s
	}
	s.needle = []byte(needle)
	s.text, s.short = bytes.ReplaceAll(d, []byte("\r\n"), []byte(mark)), true
	return s
}

// index returns the first match at or after from, or -1.
func (s search) index(from int) int {
	i := bytes.Index(s.text[from:], s.needle)
	if i < 0 {
		return -1
	}
	return from + i
}

// spans returns the ranges in d of ascending matches that do not overlap.
func (s search) spans(at []int) []span {
	out := make([]span, len(at))
	if !s.short {
		for i, from := range at {
			out[i] = span{from, from + len(s.needle)}
		}
		return out
	}
	m := mapping{d: s.d, next: bytes.Index(s.d, []byte("\r\n"))}
	for i, from := range at {
		out[i] = span{m.long(from), m.long(from + len(s.needle))}
	}
	return out
}

// mapping converts offsets in a text with one byte for each CRLF to offsets in d.
type mapping struct {
	d     []byte
	next  int // offset of the first CRLF not counted yet; -1 if there is none
	crlfs int // number of CRLFs counted
}

// long converts an offset. Successive calls must have ascending offsets.
func (m *mapping) long(short int) int {
	for m.next >= 0 && m.next-m.crlfs < short {
		m.crlfs++
		from := m.next + 2
		if m.next = bytes.Index(m.d[from:], []byte("\r\n")); m.next >= 0 {
			m.next += from
		}
	}
	return short + m.crlfs
}
