package spool

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// headShare is what part of a view its head is.
	headShare = 6
	// maxWindow is how much is read for each end of a view, in bytes: output
	// that is nearly all escape sequences gives a shorter view.
	maxWindow = 4 << 20
	// maxLast is the longest last line, in characters.
	maxLast = 200
)

// View is what a model sees of a log: all of it in Head, or the begin in Head
// and the end in Tail with Gap between.
type View struct {
	Head, Tail string
	Gap        Gap
	Binary     bool // what Head and Tail come from is no text
}

// Gap is what a view leaves out: what Log.Read gives from From on, and
// everything before To. Where a line that was written over is cut, the offsets
// are those of its start.
type Gap struct {
	From, To int64 // offsets in bytes of the output
	Lines    int64 // newlines in between
}

// Bytes is how much of the output is left out.
func (g Gap) Bytes() int64 { return g.To - g.From }

// Size returns the size of the gap in words: in lines and bytes, or in bytes if it
// has no newline.
func (g Gap) Size() string {
	switch g.Lines {
	case 0:
		return fmt.Sprintf("%d bytes", g.Bytes())
	case 1:
		return fmt.Sprintf("1 line (%d bytes)", g.Bytes())
	}
	return fmt.Sprintf("%d lines (%d bytes)", g.Lines, g.Bytes())
}

// seen is a row as it is seen, with its newline.
type seen struct {
	row
	text  string
	chars int
}

func look(w *row) seen {
	text := clean(nil, w.raw)
	if w.newline {
		text = append(text, '\n')
	}
	return seen{row: *w, text: string(text), chars: utf8.RuneCount(text)}
}

// View makes a view of at most limit characters, mostly of the end. It can be
// made at any time; what is printed meanwhile is not in it.
func (l *Log) View(limit int) (View, error) { return l.Excerpt(limit, limit) }

// Excerpt makes a view of all output if that has at most limit characters, else
// one of at most short characters.
func (l *Log) Excerpt(limit, short int) (View, error) {
	s, err := l.snapshot()
	if err != nil {
		return View{}, err
	}
	defer s.close()
	v, err := s.view(max(limit, 0), maxWindow)
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
	var tail []seen
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
	v.Binary = binary(slices.Concat(head, tail))
	v.Gap.Lines = s.lines - newlines(head) - newlines(tail)
	return v, nil
}

// rows are the rows from one offset to another, until they have more than limit
// characters, if limit is not negative, or the window is read.
func (s *snapshot) rows(from int64, forced bool, to int64, limit int) (list []seen, chars int, err error) {
	r := &rows{src: s, size: s.size, base: from, forced: forced, final: s.final}
	if to < s.size && s.resume > s.stored {
		r.size, r.final = s.stored, true // behind it nothing is known
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

// firstOf is the first of rows that limit characters have room for, and the
// offset at which what follows begins. A line is cut only if most of the room
// would be left.
func firstOf(list []seen, limit int) (first []seen, next int64) {
	used := 0
	for i, one := range list {
		if used+one.chars > limit {
			if used >= limit/2 {
				return list[:i], one.start
			}
			size, whole, ok := offset(one.raw, limit-used)
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

// lastOf is the same from the other end.
func lastOf(list []seen, limit int) (last []seen, start int64) {
	used := 0
	for i := len(list) - 1; i >= 0; i-- {
		one := list[i]
		if used+one.chars > limit {
			if used >= limit/2 {
				return list[i+1:], one.end
			}
			skip := one.chars - (limit - used)
			size, _, ok := offset(one.raw, skip)
			if start = one.from + int64(size); !ok {
				start = one.start
			}
			one.text = strings.TrimPrefix(one.text, cutAfter(one.text, skip))
			return append([]seen{one}, list[i+1:]...), start
		}
		used += one.chars
		start = one.start
	}
	return list, start
}

// cutAfter is the first n characters of a text.
func cutAfter(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}

func joined(list []seen) string {
	var b strings.Builder
	for _, one := range list {
		b.WriteString(one.text)
	}
	return b.String()
}

func newlines(list []seen) (n int64) {
	for _, one := range list {
		if one.newline {
			n++
		}
	}
	return n
}

// LastLine is the last line that is not blank, cut to what fits a line of a
// person's screen; "" if there is none near the end.
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
