package index

// Range is a run of whole lines of a text.
type Range struct {
	Start int64 // offset of the first byte, which begins a line
	End   int64 // offset after the last byte, which is a newline or the text's last
	Line  int64 // number of the first line, from 1

	// A line of the range that can match has a literal of the [Query.Rarest] clause
	// that begins at or after From and before To.
	From, To int64
}

// maxNear limits To-From of a range that is Wide: that part is read at once.
const maxNear = 16 * blockSize

// Wide reports whether a range is large, and From to To a small part of it, so that
// reading this part first is faster than reading all. Long lines cause that.
func (r Range) Wide() bool {
	all, part := r.End-r.Start, r.To-r.From
	return all > 4*blockSize && part <= min(all/4, maxNear)
}

// AppendRanges reports whether the text of file id can contain a matching line, and
// appends the ranges that can to dst. It appends none if all of the text can match,
// unless that is [Range.Wide], or if the text is unknown. The ranges are in order and
// do not touch.
//
// The literals of a line may be in different blocks. So a line that crosses into
// another block is judged by all the blocks it has bytes in. If they hold every clause
// only together, the range is that line alone. All other lines are judged by their
// block.
func (f *Filter) AppendRanges(dst []Range, id uint32) (_ []Range, some bool) {
	r := f.s.ref(id)
	if r&refDirectory == 0 || len(f.clauses) == 0 {
		return dst, f.File(id)
	}
	own := len(dst)
	d := f.s.directories[r.directory()]
	dst = f.ranges(dst, d)
	switch found := dst[own:]; {
	case len(found) == 0:
		return dst, false
	case found[0].Start == 0 && found[0].End == d.textSize() && !found[0].Wide():
		return dst[:own], true
	}
	return dst, true
}

// TextSize returns the length of the text of file id, in bytes, if AppendRanges can
// append ranges of it, and 0 otherwise.
func (f *Filter) TextSize(id uint32) int64 {
	if r := f.s.ref(id); r&refDirectory != 0 {
		return f.s.directories[r.directory()].textSize()
	}
	return 0
}

// ranges is AppendRanges for a text of several blocks.
func (f *Filter) ranges(dst []Range, d directory) []Range {
	first, rest := &f.clauses[0], f.clauses[1:]
	own := len(dst)
	var from, to int64 // the blocks in which the first clause holds, of the line that crosses into this one
	for b := range d.blocks() {
		block, next := int64(b)*blockSize, min(int64(b+1)*blockSize, d.textSize())
		holds := first.in(f.s, d.slot(b))
		start, end := d.line(b)
		if start == block {
			from, to = 0, 0
		}
		if holds {
			if to == 0 {
				from = block
			}
			to = next
		}
		if start < block && end <= next {
			if to > 0 && f.allIn(rest, d, int(start/blockSize), b) {
				dst = add(dst, own, Range{start, end, d.linesBefore(b) + 1, from, to})
			}
			if from, to = 0, 0; holds {
				from, to = block, next
			}
		}
		if holds && f.allIn(rest, d, b, b) {
			dst = add(dst, own, Range{start, d.linesEnd(b), d.linesBefore(b) + 1, block, next})
		}
	}
	return dst
}

// add appends r to the ranges from index own on, or merges it with the last one. r must
// not start before the last range.
func add(dst []Range, own int, r Range) []Range {
	if len(dst) > own {
		if last := &dst[len(dst)-1]; r.Start <= last.End {
			last.End, last.From, last.To = max(last.End, r.End), min(last.From, r.From), max(last.To, r.To)
			return dst
		}
	}
	return append(dst, r)
}
