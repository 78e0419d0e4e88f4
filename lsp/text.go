package lsp

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// bom is the mark at the start of some files. No server gets it, so that columns of the
// first line are those that an editor shows.
const bom = "\ufeff"

// Text is the content of a file in lines, without a byte order mark.
type Text struct {
	content string
	starts  []int // offset of each line
	mark    bool  // the file begins with a byte order mark
}

// errNotText is the error of NewText for content that is not valid UTF-8.
var errNotText = errors.New("it is no text in UTF-8")

// NewText returns the text of a file.
func NewText(data []byte) (*Text, error) {
	if !utf8.Valid(data) {
		return nil, errNotText
	}
	t := &Text{starts: []int{0}}
	t.content, t.mark = strings.CutPrefix(string(data), bom)
	for i := 0; ; {
		n := strings.IndexByte(t.content[i:], '\n')
		if n < 0 {
			return t, nil
		}
		i += n + 1
		t.starts = append(t.starts, i)
	}
}

// Content returns the text as servers get it.
func (t *Text) Content() string { return t.content }

// Lines returns the number of lines.
func (t *Text) Lines() int { return len(t.starts) }

// Line returns a line from 0, without its end. It returns "" for a line that does not exist.
func (t *Text) Line(n int) string {
	if n < 0 || n >= len(t.starts) {
		return ""
	}
	end := len(t.content)
	if n+1 < len(t.starts) {
		end = t.starts[n+1] - 1
	}
	return strings.TrimSuffix(t.content[t.starts[n]:end], "\r")
}

// Position returns the line from 0 and the offset in it of an offset in the content.
func (t *Text) Position(offset int) (line, column int) {
	line, found := slices.BinarySearch(t.starts, offset)
	if !found {
		line--
	}
	return line, offset - t.starts[line]
}

// offset returns the offset in the content of a position of a server. A position outside of
// the text is moved to the nearest one in it, as the protocol demands for characters; ok
// reports whether the line exists.
func (t *Text) offset(p Position, utf8 bool) (offset int, ok bool) {
	if p.Line < 0 {
		return 0, false
	}
	if p.Line >= len(t.starts) {
		return len(t.content), p.Line == len(t.starts) && p.Character <= 0
	}
	return t.starts[p.Line] + bytesOf(t.Line(p.Line), p.Character, utf8), true
}

// unitsOf returns the units of a server in the first n bytes of a line.
func unitsOf(line string, n int, utf8 bool) int {
	n = min(max(n, 0), len(line))
	if utf8 {
		return n
	}
	units := 0
	for _, r := range line[:n] {
		units++
		if r > 0xffff {
			units++
		}
	}
	return units
}

// bytesOf returns the number of bytes in the first units of a line.
func bytesOf(line string, units int, inUTF8 bool) int {
	if inUTF8 {
		n := min(max(units, 0), len(line))
		for n > 0 && n < len(line) && !utf8.RuneStart(line[n]) {
			n--
		}
		return n
	}
	for i, r := range line {
		if units <= 0 {
			return i
		}
		units--
		if r > 0xffff {
			units--
		}
	}
	return len(line)
}

// Apply returns the content with edits applied, as the file holds it. Edits must not
// overlap; those at one place are applied in their order.
func (t *Text) Apply(edits []TextEdit, utf8 bool) (string, error) {
	type span struct {
		from, to int
		text     string
	}
	var spans []span
	for _, e := range edits {
		from, ok := t.offset(e.Range.Start, utf8)
		to, also := t.offset(e.Range.End, utf8)
		// Some servers replace a whole text by a range to a line far after its end.
		if !ok || to < from || !also && to != len(t.content) {
			return "", errors.New("an edit is outside of the text")
		}
		spans = append(spans, span{from, to, e.NewText})
	}
	slices.SortStableFunc(spans, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	if t.mark {
		b.WriteString(bom)
	}
	at := 0
	for _, s := range spans {
		if s.from < at {
			return "", errors.New("two edits overlap")
		}
		b.WriteString(t.content[at:s.from])
		b.WriteString(s.text)
		at = s.to
	}
	b.WriteString(t.content[at:])
	return b.String(), nil
}

// Start returns the offset in the content of the start of a line from 0.
func (t *Text) Start(line int) int {
	if line < 0 || line >= len(t.starts) {
		return len(t.content)
	}
	return t.starts[line]
}
