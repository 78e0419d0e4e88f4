package search

import (
	"bytes"
	"slices"

	"mcp-toolset/internal/search/match"
	"mcp-toolset/internal/search/source"
)

const (
	// maxReusedText is the limit of the text buffer reused for the next file, in bytes.
	maxReusedText = 1 << 20
	// turnText is the size of text, in bytes, beyond which the collector asks which
	// entries are needed.
	turnText = 1 << 20
)

// collector collects the matches of a file, chunk after chunk. A file without matches,
// as most are, causes no allocation.
type collector struct {
	q          *Query
	skip, keep int                     // the range of entries that are needed
	window     func() (skip, keep int) // returns the exact range, when it is the file's turn
	exact      bool                    // whether window was called
	stream     func() (given bool)     // writes the entries at hand to Query.Out, once exact; nil: all are buffered
	dir, name  string                  // of the file
	path       string                  // dir and name, joined on first use
	stop       func() bool             // reports whether to give up
	f          found                   // without its path and text

	k     source.Chunk                     // the current chunk
	cur   cursor                           // in k
	where places                           // in k
	yield func(start, end int)             // is called for each line of k
	last  bool                             // whether the last line yielded ends the chunk
	on    func(start, end int) (more bool) // c.line, allocated once
	hit   func(start, end int)             // c.matched, allocated once

	shown int    // the number of the last line shown
	after int    // lines still to be shown after a match
	cut   bool   // whether the line at the end of the previous chunk was cut and matched
	tail  []byte // the last lines of the previous chunk, as many as may be shown before a match

	text    []byte // the lines shown, until the file is done
	entries []entry
}

// reset prepares the collector for the file name in dir.
func (c *collector) reset(q *Query, dir, name string, stop func() bool) {
	if cap(c.text) > maxReusedText {
		c.text, c.entries = nil, nil
	}
	if c.on == nil {
		c.on, c.hit = c.line, c.matched
	}
	*c = collector{q: q, dir: dir, name: name, stop: stop, on: c.on, hit: c.hit,
		tail: c.tail[:0], text: c.text[:0], entries: c.entries[:0]}
}

// at returns the path of the file.
func (c *collector) at() string {
	if c.path == "" {
		c.path = join(c.dir, c.name)
	}
	return c.path
}

// search searches a chunk.
func (c *collector) search(k source.Chunk) {
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

// part returns a chunk in the form the matcher takes.
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

// each calls yield for each line of a chunk that matches. A line that spans several
// chunks is yielded once.
func (c *collector) each(k source.Chunk, t match.Text, yield func(start, end int)) {
	c.k, c.yield, c.last = k, yield, false
	c.q.Match.Lines(t, c.on)
	c.cut = k.Cut && (c.last || c.cut && k.Inside && bytes.IndexByte(k.Text, '\n') < 0)
}

// line handles a matching line of the chunk.
func (c *collector) line(start, end int) (more bool) {
	c.last = end == len(c.k.Text)
	if start > 0 || !c.k.Inside || !c.cut {
		c.yield(start, end)
	}
	return true
}

// lines shows the matching lines of a chunk and the lines around them.
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

// matched shows a matching line of the chunk.
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

// following shows the lines after a match, up to the line that begins at limit.
func (c *collector) following(cur *cursor, limit int) {
	if c.after == 0 || c.shown == 0 {
		return
	}
	at := 0
	if c.shown >= cur.n {
		at = cur.lineAfter(c.shown)
	}
	for n := c.shown + 1; c.after > 0 && at < limit; n++ {
		line, size := lineAt(cur.text, at)
		c.show(n, trimCR(line), -1)
		at += size
		c.after--
	}
}

// preceding shows the lines before line n, which begins at start.
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

// fromTail shows the last want lines of the previous chunk. The number of its last line
// is last.
func (c *collector) fromTail(last, want int) {
	at, have := back(c.tail, want)
	for m := last - have + 1; m <= last; m++ {
		line, size := lineAt(c.tail, at)
		c.show(m, trimCR(line), -1)
		at += size
	}
}

// remember stores the last lines of a text for the next chunk.
func (c *collector) remember(text []byte) {
	at, have := back(text, c.q.Before)
	old, _ := back(c.tail, c.q.Before-have)
	c.tail = append(c.tail[:copy(c.tail, c.tail[old:])], text[at:]...)
}

// back returns where the last n lines of a text begin, and how many there are.
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

// show adds a line to the lines shown. at is the argument of Query.Line.
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
		c.f.base, c.f.added = c.f.shown, c.f.shown
		c.text, c.entries = c.text[:0], c.entries[:0]
	}
}

// drop removes the entries that are not needed.
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

// cursor counts lines while it moves forward in a text.
type cursor struct {
	text []byte
	at   int
	n    int // of the line at
}

// seek returns the number of the line that contains the byte at to. to must not be
// before the previous one.
func (c *cursor) seek(to int) int {
	c.n += bytes.Count(c.text[c.at:to], []byte{'\n'})
	c.at = to
	return c.n
}

// lineAfter returns the offset of the line after line n. n is the line at c.at, or the
// next one.
func (c *cursor) lineAfter(n int) int {
	at := c.at
	for m := c.n; m <= n; m++ {
		_, size := lineAt(c.text, at)
		at += size
	}
	return at
}

// lineAt returns the line at an offset of a text, and the distance to the next line.
func lineAt(text []byte, at int) (line []byte, size int) {
	i := bytes.IndexByte(text[at:], '\n')
	if i < 0 {
		return text[at:], len(text) - at + 1
	}
	return text[at : at+i], i + 1
}

func trimCR(line []byte) []byte { return bytes.TrimSuffix(line, []byte{'\r'}) }

// done returns the result of the file.
func (c *collector) done() *found {
	f := c.f
	f.path, f.text, f.entries = c.at(), bytes.Clone(c.text), slices.Clone(c.entries)
	f.skipped = f.shown == 0
	return &f
}
