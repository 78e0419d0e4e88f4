package notebook

import (
	"bytes"
	"iter"
	"strings"
)

// longestSpace is the limit of white space between two parts that is copied, in bytes. It is far
// more than any indentation, and so small that no file makes an answer many times its own size.
const longestSpace = 200

// space is the white space that JSON allows between its parts.
const space = " \t\r\n"

// layout describes the white space and separators of a list or an object. It is taken from the
// file, not from a table of known forms.
type layout struct {
	open, close string // after the opening and before the closing bracket
	between     string // between two parts, including the comma
	colon       string // between a key and its value, including the colon
}

// layoutOf returns the layout of a list or an object. If it has too few parts to show all of it,
// the rest follows the layout around it.
func layoutOf(v value, around layout) layout {
	inside := v.data[v.from+1 : v.to-1]
	head, tail := bytes.TrimLeft(inside, space), bytes.TrimRight(inside, space)
	if len(head) == 0 {
		return around.inside()
	}
	l := layout{open: lastLine(inside[:len(inside)-len(head)]), close: lastLine(inside[len(tail):]), colon: around.colon}
	l.between = around.comma(l.broken())
	if l.broken() {
		l.between += l.open
	}
	end := 0 // of the first part
	for key, item := range v.parts() {
		if end > 0 {
			l.between = short(v.data[end:key.from], l.between)
			break
		}
		if end = item.to; key.from != item.from {
			l.colon = short(v.data[key.to:item.from], l.colon)
		}
	}
	return l
}

// parts returns the entries of an object, or each item of a list twice.
func (v value) parts() iter.Seq2[value, value] {
	if v.kind() == isObject {
		return v.entries()
	}
	return func(yield func(value, value) bool) {
		for item := range v.items() {
			if !yield(item, item) {
				return
			}
		}
	}
}

// short returns text of a file, or other if text is too long to copy.
func short(text []byte, other string) string {
	if len(text) > longestSpace {
		return other
	}
	return string(text)
}

// lastLine returns the white space on the line of a part, with the preceding line ending. If there
// is only one line, it returns all of it.
func lastLine(between []byte) string {
	i := bytes.LastIndexAny(between, "\r\n")
	if i > 0 && string(between[i-1:i+1]) == "\r\n" {
		i--
	}
	return short(between[max(i, 0):], "")
}

// broken reports whether the parts are on lines of their own.
func (l layout) broken() bool { return strings.ContainsAny(l.open, "\r\n") }

// comma returns the comma between parts, on the same line or at the end of a line. Some writers add
// a space after it even there.
func (l layout) comma(broken bool) string {
	comma := l.between
	if i := strings.IndexAny(comma, "\r\n"); i >= 0 {
		comma = comma[:i]
	}
	switch {
	case l.broken() == broken && strings.Contains(comma, ","):
		return comma
	case !broken && strings.HasSuffix(l.colon, " "):
		return ", "
	}
	return ","
}

// inside returns the layout of a list or an object nested in this one.
func (l layout) inside() layout {
	in := layout{between: l.comma(l.broken()), colon: l.colon}
	if !l.broken() {
		return in
	}
	unit, ok := strings.CutPrefix(l.open, l.close)
	if !ok || l.close == "" {
		unit = " " // as nbformat does
	}
	in.open, in.close = l.open+unit, l.open
	in.between += in.open
	return in
}

// layouts returns the layouts of the list of cells and of the cell at index at. If there is no such
// cell, it returns the layout for a first cell.
func (d *draft) layouts(at int) (list, cell layout) {
	root := layoutOf(d.root, layout{between: ", ", colon: ": "})
	list = layoutOf(d.list, root)
	if at < len(d.cells) {
		return list, layoutOf(d.cells[at], list)
	}
	cell = list.inside()
	if !root.broken() {
		cell.open, cell.close = root.open, root.close
	}
	return list, cell
}
