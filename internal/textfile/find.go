package textfile

import (
	"bytes"
	"strings"
)

// span is a range of decoded text.
type span struct{ from, to int }

// find returns where an edit applies.
func find(d []byte, e Edit) ([]span, error) {
	s := newSearch(d, e.Old)
	first := s.index(0)
	if first < 0 {
		return nil, explain(d, e.Old)
	}
	if !e.All {
		// One further search, from the next byte on, finds overlaps too.
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

// search looks for a text by its bytes, so that it takes linear time whatever
// repeats: comparing line endings at each candidate would not.
type search struct {
	d      []byte // decoded text
	text   []byte // d, or d with one byte for each CRLF
	needle []byte
	short  bool // text has one byte for each CRLF
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
		mark = "\xff" // in no UTF-8: what matches it is a CRLF, and what matches "\n" is not
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

// index is the first match at or after from, -1 if there is none.
func (s search) index(from int) int {
	i := bytes.Index(s.text[from:], s.needle)
	if i < 0 {
		return -1
	}
	return from + i
}

// spans are the places in d of ascending matches that do not overlap.
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

// mapping finds in d what is at an offset where each CRLF is one byte.
type mapping struct {
	d     []byte
	next  int // of the CRLFs not counted yet the first; -1: none
	crlfs int // counted so far
}

// long takes ascending offsets.
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
