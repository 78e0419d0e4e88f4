package dfa

import "bytes"

const (
	cursors = 4 // a step waits for memory about as long as four take to issue
	// slots is the number of segments that may be in progress or wait for an earlier
	// one: enough that a cursor hardly ever waits.
	slots = 8
)

// segment is a run of whole lines of the buffer, advanced by one cursor.
type segment struct {
	seq      int  // its place in the order
	pos, end int  // in the buffer
	closed   bool // pos is after a line that has been decided
}

// scan is one pass over a buffer.
type scan struct {
	c     *cache
	buf   []byte
	begin bool // the text begins with the buffer
	end   bool // the text ends with the buffer

	next   int // offset of the next segment
	size   int // of a segment, without the completion of its last line
	seq    int // of the next segment
	oldest int // the first segment that is not finished
	done   [slots]bool
	cur    [cursors]segment
	state  [cursors]uint32 // stateIdle: no segment

	yield   func(start, end int) bool // nil: only count, or see one
	one     bool                      // stop after one line, whichever it is
	count   int
	stopped bool
}

// run reports the lines that match from position from on, which must begin a line.
func (s *scan) run(from int) {
	s.next = from
	// A multiple of four segments of about the same size, so that all cursors are busy.
	rounds := (len(s.buf)-from)/(cursors*maxSegment) + 1
	s.size = max((len(s.buf)-from)/(cursors*rounds)+1, minSegment)
	for {
		busy := false
		for k := range s.state {
			busy = s.state[k] != stateIdle || s.take(k) || busy
		}
		switch {
		case !busy:
			return
		case s.c.slow > 0:
			s.crawl()
		default:
			s.advance()
		}
		if s.stopped {
			return
		}
	}
}

// take assigns the next segment to cursor k. It returns false if there is none.
func (s *scan) take(k int) bool {
	if s.next >= len(s.buf) || s.seq-s.oldest >= slots {
		return false
	}
	end := min(s.next+s.size, len(s.buf))
	if n := bytes.IndexByte(s.buf[end-1:], '\n'); n >= 0 {
		end += n
	} else {
		end = len(s.buf)
	}
	s.cur[k] = segment{seq: s.seq, pos: s.next, end: end}
	s.state[k] = stateLine
	if s.begin && s.next == 0 {
		s.state[k] = stateText
	}
	s.done[s.seq%slots] = false
	s.c.found[s.seq%slots] = s.c.found[s.seq%slots][:0]
	s.next = end
	s.seq++
	return true
}

// advance reads with all cursors until one of them needs handling.
func (s *scan) advance() {
	n, least := len(s.buf)+1, 0
	for k, state := range s.state {
		if left := s.cur[k].end - s.cur[k].pos; state != stateIdle && left < n {
			n, least = left, s.cur[k].pos
		}
	}
	var in [cursors][]byte
	for k, state := range s.state {
		at := s.cur[k].pos
		if state == stateIdle {
			at = least
		}
		in[k] = s.buf[at : at+n]
	}
	i := s.race(in[0], in[1], in[2], in[3])
	for k, state := range s.state {
		s.cur[k].pos += i
		if i < n && state&event == 0 {
			s.cur[k].pos++
		}
	}
	if i < n {
		for k := range s.state {
			for s.state[k]&event != 0 && s.c.slow <= 0 {
				s.handle(k)
			}
		}
	}
	for k, state := range s.state {
		if state != stateIdle && state&event == 0 && s.cur[k].pos >= s.cur[k].end {
			s.finish(k)
		}
	}
	s.c.serve(i)
}

// handle handles the event that cursor k is at.
func (s *scan) handle(k int) {
	cur := &s.cur[k]
	state := s.state[k] &^ event &^ kindMask
	switch s.state[k] & kindMask {
	case kindNew:
		s.follow(k, s.c.step(state, int(s.buf[cur.pos]), false, s.state[:]))
		s.c.watch()
		return
	case kindFar:
		s.follow(k, s.c.table[state|uint32(s.buf[cur.pos])])
		return
	}
	at, sure := cur.pos, s.state[k]&kindMask == kindMatch
	end := s.skip(k)
	if sure && s.yield == nil {
		s.report(at, end) // any line will do
		return
	}
	if start := s.lineStart(at); sure || s.slowMatch(start, end) {
		s.record(k, start, end)
	}
}

// follow advances cursor k to v, and further while v is not in the small table.
func (s *scan) follow(k int, v uint32) {
	cur := &s.cur[k]
	from := cur.pos
	for v&event == 0 {
		if cur.pos++; s.c.wide || v < smallLimit || cur.pos >= cur.end {
			break
		}
		v = s.c.table[v|uint32(s.buf[cur.pos])]
	}
	if s.state[k] = v; cur.pos > from+1 {
		s.c.leave(cur.pos - from)
	}
}

// skip advances to the next line, and returns the end of this one.
func (s *scan) skip(k int) (end int) {
	cur := &s.cur[k]
	s.state[k] = stateLine
	if n := bytes.IndexByte(s.buf[cur.pos:cur.end], '\n'); n >= 0 {
		end = cur.pos + n
		cur.pos = end + 1
		return end
	}
	cur.pos, cur.closed = cur.end, true
	return cur.end
}

// record records a line that matches.
func (s *scan) record(k, start, end int) {
	if s.yield == nil {
		s.report(start, end)
		return
	}
	slot := &s.c.found[s.cur[k].seq%slots]
	*slot = append(*slot, [2]int{start, end})
}

// finish ends the segment of cursor k and reports the lines that are due.
func (s *scan) finish(k int) {
	cur := &s.cur[k]
	if !cur.closed && cur.end == len(s.buf) && s.buf[cur.end-1] != '\n' {
		s.atEnd(k)
	}
	s.state[k] = stateIdle
	s.done[cur.seq%slots] = true
	for !s.stopped && s.oldest < s.seq && s.done[s.oldest%slots] {
		for _, line := range s.c.found[s.oldest%slots] {
			if !s.report(line[0], line[1]) {
				return
			}
		}
		s.oldest++
	}
}

// atEnd decides the last line, which has no '\n'.
func (s *scan) atEnd(k int) {
	cur := &s.cur[k]
	v := s.c.atEOF(s.state[k], s.end)
	if v&event == 0 {
		return
	}
	if start := s.lineStart(cur.end); v&kindMask == kindMatch || s.slowMatch(start, cur.end) {
		s.record(k, start, cur.end)
	}
}

// crawl finishes the segments in progress with the slow matcher.
func (s *scan) crawl() {
	for k := range s.state {
		if s.state[k] == stateIdle {
			continue
		}
		cur := &s.cur[k]
		if !cur.closed {
			cur.pos = s.lineStart(cur.pos)
		}
		for cur.pos < cur.end && !s.stopped {
			start := cur.pos
			end := s.skip(k)
			s.c.slow -= cur.pos - start
			if s.slowMatch(start, end) {
				s.record(k, start, end)
			}
		}
		cur.closed = true
		s.finish(k)
		if s.stopped {
			return
		}
	}
}

func (s *scan) slowMatch(start, end int) bool {
	return s.c.crawl(text{s.buf[start:end], s.begin && start == 0, s.end && end == len(s.buf)})
}
