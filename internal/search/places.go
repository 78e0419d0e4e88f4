package search

import (
	"iter"

	"mcp-toolset/internal/search/match"
)

// places says where in the lines of a text the matches are. Few lines are so
// long that anybody asks: only then matches that span lines are sought a second
// time.
type places struct {
	m *match.Matcher
	t match.Text

	next     func() (start, end int, ok bool)
	stop     func()
	from, to int // the match looked at last
}

// in is where the first match begins in the line at start and end, counted from
// its beginning; 0 if it begins before. Lines are asked about in their order.
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

// end is due when no more lines are asked about.
func (p *places) end() {
	if p.stop != nil {
		p.stop()
	}
}
