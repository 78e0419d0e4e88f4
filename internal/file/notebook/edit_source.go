package notebook

import (
	"bytes"
	"slices"
	"strings"
)

// source returns text as a source in JSON. It has the form of the source of the cell at index at,
// otherwise of the first cell with a source, otherwise a list. list and cell are the layouts around
// it. Lines that text has in common with old, which is a source or absent, are written as they are
// there.
func (d *draft) source(text string, at int, list, cell layout, old value) []byte {
	pieces := d.pieces(old, text)
	oneString, l := d.form(at, list, cell, len(pieces))
	var b bytes.Buffer
	switch {
	case oneString:
		b.WriteByte('"')
		for _, p := range pieces {
			b.Write(p)
		}
		b.WriteByte('"')
	case len(pieces) == 0:
		b.WriteString("[]")
	default:
		b.WriteString("[" + l.open)
		for i, p := range pieces {
			if i > 0 {
				b.WriteString(l.between)
			}
			b.WriteByte('"')
			b.Write(p)
			b.WriteByte('"')
		}
		b.WriteString(l.close + "]")
	}
	return b.Bytes()
}

// sourceOf returns the source of a cell.
func sourceOf(cell value) value {
	f, _ := cell.fields(place{}, []string{"source"}) // Parse has rejected duplicate keys
	return f.of("source")
}

// form reports whether a source is one string, or returns the layout of its list. The layout is
// that of the first list that shows it for this number of lines in a cell with the same layout.
func (d *draft) form(at int, list, cell layout, lines int) (oneString bool, l layout) {
	near := d.cells[min(at, len(d.cells)):min(at+1, len(d.cells))]
	kind := ""
	for _, c := range slices.Concat(near, d.cells) {
		source := sourceOf(c)
		if kind == "" {
			kind = source.kind()
		}
		if kind == isString {
			return true, layout{}
		}
		items := 0
		for range source.items() {
			if items++; items == min(max(lines, 1), 2) && layoutOf(c, list).open == cell.open {
				return false, layoutOf(source, cell)
			}
		}
	}
	l = cell.inside()
	if !cell.broken() && !list.broken() {
		l.open, l.close = list.open, list.close // as another list on one line
	}
	return false, l
}

// pieces splits text into lines, escaped for JSON. Lines at the start and the end that the old
// source has too are copied from there: it may have escapes of another kind, or invalid text that
// was shown as U+FFFD.
func (d *draft) pieces(old value, text string) [][]byte {
	was := linesOf(old)
	head, from := 0, 0 // ends of the unchanged start, in was and in text
	for i, at := 0, 0; i < len(was) && strings.HasPrefix(text[at:], was[i].text); i++ {
		if at += len(was[i].text); at == 0 || at == len(text) || text[at-1] == '\n' {
			head, from = i+1, at
		}
	}
	tail, to := len(was), len(text) // starts of the unchanged end
	for i, at := len(was)-1, len(text); i >= head && strings.HasSuffix(text[from:at], was[i].text); i-- {
		if at -= len(was[i].text); at == from || text[at-1] == '\n' {
			tail, to = i, at
		}
	}
	var pieces [][]byte
	for _, l := range was[:head] {
		pieces = append(pieces, l.raw)
	}
	ascii := d.ascii()
	for line := range strings.Lines(text[from:to]) {
		pieces = append(pieces, escape(line, ascii))
	}
	for _, l := range was[tail:] {
		pieces = append(pieces, l.raw)
	}
	return pieces
}
