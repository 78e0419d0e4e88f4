package read

import "bytes"

// scanner reads a text in pieces and stores the requested lines that fit. Without a limit
// it stores a page from the offset on; with a limit, both ends of the range.
type scanner struct {
	request
	budget int // limit of the numbered output, in bytes

	line      int    // number of complete lines so far
	part      []byte // the stored part of the current line, if it came in pieces
	length    int    // bytes of the current line so far, if it is requested
	open      bool   // the current line has begun
	head      lines
	tail      lines // the end of a range whose middle does not fit
	split     bool  // the middle of the range does not fit
	next      int   // without a limit: the first line that did not fit; 0: none
	long      int   // bytes of the first requested line if it did not fit; 0: it did
	uncounted bool  // the file continues after the last counted line
}

func newScanner(q request) *scanner {
	s := &scanner{request: q, budget: q.budget}
	if q.limit == 0 && q.size > pagedFrom {
		s.budget = min(s.budget, pagedFrom)
	}
	// Most files are shown whole, and their lines have about 40 bytes.
	if expected := min(int64(s.budget), q.size+1); q.offset == 1 && expected > 0 {
		s.head.buf = make([]byte, 0, expected)
		s.head.refs = make([]ref, 0, expected/32+1)
	}
	return s
}

// full reports whether no further line will be stored.
func (s *scanner) full() bool {
	return s.next > 0 || s.long > 0 || s.limit > 0 && s.line >= s.offset-1+s.limit
}

// pageSize returns the size of a page in bytes.
func (s *scanner) pageSize() int { return int(float64(s.budget) * pageFraction) }

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
			s.storePiece(p)
			return
		}
		if !s.open {
			s.length = i
			s.storeLine(p[:i], false)
		} else {
			s.storePiece(p[:i])
			s.storeLine(s.part, s.length > len(s.part))
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

// skip skips at most n lines and returns the rest of p.
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

// storePiece stores a piece of the current line, up to the room of an answer.
func (s *scanner) storePiece(p []byte) {
	s.part = append(s.part, p[:min(len(p), max(0, s.budget-len(s.part)))]...)
	s.length += len(p)
	s.open = true
}

func (s *scanner) endLine() {
	s.part, s.length, s.open = s.part[:0], 0, false
	s.line++
}

// end ends the text. The last line needs no newline.
func (s *scanner) end() {
	if !s.open {
		return
	}
	if !s.full() && s.line+1 >= s.offset {
		s.storeLine(s.part, s.length > len(s.part))
	}
	s.endLine()
}

// storeLine stores the current line, the next requested one, if it fits. cut reports whether the
// line is longer than the bytes in line.
func (s *scanner) storeLine(line []byte, cut bool) {
	number := s.line + 1
	if cut {
		line = trimIncompleteRune(line)
	} else {
		line = bytes.TrimSuffix(line, []byte{'\r'})
	}
	shown, invalid := valid(line)
	invalid = invalid || s.decoded && bytes.Contains(line, []byte("\uFFFD"))
	size := cost(number, len(shown))
	switch {
	case !cut && !s.split && s.head.used+size <= s.budget:
		s.head.push(number, shown, invalid)
	case s.head.len() == 0:
		s.long = s.length
		s.head.push(number, clip(shown, partSize(s.budget, number)), invalid)
	case s.limit == 0:
		s.next = number
	default:
		s.storeEnd(number, shown, invalid, cut)
	}
}

// storeEnd stores a line of a range that does not fit. The beginning of the range gets at
// most half a page, and the end gets the rest.
func (s *scanner) storeEnd(number int, shown []byte, invalid, cut bool) {
	if !s.split {
		s.split = true
		n, used := 0, 0
		for n < s.head.len() && used+s.head.costOf(n) <= s.pageSize()/2 {
			used += s.head.costOf(n)
			n++
		}
		s.tail = s.head.splitAt(max(n, 1))
	}
	room := s.pageSize() - s.head.used
	if cut || cost(number, len(shown)) > room {
		s.tail.clear() // the end begins after a line that is too long for it
		return
	}
	s.tail.push(number, shown, invalid)
	for s.tail.used > room {
		s.tail.dropFirst()
	}
}
