package read

import "bytes"

// scanner takes a text in pieces and keeps the lines asked for, as far as they
// fit: without a limit a page from the offset on, with one both ends of the
// range.
type scanner struct {
	request
	room int // bytes of numbered output that may be kept

	line      int    // lines ended so far
	part      []byte // the current line as far as it is kept, if it came in pieces
	length    int    // bytes of the current line so far, if it is wanted
	open      bool   // the current line has begun
	head      lines
	tail      lines // the end of a range of which the middle does not fit
	split     bool  // there is such a middle
	next      int   // without a limit: first line that did not fit; 0: none
	long      int   // bytes of the first line wanted, which did not fit; 0: it did
	uncounted bool  // the file goes on beyond where lines are counted
}

func newScanner(q request) *scanner {
	s := &scanner{request: q, room: q.budget}
	if q.limit == 0 && q.size > pagedFrom {
		s.room = min(s.room, pagedFrom)
	}
	// Most files are shown whole, and have lines of 40 bytes or so.
	if expected := min(int64(s.room), q.size+1); q.offset == 1 && expected > 0 {
		s.head.buf = make([]byte, 0, expected)
		s.head.refs = make([]ref, 0, expected/32+1)
	}
	return s
}

// full reports whether nothing more will be kept.
func (s *scanner) full() bool {
	return s.next > 0 || s.long > 0 || s.limit > 0 && s.line >= s.offset-1+s.limit
}

// pageRoom is what a page fills, and the part of a line that is one.
func (s *scanner) pageRoom() int { return int(float64(s.room) * pageShare) }

func (s *scanner) feed(p []byte) {
	for len(p) > 0 {
		if s.full() {
			s.count(p)
			return
		}
		if missing := s.offset - 1 - s.line; missing > 0 {
			p = s.skip(p, missing)
			continue
		}
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.take(p)
			return
		}
		if !s.open {
			s.length = i
			s.keep(p[:i], false)
		} else {
			s.take(p[:i])
			s.keep(s.part, s.length > len(s.part))
		}
		s.endLine()
		p = p[i+1:]
	}
}

// count counts the lines in p.
func (s *scanner) count(p []byte) {
	s.line += bytes.Count(p, []byte{'\n'})
	s.open = p[len(p)-1] != '\n'
}

// skip passes over at most n lines and returns what is left of p.
func (s *scanner) skip(p []byte, n int) []byte {
	if found := bytes.Count(p, []byte{'\n'}); found < n {
		s.count(p)
		return nil
	}
	for range n {
		p = p[bytes.IndexByte(p, '\n')+1:]
	}
	s.line += n
	s.open = false
	return p
}

// take keeps a piece of the current line, no more than could ever fit.
func (s *scanner) take(p []byte) {
	s.part = append(s.part, p[:min(len(p), max(0, s.room-len(s.part)))]...)
	s.length += len(p)
	s.open = true
}

func (s *scanner) endLine() {
	s.part, s.length, s.open = s.part[:0], 0, false
	s.line++
}

// end ends the text; its last line needs no newline.
func (s *scanner) end() {
	if !s.open {
		return
	}
	if !s.full() && s.line+1 >= s.offset {
		s.keep(s.part, s.length > len(s.part))
	}
	s.endLine()
}

// keep keeps the current line, the next one wanted, if it fits. cut says that
// it has more bytes than are here.
func (s *scanner) keep(line []byte, cut bool) {
	number := s.line + 1
	if cut {
		line = wholeRunes(line)
	} else {
		line = bytes.TrimSuffix(line, []byte{'\r'})
	}
	shown, invalid := valid(line)
	invalid = invalid || s.decoded && bytes.Contains(line, []byte("\uFFFD"))
	size := cost(number, len(shown))
	switch {
	case !cut && !s.split && s.head.used+size <= s.room:
		s.head.push(number, shown, invalid)
	case s.head.len() == 0:
		s.long = s.length
		s.head.push(number, clip(shown, partSize(s.room, number)), invalid)
	case s.limit == 0:
		s.next = number
	default:
		s.keepEnd(number, shown, invalid, cut)
	}
}

// keepEnd keeps a line of a range that does not fit: its head gets at most half
// a page, its end the rest.
func (s *scanner) keepEnd(number int, shown []byte, invalid, cut bool) {
	if !s.split {
		s.split = true
		n, used := 0, 0
		for n < s.head.len() && used+s.head.costOf(n) <= s.pageRoom()/2 {
			used += s.head.costOf(n)
			n++
		}
		s.tail = s.head.splitAt(max(n, 1))
	}
	room := s.pageRoom() - s.head.used
	if cut || cost(number, len(shown)) > room {
		s.tail.clear() // the end begins behind a line that is too long for it
		return
	}
	s.tail.push(number, shown, invalid)
	for s.tail.used > room {
		s.tail.dropFirst()
	}
}
