package source

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"
)

// Reader reads files one after the other. It holds a buffer for that, so each goroutine
// should reuse one. The zero value is ready for use.
type Reader struct {
	// Both may be changed between files.
	Mode   Mode // what to do with a NUL
	Gather Gather

	buf  []byte
	scan scan // a field, so that a file allocates nothing
}

var readers = sync.Pool{New: func() any { return new(Reader) }}

// Get returns a Reader of mode Skip and Chunks, possibly with a buffer.
func Get() *Reader { return readers.Get().(*Reader) }

// Release makes the Reader available to a later Get. The caller must not use it any
// more.
func (r *Reader) Release() {
	r.Mode, r.Gather = Skip, Chunks
	readers.Put(r)
}

// Read passes the text of a file to each, chunk by chunk, until each returns false. An
// empty text has no chunk. size is the size of the file, in bytes, when the caller
// looked at it; 0 or less if it is not known.
//
// f may return fewer bytes than requested without an error. At its end it returns
// io.EOF, with or without bytes.
//
// Read returns the errors of f and of ctx unchanged. Before an error of f it passes on
// what was read; the last line may be cut.
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

// begin prepares the scan for a file.
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

// end releases the file and memory above the limit that a Reader retains.
func (r *Reader) end(err error) (Result, error) {
	r.buf = r.scan.buf
	if len(r.buf) > maxReusedBuffer {
		r.buf = nil
	}
	result := r.scan.result
	r.scan = scan{in: input{raw: r.scan.in.raw}}
	if errors.Is(err, errStop) {
		err = nil
	}
	return result, err
}
