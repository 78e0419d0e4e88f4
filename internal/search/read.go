package search

import (
	"context"
	"errors"
	"io"

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

// read searches an open file at dir and name: the given ranges, which count from the
// end of a byte order mark of length mark, or the whole file if there are none. It
// returns nil if the file has no result, and with an error the result so far.
func (w *worker) read(ctx context.Context, file io.ReaderAt, size int64, dir, name string, mark int64, ranges []index.Range) (*found, error) {
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
	w.bytes += r.Bytes
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
	w.c.search(k)
	// A NUL that is still to come would invalidate the result.
	return w.q.Mode != Names || w.known != signed || w.c.f.shown == 0
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
