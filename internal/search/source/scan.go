package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"unicode/utf8"
)

// errStop ends a scan that found a NUL or whose chunks are not needed any more.
var errStop = errors.New("stop")

// scan is the pass through a text or a part of it. The window buf[:n] holds what was
// read and not yet passed on.
type scan struct {
	ctx  context.Context
	in   input
	mode Mode

	gather Gather
	each   func(Chunk) bool

	buf    []byte
	n      int
	target int // size to fill the window to
	goal   int // size the window must reach before it is passed on, unless the text ends

	offset int64 // of the window
	line   int64 // of the window
	cut    bool  // whether the window begins inside a line
	final  bool  // whether the end of the input is the end of the text

	result Result
}

// head reads the first bytes and determines the encoding by their byte order mark.
func (s *scan) head() error {
	s.target = min(headBytes, s.first())
	for s.n < 4 && !s.in.ended() {
		if err := s.read(); err != nil {
			return err
		}
	}
	b := s.buf[:s.n]
	switch {
	case bytes.HasPrefix(b, []byte("\xEF\xBB\xBF")):
		s.n = copy(b, b[3:])
		s.result.Mark = 3
	case bytes.HasPrefix(b, []byte("\xFF\xFE\x00\x00")): // UTF-32; it has a NUL
	case bytes.HasPrefix(b, []byte("\xFF\xFE")), bytes.HasPrefix(b, []byte("\xFE\xFF")):
		s.result.Decoded = true
		s.in.decode(b[2:], b[0] == 0xFE)
		s.n = 0
	}
	return s.look(0)
}

// first returns the size of the first chunk.
func (s *scan) first() int {
	if s.gather == Little {
		return littleBytes
	}
	return chunkBytes
}

// plan decides, after the head, how much is read before it is passed on.
func (s *scan) plan() {
	size := s.in.limit
	switch {
	case s.gather != Whole:
		s.target, s.goal = s.first(), s.first()
	case size == math.MaxInt64:
		s.target, s.goal = bufferBytes, wholeBytes+1 // one more, to see the end
	case s.in.decoding && size/2*3 <= int64(wholeBytes):
		s.target, s.goal = bufferBytes, wholeBytes+1
	case !s.in.decoding && size <= int64(wholeBytes):
		s.target, s.goal = int(size), int(size)
	default:
		s.target, s.goal = chunkBytes, chunkBytes
	}
}

// run passes on the text from the window on.
func (s *scan) run() error {
	for {
		for s.n < s.target && !s.in.ended() {
			from := s.n
			err := s.read()
			if err == nil {
				err = s.look(from)
			}
			if err != nil {
				return err
			}
		}
		if s.in.ended() {
			return s.emit(s.n, true)
		}
		// The last byte stays in the window, so that the text's last chunk is not
		// passed on before it is known to be the last.
		end := 0
		if s.target >= s.goal {
			end = lastNewline(s.buf[:s.n-1]) + 1
			if end == 0 && s.target > lineBytes {
				end = wholeRunes(s.buf[:s.n-1])
			}
		}
		if end == 0 {
			s.target = min(2*s.target, max(s.goal, lineBytes+1))
			continue
		}
		if err := s.emit(end, false); err != nil {
			return err
		}
		s.goal = chunkBytes
		s.target = max(chunkBytes, min(2*s.n, lineBytes+1)) // the rest of the window may be long
	}
}

// read reads once, to the end of the window.
func (s *scan) read() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	want := s.target
	if s.in.decoding {
		want = max(want, s.n+utf8.UTFMax) // room for a rune
	}
	if want > len(s.buf) {
		grown := make([]byte, want)
		copy(grown, s.buf[:s.n])
		s.buf = grown
	}
	n, err := s.in.read(s.buf[s.n:want])
	s.n += n
	if err == nil || err == io.EOF { // the input records its end
		return nil
	}
	// Bytes from before the failure are passed on all the same.
	s.final = false
	if stop := s.emit(s.n, true); stop != nil {
		return stop
	}
	return err
}

// look searches for a NUL in the window, beginning at from.
func (s *scan) look(from int) error {
	if s.mode == Search || s.result.Nul >= 0 {
		return nil
	}
	i := bytes.IndexByte(s.buf[from:s.n], 0)
	if i < 0 {
		return nil
	}
	s.result.Kind = Binary
	s.result.Nul = s.offset + int64(from+i)
	if s.mode == Skip {
		return errStop
	}
	return nil
}

// emit passes on the first bytes of the window and moves the rest to the front. ended
// reports that nothing follows.
func (s *scan) emit(n int, ended bool) error {
	if n == 0 {
		return nil
	}
	text := s.buf[:n:n]
	c := Chunk{
		Text: text, Line: s.line, Offset: s.offset,
		First: s.offset == 0, Last: ended && s.final,
		Inside: s.cut,
		Binary: s.result.Nul >= 0 && s.result.Nul < s.offset+int64(n),
	}
	s.cut = text[n-1] != '\n' && !c.Last
	c.Cut = s.cut
	s.result.Bytes += int64(n)
	if !s.each(c) {
		return errStop
	}
	if !ended {
		if !c.Binary {
			s.line += int64(bytes.Count(text, newline))
		}
		s.offset += int64(n)
		s.n = copy(s.buf, s.buf[n:s.n])
	}
	return nil
}

var newline = []byte("\n")

// lastNewline is bytes.LastIndexByte(b, '\n') for texts in which the newline may be far
// from the end, as in a binary program: IndexByte is ten times as fast.
func lastNewline(b []byte) int {
	const step = 512
	for len(b) > 0 {
		from := max(0, len(b)-step)
		if bytes.IndexByte(b[from:], '\n') >= 0 {
			return from + bytes.LastIndexByte(b[from:], '\n')
		}
		b = b[:from]
	}
	return -1
}

// wholeRunes returns the number of bytes of text without an incomplete rune at its end.
func wholeRunes(text []byte) int {
	for i := 1; i < utf8.UTFMax && i < len(text); i++ {
		if tail := text[len(text)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return len(text) - i
			}
			break
		}
	}
	return len(text)
}
