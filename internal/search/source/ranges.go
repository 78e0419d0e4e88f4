package source

import (
	"context"
	"errors"
	"io"
	"strings"

	"mcp-toolset/internal/search/index"
)

// ErrChanged says that the lines of a file are not where a range has them: the
// file is not the one that was signed.
var ErrChanged = errors.New("the file has changed since it was signed")

// ReadRanges is [Reader.Read] for the ranges of a text that an index could not
// exclude; they are in order, do not touch, and are not changed. Only they are
// read, with a few bytes to check them by.
//
// Each range is whole lines, so none has to be searched for. But it is checked
// that a line begins and ends where the range does. If not, the error is
// [ErrChanged]; chunks may have been given that are worth nothing. A file that
// changed elsewhere is not noticed: the caller compares stamps.
//
// All of a file is read, as Read does it, if a range covers the text, if the
// text is UTF-16, where offsets lead nowhere, or if size is not known. What the
// NUL of a binary file is in may not be read.
func (r *Reader) ReadRanges(ctx context.Context, f io.ReaderAt, size int64, ranges []index.Range, each func(Chunk) (more bool)) (Result, error) {
	if len(ranges) == 0 {
		return Result{Nul: -1}, nil
	}
	if size <= 0 || ranges[0].Start == 0 && ranges[0].End >= size {
		return r.Read(ctx, f, size, each)
	}
	s := r.begin(ctx, f, each)
	mark, decoded, err := s.mark()
	switch {
	case err != nil:
		return r.end(err)
	case decoded || ranges[0].Start == 0 && ranges[0].End >= size-mark:
		return r.Read(ctx, f, size, each)
	}
	for _, part := range ranges {
		if err = s.part(part, mark, size-mark); err != nil {
			break
		}
	}
	return r.end(err)
}

// mark looks at the byte order mark of the file: its length if it is that of
// UTF-8, and whether the text has to be decoded.
func (s *scan) mark() (length int64, decoded bool, err error) {
	n := 0
	for n < 3 && err == nil {
		var m int
		m, err = s.in.readRaw(s.buf[n:3])
		n += m
	}
	if err != nil && err != io.EOF {
		return 0, false, err
	}
	switch b := string(s.buf[:n]); {
	case strings.HasPrefix(b, "\xEF\xBB\xBF"):
		return 3, false, nil
	case strings.HasPrefix(b, "\xFF\xFE"), strings.HasPrefix(b, "\xFE\xFF"):
		return 0, true, nil
	}
	return 0, false, nil
}

// part gives one range of a text of size bytes that is behind a byte order
// mark.
func (s *scan) part(p index.Range, mark, size int64) error {
	if p.Start > 0 {
		s.in.at, s.in.limit = mark+p.Start-1, mark+p.Start
		_, err := s.in.readRaw(s.buf[:1])
		if err == io.EOF || err == nil && s.buf[0] != '\n' {
			return ErrChanged
		}
		if err != nil {
			return err
		}
	}
	s.in.at, s.in.limit = mark+p.Start, mark+p.End
	s.n, s.offset, s.line, s.cut = 0, p.Start, p.Line, false
	s.target, s.goal = s.first(), s.first()
	s.final = p.End == size
	if err := s.run(); err != nil {
		return err
	}
	if s.cut || s.in.at < mark+p.End {
		return ErrChanged
	}
	return nil
}
