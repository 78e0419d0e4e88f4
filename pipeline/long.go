package pipeline

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/record/results"
	"mcp-toolset/tools"
)

// longBuffer is the number of bytes collected before a text is stored.
const longBuffer = 64 << 10

// long is a text that is stored while it is written. A text within the limit
// stays in memory. Of a longer text, only the two ends do.
type long struct {
	limit  int // in characters
	keep   tools.Excerpt
	create func() (*results.File, error)

	longState
	buf   []byte        // not stored yet
	head  []byte        // the beginning, a little longer than can be shown
	tail  []byte        // the end, likewise
	file  *results.File // nil: nothing stored
	ended bool
}

// longState holds the size of the text written so far, and the error that ended
// storing.
type longState struct {
	runes, breaks int // characters and newlines
	column        int // characters in the current line
	err           error
}

// texts implements tools.Results. The result of the call is private once text is
// stored.
type texts struct {
	c   *call
	dir string // the session's folder of results
}

// Long returns an empty text for a result of the call.
func (t texts) Long() tools.Long {
	limit := t.c.tool.MaxResultSize
	if limit == tools.Unlimited {
		limit = tools.DefaultResultSize
	}
	return &long{limit: limit, keep: t.c.tool.Excerpt, create: func() (*results.File, error) {
		t.c.private.Store(true)
		return t.c.p.Results.Create(t.dir, t.c.tool.Name)
	}}
}

// SaveParts stores a long text in pieces.
func (t texts) SaveParts(family, name string, next func() (string, error)) (folder string, count int, err error) {
	t.c.private.Store(true)
	return t.c.p.Results.SaveParts(t.dir, family, name, next)
}

// SaveFile stores a file.
func (t texts) SaveFile(name string, r io.Reader) (path string, err error) {
	t.c.private.Store(true)
	return t.c.p.Results.SaveFile(t.dir, name, r)
}

// Write appends p and breaks lines that are too long for Read. It never fails:
// storing errors appear in the note of Text.
func (l *long) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, full := p, false
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			line, full = p[:i+1], true
		}
		text := bytes.TrimSuffix(line, []byte{'\n'})
		if room := wrapAt - l.column; len(text) > room && utf8.RuneCount(text) > room {
			cut := runeIndex(string(text), room)
			l.add(text[:cut])
			l.add([]byte{'\n'})
			l.breaks, l.column = l.breaks+1, 0
			p = p[cut:]
			continue
		}
		l.add(line)
		l.column += utf8.RuneCount(text)
		if full {
			l.breaks, l.column = l.breaks+1, 0
		}
		p = p[len(line):]
	}
	return n, nil
}

// add appends a piece of a line.
func (l *long) add(p []byte) {
	l.runes += utf8.RuneCount(p)
	if room := utf8.UTFMax*l.limit + utf8.UTFMax - len(l.head); room > 0 {
		l.head = append(l.head, wholeRunes(p, room)...)
	}
	l.buf = append(l.buf, p...)
	if len(l.buf) >= longBuffer && l.runes > l.limit {
		l.flush()
	}
}

// wholeRunes returns the beginning of p with at most n bytes, cut between
// characters.
func wholeRunes(p []byte, n int) []byte {
	if n >= len(p) {
		return p
	}
	for n > 0 && !utf8.RuneStart(p[n]) {
		n--
	}
	return p[:n]
}

// flush stores the buffer and retains the end of the text in tail.
func (l *long) flush() {
	l.tail = append(l.tail, l.buf...)
	if extra := len(l.tail) - utf8.UTFMax*l.limit; extra > 0 {
		for extra < len(l.tail) && !utf8.RuneStart(l.tail[extra]) {
			extra++
		}
		l.tail = l.tail[:copy(l.tail, l.tail[extra:])]
	}
	if l.err == nil && l.file == nil {
		l.file, l.err = l.create()
	}
	if l.err == nil {
		_, l.err = l.file.Write(l.buf)
	}
	l.buf = l.buf[:0]
}

// Mark returns a function that removes everything written after the call of
// Mark. A storing error remains.
func (l *long) Mark() (undo func()) {
	state, head := l.longState, len(l.head)
	buf, tail := bytes.Clone(l.buf), bytes.Clone(l.tail)
	var size int64
	if l.file != nil {
		size = l.file.Size()
	}
	return func() {
		err := l.err
		l.longState, l.buf, l.tail, l.head = state, append(l.buf[:0], buf...), append(l.tail[:0], tail...), l.head[:head]
		if l.err = err; l.err == nil && l.file != nil {
			l.err = l.file.Truncate(size)
		}
	}
}

// Text ends the text and returns it. A text over the limit is returned as an
// excerpt.
func (l *long) Text() string {
	if l.ended = true; l.runes <= l.limit {
		if l.file != nil { // undo has brought the text back within the limit
			l.file.Discard()
		}
		return string(l.buf)
	}
	l.flush()
	var path string
	if l.file != nil {
		path = l.file.Path()
		if l.err != nil {
			l.file.Discard()
		} else if err := l.file.Close(); err != nil {
			l.err = fmt.Errorf("storing a result: %w", err)
		}
	}
	return l.excerpt(path)
}

// Discard ends the text. It removes the stored file unless Text was called
// before.
func (l *long) Discard() {
	if !l.ended && l.file != nil {
		l.file.Discard()
	}
	l.ended = true
}

// excerpt returns the ends of the text in the same form as preview.
func (l *long) excerpt(path string) string {
	head, tail := shares(l.limit, l.keep)
	first, last := cutHead(string(l.head), head), ""
	if l.keep != tools.ExcerptHead {
		last = cutTail(string(l.tail), tail)
	}
	e := excerpt{first: first, last: last, runes: l.runes, lines: l.breaks}
	before := strings.TrimSuffix(string(l.tail), last)
	e.gapRunes = l.runes - utf8.RuneCountInString(first) - utf8.RuneCountInString(last)
	e.gapLines = l.breaks - strings.Count(first, "\n") - strings.Count(last, "\n")
	if !strings.HasSuffix(before, "\n") {
		e.gapLines++
	}
	if l.column > 0 {
		e.lines++
	}
	return e.text(stored(path, l.err))
}
