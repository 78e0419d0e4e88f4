package source

import (
	"context"
	"errors"
	"io"

	"mcp-toolset/internal/search/index"
)

// ErrChanged reports that lines do not begin or end where a range does: the file is not
// the one that was signed.
var ErrChanged = errors.New("the file has changed since it was signed")

// ReadRanges is [Reader.Read] for the ranges of a text that an index could not exclude.
// They must be in order and not touch; they are not modified. Only they are read, with
// the byte before each as a check. mark is the length of the byte order mark before the
// text.
//
// Each range consists of whole lines, so ReadRanges does not search for their bounds.
// But it checks that a line begins and ends where the range does. If not, the error is
// [ErrChanged], and the chunks passed before may be invalid. It does not notice other
// changes of the file: the caller must compare stamps.
//
// The whole file is read, as Read does, if a range covers the text or if size is not
// known. The NUL of a binary file may be outside of the ranges. A text that is decoded
// must have no ranges, because their offsets in the file are not known.
func (r *Reader) ReadRanges(ctx context.Context, f io.ReaderAt, size, mark int64, ranges []index.Range, each func(Chunk) (more bool)) (Result, error) {
	if len(ranges) == 0 {
		return Result{Nul: -1}, nil
	}
	if size <= 0 || ranges[0].Start == 0 && ranges[0].End >= size-mark {
		return r.Read(ctx, f, size, each)
	}
	s := r.begin(ctx, f, each)
	var err error
	for _, part := range ranges {
		if err = s.part(part, mark, size-mark); err != nil {
			break
		}
	}
	return r.end(err)
}

// part passes on one range of a text of size bytes after a byte order mark.
func (s *scan) part(p index.Range, mark, size int64) error {
	s.in.at, s.in.limit = mark+p.Start, mark+p.End
	s.n, s.offset, s.line, s.cut = 0, p.Start, p.Line, false
	s.target, s.goal = s.first(), s.first()
	if length := p.End - p.Start; s.gather == Little && length < 3*int64(littleBytes) {
		// A block, and the parts of its first and last lines outside of it.
		s.target = min(int(length), chunkBytes)
		s.goal = s.target
	}
	s.final = p.End == size
	if p.Start > 0 {
		if err := s.begins(); err != nil {
			return err
		}
	}
	if err := s.run(); err != nil {
		return err
	}
	if s.cut || s.in.at < mark+p.End {
		return ErrChanged
	}
	return nil
}

// begins fills the window and checks that a line begins there.
func (s *scan) begins() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	s.in.at--
	s.target = min(s.target, len(s.buf)-1)
	s.goal = min(s.goal, s.target)
	n := 0
	for n < 2 {
		m, err := s.in.readRaw(s.buf[n : 1+s.target])
		if n += m; err != nil && err != io.EOF {
			return err
		}
		if n > 0 && s.buf[0] != '\n' || n < 2 && err == io.EOF {
			return ErrChanged
		}
	}
	s.n = copy(s.buf, s.buf[1:n])
	return s.look(0)
}
