package match

import "bytes"

// Matches of a text are found in batches that grow: at first few, since a search
// may need no more, and never so many that they take much memory, unless they
// lie in one line.
const firstBatch, fullBatch = 4, 1 << 12

// Text is a text to search, or a part of it made of whole lines.
type Text struct {
	Data       []byte
	Begin, End bool // it begins, ends the text
}

// piece is a part of the data with its place in the text.
func (t Text) piece(start, end int) Text {
	return Text{t.Data[start:end], t.Begin && start == 0, t.End && end == len(t.Data)}
}

// Lines calls yield for every line with a match, in order and each once, as
// offsets into the data without the newline, until yield returns false.
func (m *Matcher) Lines(t Text, yield func(start, end int) bool) {
	switch {
	case m.lines != nil:
		m.lines.Part(t.Begin, t.End).Lines(t.Data, yield)
	case m.spans:
		m.spanning(t, yield)
	default:
		eachLine(t.Data, func(start, end int) bool {
			return !m.within(t.piece(start, end)) || yield(start, end)
		})
	}
}

// within reports whether a text, taken as one, has a match.
func (m *Matcher) within(t Text) bool { return m.slow.of(t.Begin, t.End).Match(t.Data) }

// Count counts the lines that Lines would give.
func (m *Matcher) Count(t Text) (n int) {
	if m.lines != nil {
		return m.lines.Part(t.Begin, t.End).Count(t.Data)
	}
	m.Lines(t, func(int, int) bool { n++; return true })
	return n
}

// Any reports whether a line matches.
func (m *Matcher) Any(t Text) bool {
	if m.lines != nil {
		start, _ := m.lines.Part(t.Begin, t.End).First(t.Data)
		return start >= 0
	}
	found := false
	m.Lines(t, func(int, int) bool { found = true; return false })
	return found
}

// Spans are the matches in a line, as if that were the text, up to max of them,
// all if max is negative. Of a pattern that spans lines it is none; see Matches.
func (m *Matcher) Spans(line []byte, max int) [][2]int {
	return m.spansAt(Text{line, true, true}, max)
}

// LineSpans are the matches in the line that Lines gave at start and end.
func (m *Matcher) LineSpans(t Text, start, end int) [][2]int {
	return m.spansAt(t.piece(start, end), -1)
}

func (m *Matcher) spansAt(line Text, max int) [][2]int {
	switch {
	case m.lines != nil:
		return m.lines.Part(line.Begin, line.End).Spans(line.Data, max)
	case m.spans:
		return nil
	}
	found := m.slow.of(line.Begin, line.End).FindAllIndex(line.Data, max)
	list := make([][2]int, len(found))
	for i, f := range found {
		list[i] = [2]int{f[0], f[1]}
	}
	return list
}

// Matches calls yield for each match of a pattern that spans lines, in order,
// until it returns false. An empty match that touches the one before is left
// out.
func (m *Matcher) Matches(t Text, yield func(start, end int) bool) {
	if !m.spans || len(t.Data) == 0 || !m.possible(t.Data) {
		return
	}
	batch := firstBatch
	for from := 0; ; {
		rest := t.piece(from, len(t.Data))
		found := m.slow.of(rest.Begin, rest.End).FindAllIndex(rest.Data, batch)
		sure, next := len(found), -1
		if len(found) == batch {
			if sure, next = resume(rest.Data, found); sure == 0 {
				batch *= 4
				continue
			}
		}
		for _, f := range found[:sure] {
			if !yield(from+f[0], from+f[1]) {
				return
			}
		}
		if next < 0 {
			return
		}
		from += next
		batch = max(batch, min(4*batch, fullBatch))
	}
}

// resume is where the search can go on, and how many matches lie before that.
// Package regexp cannot go on from a place, with what it looks at before it; but
// at the beginning of a line between two matches that makes no difference.
func resume(data []byte, found [][]int) (matches, next int) {
	for k := len(found) - 1; k > 0; k-- {
		end, start := found[k-1][1], found[k][0]
		if i := bytes.LastIndexByte(data[end:start], '\n'); i >= 0 {
			return k, end + i + 1
		}
	}
	return 0, -1
}

// spanning gives the lines that matches of a text touch.
func (m *Matcher) spanning(t Text, yield func(start, end int) bool) {
	data, next := t.Data, 0 // the first line not given yet begins at next
	touch := func(from, to int) bool {
		if from == len(data) && data[from-1] == '\n' {
			return false // behind the last line
		}
		start := bytes.LastIndexByte(data[:from], '\n') + 1
		for start = max(start, next); start < to || start <= from; start = next {
			end := len(data)
			if n := bytes.IndexByte(data[start:], '\n'); n >= 0 {
				end = start + n
			}
			if !yield(start, end) {
				return false
			}
			next = end + 1
		}
		return true
	}
	m.Matches(t, func(from, to int) bool {
		return touch(from, to) && (!m.emptyAt(t, from, to) || touch(to, to))
	})
}

// emptyAt reports whether there is an empty match in the line behind a match
// that ends with a newline. Matches leaves it out, as one that touches that
// match, but it is in another line: ^\s*$ is in all of several empty lines.
func (m *Matcher) emptyAt(t Text, from, to int) bool {
	if from == to || to == len(t.Data) || t.Data[to-1] != '\n' {
		return false
	}
	found := m.slow.of(false, t.End).FindIndex(t.Data[to:])
	return found != nil && found[1] == 0
}

// eachLine calls f for each line until it returns false.
func eachLine(data []byte, f func(start, end int) bool) {
	for start := 0; start < len(data); {
		end := len(data)
		if n := bytes.IndexByte(data[start:], '\n'); n >= 0 {
			end = start + n
		}
		if !f(start, end) {
			return
		}
		start = end + 1
	}
}
