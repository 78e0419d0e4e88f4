package spool

import (
	"bytes"
	"errors"
	"io"

	"mcp-toolset/internal/text/terminal"
)

// block is the length of the pieces of a long line, in bytes.
const block = 64 << 10

// row is a line, or a piece of a line that is too long. A line is cut at each multiple of block
// whose preceding block belongs entirely to the line. Thus a cut can be found without reading from
// the start. A cut within a character moves after it.
//
// A piece that ends in a cut is overwritten if the next piece contains a carriage return. It is
// then not shown, nor is the text of the next piece before the carriage return.
type row struct {
	start, end int64 // the source of the row, in bytes of the stream
	raw        []byte
	from       int64 // offset of raw, which may be after start
	newline    bool  // a newline follows raw
	open       bool  // the stream ends here, for now or finally
	cut        bool  // the row ends in a cut
	over       bool  // the row has a carriage return that overwrites the text before it
}

// rows reads rows from base on.
type rows struct {
	src    io.ReaderAt
	size   int64 // of the stream
	base   int64 // offset of the next row: after a newline, a multiple of block, or at first any offset
	forced bool  // base is a cut
	within bool  // base is within a line that began before its block
	final  bool  // the stream is complete

	buf  []byte // bytes of the stream from at on
	at   int64
	held *row // the row read ahead
}

// rowsFrom returns a reader that begins at from, where an earlier reader stopped. from may be
// within a row; the first row then ends where it ended for the earlier reader. Bytes before lowest
// are unknown.
func rowsFrom(src io.ReaderAt, from, lowest, size int64, final bool) (*rows, error) {
	r := &rows{src: src, size: size, base: from, final: final}
	first := from / block * block // start of the block that contains from
	low := max(lowest, first-block)
	p := make([]byte, from-low)
	if n, err := src.ReadAt(p, low); n < len(p) {
		return nil, err
	}
	before, in := p[:max(0, first-low)], p[max(0, first-low):]
	if low == first-block && bytes.IndexByte(before, '\n') < 0 && len(in) <= 3 && continuationBytes(in) == len(in) {
		r.base, r.forced = first, true
	} else if low <= first && len(in) > 0 && bytes.IndexByte(in, '\n') < 0 {
		r.within = true
	}
	return r, nil
}

// next returns the next row, or nil at the end.
func (r *rows) next() (*row, error) {
	this, err := r.take()
	if err != nil || this == nil {
		return nil, err
	}
	if !this.cut {
		return this, nil
	}
	if r.held, err = r.read(); err != nil {
		return nil, err
	}
	if r.held != nil && r.held.over {
		this.raw = nil
	}
	return this, nil
}

func (r *rows) take() (*row, error) {
	if this := r.held; this != nil {
		r.held = nil
		return this, nil
	}
	return r.read()
}

// undecided reports whether the last row could still be overwritten: it ends in a cut, and what
// follows is unknown.
func (r *rows) undecided(last *row) bool {
	return last.cut && !r.final && (r.held == nil || r.held.open && !r.held.over)
}

func overwrites(raw []byte) bool { return bytes.IndexByte(bytes.TrimRight(raw, "\r"), '\r') >= 0 }

func (r *rows) read() (*row, error) {
	if r.base >= r.size {
		return nil, nil
	}
	cut := (r.base+block-1)/block*block + block
	if r.within {
		cut, r.within = (r.base/block+1)*block, false
	}
	const more = 3 // bytes of a character after a cut
	data, err := r.fill(r.base, min(cut+more, r.size))
	if err != nil {
		return nil, err
	}
	start := 0
	if r.forced {
		start = continuationBytes(data)
	}
	this := &row{start: r.base + int64(start), from: r.base + int64(start)}
	limit := min(int64(len(data)), cut-r.base)
	switch i := bytes.IndexByte(data[:limit], '\n'); {
	case i >= 0:
		this.raw, this.newline = data[start:max(start, i)], true
		this.end = r.base + int64(i) + 1
		this.trim(r.forced)
		r.base, r.forced = this.end, false
		return this, nil
	case r.size < cut+more && !r.final || r.size <= cut:
		this.raw, this.open = data[start:], true
		this.end = r.size
		if !r.final {
			this.raw = terminal.Complete(this.raw)
			this.end = this.start + int64(len(this.raw))
		}
		this.trim(r.forced)
		r.base = r.size
		return this, nil
	}
	n := int(limit) + continuationBytes(data[limit:])
	this.raw, this.cut = data[start:n], true
	this.end = r.base + int64(n)
	this.trim(r.forced)
	r.base, r.forced = cut, true
	return this, nil
}

// trim removes the overwritten text of a row after a cut.
func (w *row) trim(forced bool) {
	if w.over = overwrites(w.raw); w.over && forced {
		n := bytes.IndexByte(w.raw, '\r') + 1
		w.raw, w.from = w.raw[n:], w.from+int64(n)
	}
}

// continuationBytes returns the number of bytes at the start of p that belong to an earlier character.
func continuationBytes(p []byte) (n int) {
	for n < min(len(p), 3) && p[n]&0xc0 == 0x80 {
		n++
	}
	return n
}

// fill returns the bytes of the stream between two offsets.
func (r *rows) fill(from, to int64) ([]byte, error) {
	if from < r.at || to > r.at+int64(len(r.buf)) {
		const ahead = 4 * block
		p := make([]byte, min(max(to-from, ahead), r.size-from))
		n, err := r.src.ReadAt(p, from)
		if n < int(to-from) {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		r.at, r.buf = from, p[:n]
	}
	return r.buf[from-r.at : to-r.at], nil
}

// rowAt finds the first row that starts at or after from. from must be a multiple of block with
// bytes before it.
func rowAt(src io.ReaderAt, from, lowest, size int64) (base int64, forced bool, err error) {
	if from-block < lowest {
		return lowest, false, nil
	}
	p := make([]byte, min(2*block, size-(from-block)))
	if n, err := src.ReadAt(p, from-block); n < len(p) {
		return 0, false, err
	}
	before, after := p[:block], p[block:]
	if i := bytes.LastIndexByte(before, '\n'); i < 0 || i == block-1 {
		return from, i < 0, nil
	}
	if i := bytes.IndexByte(after, '\n'); i >= 0 {
		return from + int64(i) + 1, false, nil
	}
	return from + int64(len(after)), len(after) == block, nil
}
