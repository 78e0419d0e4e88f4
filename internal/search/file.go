package search

import (
	"context"
	"io"

	"mcp-toolset/internal/search/source"
)

// File searches one file that the caller named. Unlike in a tree, a binary file is
// searched too. path is passed to the functions of the query. If the deadline ends the
// search, Answer.Incomplete gives the reason.
func (s *Searcher) File(ctx context.Context, q *Query, file io.ReaderAt, size int64, path string) (*Answer, error) {
	a := &Answer{Listed: 1, Picked: 1}
	limited := ctx
	if !q.Deadline.IsZero() {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, q.Deadline)
		defer cancel()
	}
	s.queries.begin()
	defer s.queries.end()
	g := newGather(q, 1, false, a)
	w := worker{q: q, g: g, reader: source.Get(), named: true}
	w.bind(limited)
	defer w.end()
	f, err := w.read(limited, file, size, "", path, 0, nil)
	w.addNote()
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		g.note(late)
	case f == nil:
		return nil, err
	default:
		f.failed = true
	}
	g.deliver(0, 1, f)
	g.finish(q)
	return a, nil
}
