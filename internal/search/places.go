package search

import (
	"iter"

	"mcp-toolset/internal/search/match"
)

// places finds the first match in long lines of a text. Few lines are long enough, so
// matches that span lines are searched a second time only for these.
type places struct {
	m *match.Matcher
	t match.Text

	next     func() (start, end int, ok bool)
	stop     func()
	from, to int // the last match looked at
}

// in returns the offset of the first match in the line from start to end, relative to
// start, or 0 if the match begins before the line. Lines must be passed in order.
func (p *places) in(start, end int) int {
	if !p.m.Spanning() {
		if s := p.m.Spans(p.t.Data[start:end], 1); len(s) > 0 {
			return s[0][0]
		}
		return 0
	}
	ok := true
	if p.next == nil {
		p.next, p.stop = iter.Pull2(func(yield func(start, end int) bool) { p.m.Matches(p.t, yield) })
		p.from, p.to, ok = p.next()
	}
	for ok && p.to <= start && p.from < start {
		p.from, p.to, ok = p.next()
	}
	if p.from < start || p.from > end {
		return 0
	}
	return p.from - start
}

// end must be called after the last line.
func (p *places) end() {
	if p.stop != nil {
		p.stop()
	}
}
