package match

import "bytes"

// Text is a text to search, or a part of it that consists of whole lines.
type Text struct {
	Data       []byte
	Begin, End bool // whether Data begins, ends the text
	// Stop reports now and then whether to end a search. nil means never.
	Stop func() bool
}

// piece returns a part of the data.
func (t Text) piece(start, end int) Text {
	return Text{t.Data[start:end], t.Begin && start == 0, t.End && end == len(t.Data), t.Stop}
}

// Lines calls yield for every line with a match, in order and once each, until yield
// returns false. The line is given as offsets into the data, without the newline.
func (m *Matcher) Lines(t Text, yield func(start, end int) bool) {
	if m.spans {
		m.spanning(t, yield)
		return
	}
	if m.lines != nil && t.atOnce() {
		m.lines.Part(t.Begin, t.End).Lines(t.Data, yield)
		return
	}
	m.inPieces(t, func(p Text, at int) (more bool) {
		more = true
		each := func(start, end int) bool {
			more = yield(at+start, at+end)
			return more
		}
		if m.lines != nil {
			m.lines.Part(p.Begin, p.End).Lines(p.Data, each)
			return more
		}
		eachLine(p.Data, func(start, end int) bool {
			return !m.within(p.piece(start, end)) || each(start, end)
		})
		return more
	})
}

// pieceBytes is the size of the text searched between calls of Stop. The slowest
// patterns, for which the automaton is of no help, search about 2 MB per second.
const pieceBytes = 256 << 10

// atOnce reports whether a text is short enough to be searched without calling Stop.
func (t Text) atOnce() bool { return t.Stop == nil || len(t.Data) <= pieceBytes }

// inPieces calls do for pieces of whole lines of a text, with their offset, until do
// returns false.
func (m *Matcher) inPieces(t Text, do func(p Text, at int) (more bool)) {
	for at := 0; at < len(t.Data); {
		end := len(t.Data)
		if !t.piece(at, end).atOnce() {
			if at > 0 && t.Stop() {
				return
			}
			if n := bytes.IndexByte(t.Data[at+pieceBytes:], '\n'); n >= 0 {
				end = at + pieceBytes + n + 1
			}
		}
		if !do(t.piece(at, end), at) {
			return
		}
		at = end
	}
}

// within reports whether t, taken as one text, has a match.
func (m *Matcher) within(t Text) bool { return m.text.Part(t.Begin, t.End).Match(t.Data) }

// Count counts the lines that Lines would yield.
func (m *Matcher) Count(t Text) (n int) {
	if m.lines != nil {
		m.inPieces(t, func(p Text, _ int) bool {
			n += m.lines.Part(p.Begin, p.End).Count(p.Data)
			return true
		})
		return n
	}
	m.Lines(t, func(int, int) bool { n++; return true })
	return n
}

// Any reports whether a line matches.
func (m *Matcher) Any(t Text) bool {
	found := false
	if m.lines != nil {
		m.inPieces(t, func(p Text, _ int) bool {
			found = m.lines.Part(p.Begin, p.End).Any(p.Data)
			return !found
		})
		return found
	}
	m.Lines(t, func(int, int) bool { found = true; return false })
	return found
}

// Spans returns up to max matches in a line, as if it were the whole text; all if max
// is negative. For a pattern that spans lines it returns none; see Matches.
func (m *Matcher) Spans(line []byte, max int) [][2]int {
	return m.spansAt(Text{Data: line, Begin: true, End: true}, max)
}

// LineSpans returns the matches in the line from start to end, which Lines yielded.
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
	var list [][2]int
	m.text.Part(line.Begin, line.End).Each(line.Data, line.Stop, func(start, end int) bool {
		list = append(list, [2]int{start, end})
		return len(list) != max
	})
	return list
}

// Matches calls yield for each match of a pattern that spans lines, in order, until
// yield returns false. It leaves out an empty match that touches the match before.
func (m *Matcher) Matches(t Text, yield func(start, end int) bool) {
	if !m.spans || len(t.Data) == 0 || !m.possible(t.Data) {
		return
	}
	m.text.Part(t.Begin, t.End).Each(t.Data, t.Stop, yield)
}

// spanning yields the lines that the matches of a text touch.
func (m *Matcher) spanning(t Text, yield func(start, end int) bool) {
	data, next := t.Data, 0 // the first line not yielded yet begins at next
	touch := func(from, to int) bool {
		if from == len(data) && data[from-1] == '\n' {
			return false // after the last line
		}
		start := next // earlier lines were yielded: a line may have many matches
		if from > next {
			start += bytes.LastIndexByte(data[next:from], '\n') + 1
		}
		for ; start < to || start <= from; start = next {
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

// emptyAt reports whether there is an empty match in the line after a match that ends
// with a newline. Matches leaves it out because it touches that match, but it is in
// another line: for example, ^\s*$ matches in each of several empty lines.
func (m *Matcher) emptyAt(t Text, from, to int) bool {
	if from == to || to == len(t.Data) || t.Data[to-1] != '\n' {
		return false
	}
	return m.text.Part(false, t.End).EmptyFirst(t.Data[to:])
}

// eachLine calls f for each line until f returns false.
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
