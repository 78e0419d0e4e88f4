package search

import (
	"bytes"
	"context"
	endian "encoding/binary"
	"errors"
	"io"
	"unicode/utf8"

	"mcp-toolset/internal/search/index"
	"mcp-toolset/internal/search/source"
)

// maxSpan is the limit, in bytes, of a text that is searched as a whole by a pattern
// whose matches may span lines. A longer text is searched in pieces of this length.
const maxSpan = 64 << 20

// bind sets the functions that are the same for all files of a worker.
func (w *worker) bind(ctx context.Context) {
	w.stop = func() bool { return ctx.Err() != nil }
	w.window = func() (int, int) {
		w.deliver(w.job, nil)
		return w.g.window(w.job)
	}
	w.each = w.chunk
	if w.q.Out != nil {
		w.stream = func() bool {
			if w.q.Show != nil && !w.q.Show(w.c.at()) {
				return true // drop the text: the file may not be shown
			}
			undo := w.g.stream(&found{text: w.c.text, entries: w.c.entries})
			if w.undo == nil {
				w.undo = undo
			}
			return undo != nil
		}
	}
}

// maxDecoded is the limit, in bytes, of a file in an older encoding that is searched decoded.
const maxDecoded = 32 << 20

// read searches an open file at dir and name: the given ranges, which count from the
// end of a byte order mark of length mark, or the whole file if there are none. It
// returns nil if the file has no result, and with an error the result so far. A text that is
// not UTF-8, or UTF-16 without a byte order mark, is searched once more, decoded, if
// Query.Decode can decode it.
func (w *worker) read(ctx context.Context, file io.ReaderAt, size int64, dir, name string, mark int64, ranges []index.Range) (*found, error) {
	w.older, w.checks = false, w.q.Decode != nil && (w.known == unknown || w.known == unsigned)
	f, err := w.pass(ctx, file, size, dir, name, mark, ranges)
	if w.checks && err == nil && w.nul >= 0 && w.nul < wideHead {
		var head [wideHead]byte
		n, _ := file.ReadAt(head[:], 0)
		w.older = mayBeWide(head[:n])
	}
	if !w.older || err != nil {
		return f, err
	}
	w.checks = false
	w.discardText()
	w.noted = ""
	if size > 0 && size <= maxDecoded {
		data, err := io.ReadAll(io.NewSectionReader(file, 0, size))
		if err != nil {
			return nil, err
		}
		if text, ok := w.q.Decode(w.c.at(), data); ok {
			return w.pass(ctx, bytes.NewReader(text), int64(len(text)), dir, name, 0, nil)
		}
	}
	return w.pass(ctx, file, size, dir, name, mark, ranges)
}

// pass searches an open file once. See read.
func (w *worker) pass(ctx context.Context, file io.ReaderAt, size int64, dir, name string, mark int64, ranges []index.Range) (*found, error) {
	w.c.reset(w.q, dir, name, w.stop)
	w.c.keep, w.c.window, w.c.stream = w.g.entryLimit(), w.window, w.stream
	switch {
	case w.known == signed: // has no NUL, or has changed: see inState
		w.reader.Mode = source.Search
	case w.q.Mode == Lines:
		w.reader.Mode = source.Report
	case w.named:
		w.reader.Mode = source.Search
	default:
		w.reader.Mode = source.Skip
	}
	w.reader.Gather = source.Chunks
	if (w.q.Mode == Names && w.known == signed || w.q.Mode == Lines && w.known == binary) && !w.q.Match.Spanning() {
		w.reader.Gather = source.Little
	}
	w.binaryMatch = false
	each := w.each
	if w.q.Match.Spanning() {
		each = w.joinChunks(each)
	}
	var r source.Result
	var err error
	if len(ranges) > 0 {
		r, err = w.reader.ReadRanges(ctx, file, size, mark, ranges, each)
	} else {
		r, err = w.reader.Read(ctx, file, size, each)
	}
	if err == nil {
		err = ctx.Err() // the matcher may have stopped
	}
	w.bytes, w.nul = w.bytes+r.Bytes, r.Nul
	if w.known == binary && !errors.Is(err, source.ErrChanged) {
		r.Kind = source.Binary // its NUL may be outside of the ranges
	}
	switch {
	case r.Kind == source.Binary && w.binaryMatch:
		w.discardText()
		return w.binary(w.c.at()), err
	case r.Kind == source.Binary, w.c.f.shown == 0, errors.Is(err, source.ErrChanged):
		return nil, err
	}
	return w.c.done(), err
}

// discardText removes the current file's text from the answer.
func (w *worker) discardText() {
	if w.undo != nil {
		w.undo()
		w.undo = nil
	}
}

// binary returns the result for a binary file that matches. Lines only.
func (w *worker) binary(path string) *found {
	f := &found{path: path, hits: 1, shown: 1}
	f.text = w.q.Binary(nil, path)
	f.entries = []entry{{0, len(f.text)}}
	return f
}

// chunk searches a chunk of the file.
func (w *worker) chunk(k source.Chunk) (more bool) {
	if (k.Binary || w.known == binary) && w.q.Mode == Lines {
		w.binaryMatch = w.binaryMatch || w.c.f.hits > 0 || w.q.Match.Any(w.c.part(k))
		return !w.binaryMatch
	}
	if k.Inside || k.Cut {
		w.note("a line over 16 MiB was searched in pieces, as if each were a line")
	}
	hits := w.c.f.hits + w.c.f.shown
	w.c.search(k)
	if w.checks && (!w.q.Match.ASCII() || w.c.f.hits+w.c.f.shown > hits) && !isASCII(k.Text) && !utf8.Valid(k.Text) {
		w.older = true
		return false
	}
	// A NUL that is still to come would invalidate the result.
	return w.q.Mode != Names || w.known != signed || w.c.f.shown == 0
}

// wideHead is the number of bytes by which a file may be UTF-16 without a byte order mark, and
// leastWide the least.
const wideHead, leastWide = 256, 8

// mayBeWide reports whether the first bytes of a file can be those of UTF-16 text with ASCII
// characters in it: NULs are all at even or all at odd offsets, and there are some.
func mayBeWide(head []byte) bool {
	var at [2]int
	head = head[:min(len(head), wideHead)]
	for i, c := range head {
		if c == 0 {
			at[i%2]++
		}
	}
	return len(head) >= leastWide && (at[0] == 0) != (at[1] == 0) && 16*(at[0]+at[1]) >= len(head)
}

// isASCII reports whether a text is ASCII. For most texts it replaces utf8.Valid, at nearly twice
// its speed.
func isASCII(text []byte) bool {
	word := func(b []byte) uint64 { return endian.NativeEndian.Uint64(b) }
	for ; len(text) >= 128; text = text[128:] {
		b := (*[128]byte)(text)
		w := word(b[0:8]) | word(b[8:16]) | word(b[16:24]) | word(b[24:32])
		x := word(b[32:40]) | word(b[40:48]) | word(b[48:56]) | word(b[56:64])
		y := word(b[64:72]) | word(b[72:80]) | word(b[80:88]) | word(b[88:96])
		z := word(b[96:104]) | word(b[104:112]) | word(b[112:120]) | word(b[120:128])
		if (w|x|y|z)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// note records why the answer is incomplete, if the file may be shown. tell passes it
// on once the result is valid.
func (w *worker) note(why string) {
	if w.noted == "" && (w.q.Show == nil || w.q.Show(w.c.at())) {
		w.noted = why
	}
}

// addNote passes on the note about a file.
func (w *worker) addNote() {
	if w.noted != "" {
		w.g.note(w.noted)
		w.noted = ""
	}
}

// joinChunks joins the chunks of a text for a pattern that spans lines.
func (w *worker) joinChunks(each func(source.Chunk) bool) func(source.Chunk) bool {
	var all source.Chunk
	var text []byte
	return func(k source.Chunk) bool {
		if k.First && k.Last {
			return each(k)
		}
		if len(text) == 0 {
			all = k
		}
		text = append(text, k.Text...)
		if !k.Last && len(text) < maxSpan {
			return true
		}
		if !k.Last {
			w.note("a file over 64 MiB was searched in pieces: a match that spans two of them is not found")
		}
		all.Text, all.Last, all.Cut, all.Binary = text, k.Last, k.Cut, all.Binary || k.Binary
		more := each(all)
		text = text[:0]
		return more
	}
}
