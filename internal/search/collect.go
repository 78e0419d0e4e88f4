package search

import (
	"bytes"
	"slices"

	"mcp-toolset/internal/search/match"
	"mcp-toolset/internal/search/source"
)

const (
	// keptText is the most memory for text, in bytes, that is kept from one file
	// to the next.
	keptText = 1 << 20
	// turnText is how much text, in bytes, is gathered before it is asked which
	// of it is wanted.
	turnText = 1 << 20
)

// collector finds what a file has, chunk after chunk. Of a file that has
// nothing it makes no garbage: most files have nothing.
type collector struct {
	q          *Query
	skip, keep int                     // the entries worth keeping, from and to
	window     func() (skip, keep int) // gives the exact ones, when it is the file's turn
	exact      bool                    // it has
	stream     func() (given bool)     // writes the entries at hand to Query.Out, once exact; nil: all are kept
	dir, name  string                  // of the file
	path       string                  // both, once it is asked for
	stop       func() bool             // is asked whether to give up
	f          found                   // without its path and text

	k     source.Chunk                     // the chunk at hand
	cur   cursor                           // in it
	where places                           // in it
	yield func(start, end int)             // is told of its lines
	last  bool                             // the last line told of ends it
	on    func(start, end int) (more bool) // is c.line, made once
	hit   func(start, end int)             // is c.matched, made once

	shown int    // the last line shown, by number
	after int    // lines that are still to be shown behind a match
	cut   bool   // the line that the chunk before was cut in has matched
	tail  []byte // the last lines of the chunk before, as many as may be shown before a match

	text    []byte // what is shown, until the file is done
	entries []entry
}

// reset begins a file, at a path in two parts.
func (c *collector) reset(q *Query, dir, name string, stop func() bool) {
	if cap(c.text) > keptText {
		c.text, c.entries = nil, nil
	}
	if c.on == nil {
		c.on, c.hit = c.line, c.matched
	}
	*c = collector{q: q, dir: dir, name: name, stop: stop, on: c.on, hit: c.hit,
		tail: c.tail[:0], text: c.text[:0], entries: c.entries[:0]}
}

// at is the path of the file.
func (c *collector) at() string {
	if c.path == "" {
		c.path = join(c.dir, c.name)
	}
	return c.path
}

// take searches a chunk.
func (c *collector) take(k source.Chunk) {
	t := c.part(k)
	switch {
	case c.q.Mode == Names:
		if c.f.shown == 0 && c.q.Match.Any(t) {
			c.f.shown, c.f.hits = 1, 1
		}
	case c.q.Mode == Counts:
		if c.f.hits += c.count(k, t); c.f.hits > 0 {
			c.f.shown = 1
		}
	case c.q.Parts && c.q.Match.Spanning():
		c.pieces(k)
	case c.q.Before+c.q.After == 0 && !c.q.Parts && c.f.shown >= c.keep:
		n := c.count(k, t)
		c.f.hits, c.f.shown = c.f.hits+n, c.f.shown+n
	default:
		c.lines(k, t)
	}
}

// part is a chunk as the matcher takes it.
func (c *collector) part(k source.Chunk) match.Text {
	return match.Text{Data: k.Text, Begin: k.First, End: k.Last, Stop: c.stop}
}

// count counts the lines of a chunk that match.
func (c *collector) count(k source.Chunk, t match.Text) (n int) {
	if !k.Inside && !k.Cut {
		return c.q.Match.Count(t)
	}
	c.each(k, t, func(int, int) { n++ })
	return n
}

// each gives the lines of a chunk that match. A line that is cut into several
// chunks is given once.
func (c *collector) each(k source.Chunk, t match.Text, yield func(start, end int)) {
	c.k, c.yield, c.last = k, yield, false
	c.q.Match.Lines(t, c.on)
	c.cut = k.Cut && (c.last || c.cut && k.Inside && bytes.IndexByte(k.Text, '\n') < 0)
}

// line takes a line of the chunk that matches.
func (c *collector) line(start, end int) (more bool) {
	c.last = end == len(c.k.Text)
	if start > 0 || !c.k.Inside || !c.cut {
		c.yield(start, end)
	}
	return true
}

// lines shows the lines of a chunk that match, and those around them.
func (c *collector) lines(k source.Chunk, t match.Text) {
	c.cur = cursor{text: k.Text, n: int(k.Line)}
	c.where = places{m: c.q.Match, t: t}
	defer c.where.end()
	c.each(k, t, c.hit)
	c.following(&c.cur, len(k.Text))
	if c.q.Before > 0 && !k.Last {
		c.remember(k.Text)
	}
}

// matched shows a line of the chunk that matches.
func (c *collector) matched(start, end int) {
	text := c.k.Text
	c.following(&c.cur, start)
	n := c.cur.seek(start)
	c.preceding(c.k, start, n)
	c.f.hits++
	if c.q.Parts {
		line := text[start:end]
		for _, s := range c.q.Match.LineSpans(c.where.t, start, end) {
			if s[0] < s[1] {
				c.show(n, trimCR(line[s[0]:s[1]]), 0)
			}
		}
	} else {
		at := 0
		if c.q.Wide > 0 && end-start > c.q.Wide && c.f.shown < c.keep {
			at = c.where.in(start, end)
		}
		c.show(n, trimCR(text[start:end]), at)
	}
	c.after = c.q.After
}

// following shows the lines behind a match, up to the one that begins at limit.
func (c *collector) following(cur *cursor, limit int) {
	if c.after == 0 || c.shown == 0 {
		return
	}
	at := 0
	if c.shown >= cur.n {
		at = cur.behind(c.shown)
	}
	for n := c.shown + 1; c.after > 0 && at < limit; n++ {
		line, size := lineAt(cur.text, at)
		c.show(n, trimCR(line), -1)
		at += size
		c.after--
	}
}

// preceding shows the lines before the one that begins at start and has the
// number n.
func (c *collector) preceding(k source.Chunk, start, n int) {
	want := min(c.q.Before, n-1-c.shown)
	if want <= 0 {
		return
	}
	at, have := back(k.Text[:start], want)
	if missing := want - have; missing > 0 {
		c.fromTail(int(k.Line)-1, missing)
	}
	for m := n - have; m < n; m++ {
		line, size := lineAt(k.Text, at)
		c.show(m, trimCR(line), -1)
		at += size
	}
}

// fromTail shows the last lines of the chunk before, of which last is the
// number of the last.
func (c *collector) fromTail(last, want int) {
	at, have := back(c.tail, want)
	for m := last - have + 1; m <= last; m++ {
		line, size := lineAt(c.tail, at)
		c.show(m, trimCR(line), -1)
		at += size
	}
}

// remember keeps the last lines of a text for the chunk behind it.
func (c *collector) remember(text []byte) {
	at, have := back(text, c.q.Before)
	old, _ := back(c.tail, c.q.Before-have)
	c.tail = append(c.tail[:copy(c.tail, c.tail[old:])], text[at:]...)
}

// back is where the last n lines of a text begin, and how many there are.
func back(text []byte, n int) (at, have int) {
	for at = len(text); have < n && at > 0; have++ {
		at = bytes.LastIndexByte(text[:at-1], '\n') + 1
	}
	return at, have
}

// pieces shows the matches of a pattern that spans lines, line by line.
func (c *collector) pieces(k source.Chunk) {
	cur := cursor{text: k.Text, n: int(k.Line)}
	c.q.Match.Matches(c.part(k), func(start, end int) bool {
		c.f.hits++
		for at := start; at < end; {
			stop := end
			if i := bytes.IndexByte(k.Text[at:end], '\n'); i >= 0 {
				stop = at + i
			}
			if at < stop {
				c.show(cur.seek(at), trimCR(k.Text[at:stop]), 0)
			}
			at = stop + 1
		}
		return true
	})
}

// show adds a line to what is shown; at is that of Query.Line.
func (c *collector) show(n int, line []byte, at int) {
	if c.f.shown < c.skip {
		c.f.base = c.f.shown + 1
	} else if c.f.shown < c.keep && len(c.text) < maxText {
		if c.q.Before+c.q.After > 0 && (c.shown == 0 || n > c.shown+1) {
			c.text = append(c.text, Gap...)
		}
		start := len(c.text)
		c.text = c.q.Line(c.text, c.at(), n, line, at)
		c.entries = append(c.entries, entry{start, len(c.text)})
	}
	c.f.shown++
	c.shown = n
	if len(c.text) > turnText && !c.exact {
		c.exact = true
		c.skip, c.keep = c.window()
		c.drop()
	}
	if len(c.text) > turnText && c.stream != nil && c.stream() {
		c.f.base, c.f.given = c.f.shown, c.f.shown
		c.text, c.entries = c.text[:0], c.entries[:0]
	}
}

// drop drops the entries that are not worth keeping.
func (c *collector) drop() {
	from := min(max(0, c.skip-c.f.base), len(c.entries))
	to := min(max(from, c.keep-c.f.base), len(c.entries))
	if to < len(c.entries) {
		c.text, c.entries = c.text[:c.entries[to].start], c.entries[:to]
	}
	if from == 0 {
		return
	}
	start := c.entries[from-1].end
	c.text = c.text[:copy(c.text, c.text[start:])]
	c.entries = c.entries[:copy(c.entries, c.entries[from:])]
	for i := range c.entries {
		c.entries[i].start -= start
		c.entries[i].end -= start
	}
	c.f.base += from
}

// cursor counts lines from one place of a text to the next.
type cursor struct {
	text []byte
	at   int
	n    int // of the line at
}

// seek returns the number of the line that holds the byte at to, which is not
// before the last one sought.
func (c *cursor) seek(to int) int {
	c.n += bytes.Count(c.text[c.at:to], []byte{'\n'})
	c.at = to
	return c.n
}

// behind returns where the line behind the line n begins; n is the line at or
// one further on.
func (c *cursor) behind(n int) int {
	at := c.at
	for m := c.n; m <= n; m++ {
		_, size := lineAt(c.text, at)
		at += size
	}
	return at
}

// lineAt is the line at a place of a text, and how far the next one is.
func lineAt(text []byte, at int) (line []byte, size int) {
	i := bytes.IndexByte(text[at:], '\n')
	if i < 0 {
		return text[at:], len(text) - at + 1
	}
	return text[at : at+i], i + 1
}

func trimCR(line []byte) []byte { return bytes.TrimSuffix(line, []byte{'\r'}) }

// done gives what the file has.
func (c *collector) done() *found {
	f := c.f
	f.path, f.text, f.entries = c.at(), bytes.Clone(c.text), slices.Clone(c.entries)
	f.skipped = f.shown == 0
	return &f
}
