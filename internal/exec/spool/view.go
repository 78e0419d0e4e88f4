package spool

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/text/terminal"
)

const (
	// headShare is the divisor that gives the head's share of a view.
	headShare = 6
	// maxWindow is the limit of output read for each end of a view, in bytes. Output that consists
	// mostly of escape sequences gives a shorter view.
	maxWindow = 4 << 20
	// maxLast is the limit of the last line, in characters.
	maxLast = 200
)

// View is the text of a log for a model. Head holds all of it, or its start with the end in Tail
// and Gap between.
type View struct {
	Head, Tail string
	Gap        Gap
	Binary     bool // the source of Head and Tail is not text
}

// Gap is the part that a view omits: the output from From on and before To. If it begins or ends
// within a line that was overwritten, the offset is that of the line's start.
type Gap struct {
	From, To int64 // offsets in bytes of the output
	Lines    int64 // newlines in the gap
}

// Bytes returns the size of the gap in bytes.
func (g Gap) Bytes() int64 { return g.To - g.From }

// Size describes the size of the gap: in lines and bytes, or in bytes if it has no newline.
func (g Gap) Size() string {
	switch g.Lines {
	case 0:
		return fmt.Sprintf("%d bytes", g.Bytes())
	case 1:
		return fmt.Sprintf("1 line (%d bytes)", g.Bytes())
	}
	return fmt.Sprintf("%d lines (%d bytes)", g.Lines, g.Bytes())
}

// visibleRow is a row with its visible text, including its newline.
type visibleRow struct {
	row
	text  string
	chars int
}

func look(w *row) visibleRow {
	text := terminal.AppendLine(nil, w.raw)
	if w.newline {
		text = append(text, '\n')
	}
	return visibleRow{row: *w, text: string(text), chars: utf8.RuneCount(text)}
}

// View returns a view of at most limit characters, mostly of the end. It can be called at any time.
// It does not include later output.
func (l *Log) View(limit int) (View, error) { return l.Excerpt(limit, limit) }

// Excerpt returns a view of all output if that has at most limit characters, otherwise one of at
// most short characters.
func (l *Log) Excerpt(limit, short int) (View, error) {
	return l.ExcerptAfter(Mark{}, limit, short)
}

// ExcerptAfter is Excerpt of the output after a mark. Gap has offsets in the whole output.
func (l *Log) ExcerptAfter(m Mark, limit, short int) (v View, err error) {
	s, err := l.snapshot()
	if err != nil {
		return View{}, err
	}
	defer s.close()
	s.after(m)
	defer func() {
		if v.Gap != (Gap{}) {
			v.Gap.From, v.Gap.To = v.Gap.From+m.offset, v.Gap.To+m.offset
		}
	}()
	v, err = s.view(max(limit, 0), maxWindow)
	if err != nil || v.Gap == (Gap{}) || short >= limit {
		return v, err
	}
	return s.view(max(short, 0), maxWindow)
}

func (s *snapshot) view(limit int, window int64) (View, error) {
	lowest := int64(0)
	if s.resume > s.stored {
		lowest = s.resume
	}
	var tail []visibleRow
	var from int64
	for win := max(2*int64(limit), 2*block); ; win *= 2 {
		win = min(win, window)
		var err error
		var forced bool
		if from, forced, err = rowAt(s, max(0, s.size-win)/block*block, lowest, s.size); err != nil {
			return View{}, err
		}
		var chars int
		if tail, chars, err = s.rows(from, forced, s.size, -1); err != nil {
			return View{}, err
		}
		if from == 0 && chars <= limit {
			return View{Head: joined(tail), Binary: binary(tail)}, nil
		}
		if chars > limit || from == lowest || win == window {
			break
		}
	}
	var kinds tally // of more than is shown: the ends of a program can look like text
	kinds.addRows(tail)
	budget := limit / headShare
	tail, end := lastOf(tail, limit-budget)
	v := View{Tail: joined(tail)}
	v.Gap.To = end
	stop := min(end, s.stored)
	if end > s.stored && lowest == 0 {
		stop = end
	}
	head, _, err := s.rows(0, false, stop, budget)
	if err != nil {
		return View{}, err
	}
	head, v.Gap.From = firstOf(head, budget)
	v.Head = joined(head)
	kinds.addRows(head)
	v.Binary = kinds.binary() || binary(slices.Concat(head, tail))
	v.Gap.Lines = s.lines - newlines(head) - newlines(tail)
	return v, nil
}

// rows returns the rows between two offsets. It stops when they exceed limit characters, unless
// limit is negative. With a limit it also stops after maxWindow bytes.
func (s *snapshot) rows(from int64, forced bool, to int64, limit int) (list []visibleRow, chars int, err error) {
	r := &rows{src: s, size: s.size, base: from, forced: forced, final: s.final}
	if to < s.size && s.resume > s.stored {
		r.size, r.final = s.stored, true // what follows is unknown
	}
	for {
		w, err := r.next()
		if err != nil {
			return nil, 0, err
		}
		if w == nil || w.start >= to || limit >= 0 && (chars > limit || w.start-from > maxWindow) {
			return list, chars, nil
		}
		one := look(w)
		list = append(list, one)
		chars += one.chars
	}
}

// firstOf returns the first rows that fit into limit characters, and the offset at which the rest
// begins. It cuts a line only if more than half the room would otherwise be unused.
func firstOf(list []visibleRow, limit int) (first []visibleRow, next int64) {
	used := 0
	for i, one := range list {
		if used+one.chars > limit {
			if used >= limit/2 {
				return list[:i], one.start
			}
			size, whole, ok := terminal.Offset(one.raw, limit-used)
			if next = one.from + int64(size); !ok {
				next, whole = one.start, limit-used
			}
			one.text, one.newline = cutAfter(one.text, whole), false
			return append(list[:i:i], one), next
		}
		used += one.chars
		next = one.end
	}
	return list, next
}

// lastOf does the same from the other end.
func lastOf(list []visibleRow, limit int) (last []visibleRow, start int64) {
	used := 0
	for i := len(list) - 1; i >= 0; i-- {
		one := list[i]
		if used+one.chars > limit {
			if used >= limit/2 {
				return list[i+1:], one.end
			}
			skip := one.chars - (limit - used)
			size, _, ok := terminal.Offset(one.raw, skip)
			if start = one.from + int64(size); !ok {
				start = one.start
			}
			one.text = strings.TrimPrefix(one.text, cutAfter(one.text, skip))
			return append([]visibleRow{one}, list[i+1:]...), start
		}
		used += one.chars
		start = one.start
	}
	return list, start
}

// cutAfter returns the first n characters of a text.
func cutAfter(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}

func joined(list []visibleRow) string {
	var b strings.Builder
	for _, one := range list {
		b.WriteString(one.text)
	}
	return b.String()
}

func newlines(list []visibleRow) (n int64) {
	for _, one := range list {
		if one.newline {
			n++
		}
	}
	return n
}

// LastLine returns the last line that is not blank, truncated to maxLast characters. It returns ""
// if there is none near the end.
func (l *Log) LastLine() string {
	s, err := l.snapshot()
	if err != nil {
		return ""
	}
	defer s.close()
	lowest := int64(0)
	if s.resume > s.stored {
		lowest = s.resume
	}
	from, forced, err := rowAt(s, max(0, s.size-block)/block*block, lowest, s.size)
	if err != nil {
		return ""
	}
	list, _, err := s.rows(from, forced, s.size, -1)
	if err != nil {
		return ""
	}
	for i := len(list) - 1; i >= 0; i-- {
		if line := strings.TrimSpace(list[i].text); line != "" {
			return cutAfter(line, maxLast)
		}
	}
	return ""
}
