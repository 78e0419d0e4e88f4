package index

import "math"

// A Range is a run of whole lines of a text.
type Range struct {
	Start int64 // offset of the first byte, which begins a line
	End   int64 // offset behind the last byte, which is a newline or the text's last
	Line  int64 // number of the first line, from 1
}

// AppendRanges appends to dst the ranges of the text of s that can hold a
// matching line. They are in order and do not touch. Of a nil signature it is
// one range that ends at [math.MaxInt64]: all of the file, however long.
//
// The literals of a line may lie in different blocks. So a line that crosses
// into another block is judged by all blocks it has bytes of; if only they
// together hold every clause, the range is that line alone. All other lines
// are judged by their block.
func (q *Query) AppendRanges(dst []Range, s Signature) []Range {
	if s == nil {
		return append(dst, Range{0, math.MaxInt64, 1})
	}
	n := s.blocks()
	switch {
	case n == 0:
		return dst
	case q == nil, n == 1 && allIn(q.clauses, s, 0, 0):
		return append(dst, Range{0, s.TextSize(), 1})
	case n == 1:
		return dst
	}
	first, rest := &q.clauses[0], q.clauses[1:]
	own := len(dst)
	crossing := false // the first clause holds in a block of the line that crosses into this one
	for b := range n {
		holds := first.in(s, b, n)
		start, end := s.line(b)
		if start == int64(b)*blockSize {
			crossing = false
		}
		crossing = crossing || holds
		if start < int64(b)*blockSize && end <= int64(b+1)*blockSize {
			if crossing && allIn(rest, s, int(start/blockSize), b) {
				dst = add(dst, own, Range{start, end, s.linesBefore(b) + 1})
			}
			crossing = holds
		}
		if holds && allIn(rest, s, b, b) {
			dst = add(dst, own, Range{start, s.linesEnd(b, n), s.linesBefore(b) + 1})
		}
	}
	return dst
}

// linesEnd returns the end of the last line that has a byte in block b of n.
func (s Signature) linesEnd(b, n int) int64 {
	if b+1 == n {
		return s.TextSize()
	}
	next := int64(b+1) * blockSize
	if start, end := s.line(b + 1); start < next {
		return end
	}
	return next
}

// add appends r, which does not start before the last range, to the ranges
// from index own on.
func add(dst []Range, own int, r Range) []Range {
	if len(dst) > own {
		if last := &dst[len(dst)-1]; r.Start <= last.End {
			last.End = max(last.End, r.End)
			return dst
		}
	}
	return append(dst, r)
}
