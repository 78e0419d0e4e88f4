package source

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"
)

// Reader reads files one after the other. It holds the memory for that: have
// one a goroutine. The zero value is ready.
type Reader struct {
	// Both may be changed between files.
	Mode   Mode // what to do with a NUL
	Gather Gather

	buf  []byte
	scan scan // kept here so that a file allocates nothing
}

var readers = sync.Pool{New: func() any { return new(Reader) }}

// Get gives a Reader of mode Skip and Chunks that may have its memory already.
func Get() *Reader { return readers.Get().(*Reader) }

// Release hands the Reader to a later Get. It must not be used any more.
func (r *Reader) Release() {
	r.Mode, r.Gather = Skip, Chunks
	readers.Put(r)
}

// Read gives the text of a file to each, chunk by chunk, until that returns
// false. An empty text has no chunk. size is that of the file when the caller
// looked at it, in bytes; 0 or less if it is not known.
//
// Of f, fewer bytes than asked for may come without an error. At its end it
// returns io.EOF, with or without bytes.
//
// The errors are those of f and of ctx, as they are. What was read before an
// error of f has been given by then; the last line may be cut.
func (r *Reader) Read(ctx context.Context, f io.ReaderAt, size int64, each func(Chunk) (more bool)) (Result, error) {
	s := r.begin(ctx, f, each)
	if size > 0 {
		s.in.limit = size
	}
	s.final = true
	err := s.head()
	if err == nil {
		s.plan()
		err = s.run()
	}
	return r.end(err)
}

// begin makes the scan ready for a file.
func (r *Reader) begin(ctx context.Context, f io.ReaderAt, each func(Chunk) bool) *scan {
	if r.buf == nil {
		r.buf = make([]byte, bufferBytes)
	}
	raw := r.scan.in.raw
	r.scan = scan{
		ctx: ctx, each: each, mode: r.Mode, gather: r.Gather, buf: r.buf, line: 1,
		in:     input{file: f, limit: math.MaxInt64, raw: raw},
		result: Result{Nul: -1},
	}
	return &r.scan
}

// end lets go of the file and of memory that is more than a Reader keeps.
func (r *Reader) end(err error) (Result, error) {
	r.buf = r.scan.buf
	if len(r.buf) > keptBytes {
		r.buf = nil
	}
	result := r.scan.result
	r.scan = scan{in: input{raw: r.scan.in.raw}}
	if errors.Is(err, errStop) {
		err = nil
	}
	return result, err
}
