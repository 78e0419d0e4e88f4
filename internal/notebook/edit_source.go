package notebook

import (
	"bytes"
	"slices"
	"strings"
)

// source is text as a source in JSON. It has the form that the source of the
// cell at index at has, else that of the first cell which has one, else a list;
// list and cell are the layouts around it. What text has in common with old, a
// source or nothing, is written as it is there.
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

// sourceOf is the source of a cell.
func sourceOf(cell value) value {
	f, _ := cell.fields(place{}, []string{"source"}) // Parse has refused doubled ones
	return f.of("source")
}

// form says whether a source is one string or, if a list, how its lines stand:
// as in the first list that shows how so many lines stand in such a cell.
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

// pieces divides text into lines, escaped for JSON. Those which begin and end
// an old source too are as they are there: it may have escapes of another kind,
// or what is no text and was shown as U+FFFD.
func (d *draft) pieces(old value, text string) [][]byte {
	was := linesOf(old)
	head, from := 0, 0 // of was and of text: what stays at the begin
	for i, at := 0, 0; i < len(was) && strings.HasPrefix(text[at:], was[i].text); i++ {
		if at += len(was[i].text); at == 0 || at == len(text) || text[at-1] == '\n' {
			head, from = i+1, at
		}
	}
	tail, to := len(was), len(text) // and at the end
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
