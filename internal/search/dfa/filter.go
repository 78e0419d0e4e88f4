package dfa

import "bytes"

const (
	maxNeedles = 6 // each is a separate pass

	// Measured costs in nanoseconds: of a byte passed by IndexByte, by the loop for
	// pairs and by its version with wide registers, of a place looked at, of a line
	// verified, and of a byte read by the automaton.
	skipCost, loopCost, wideCost, lookCost, lineCost, automatonCost = 0.03, 0.16, 0.04, 7.0, 100.0, 0.6

	// maxCost is the limit of the estimated cost of a filter. It may exceed the
	// automaton's, because texts differ and the credit below ends the filter in time.
	maxCost = 2 * automatonCost

	// The filter's credit is counted in bytes that the automaton reads in the same
	// time. A byte of a line beyond lineWorth counts twice, because only one cursor
	// reads it.
	lookWorth = 12
	lineWorth = 160
	// freeLooks is the number of looks that are too few to judge by.
	freeLooks = 8
	maxCredit = 16 << 10
	// creditBack is the number of bytes that the automaton reads for one of credit. So
	// the filter is tried again, but costs no more than this part of the time.
	creditBack = 16
)

// pairCost returns the cost of a byte passed while searching for pairs.
func pairCost() float64 {
	if wide {
		return wideCost
	}
	return loopCost
}

// filter finds lines that may match: those that contain one of its needles.
type filter struct {
	needles []needle
	exact   bool    // a line that contains a needle matches
	cost    float64 // estimated nanoseconds per byte
	gain    int     // 16ths of the automaton's time that are saved where there are no needles
}

func (f *filter) usable() bool { return len(f.needles) > 0 }

// newFilter returns a filter for lines that contain one of the texts, in any case if
// fold is set. With exact, every such line matches. If the filter would be slower than
// the automaton, it is not usable.
func newFilter(must []string, fold, exact bool) filter {
	f := filterOf(must, fold, exact)
	if len(must) < 2 {
		return f
	}
	g := filterOf([]string{common(must)}, fold, false)
	if g.usable() && (!f.usable() || g.cost < f.cost) {
		return g
	}
	return f
}

func filterOf(must []string, fold, exact bool) filter {
	f := filter{exact: true}
	scan := 0.0
	for _, text := range must {
		n := newNeedle(text, fold)
		if len(n.text) == 0 {
			return filter{}
		}
		n.exact = n.exact && exact
		f.needles = append(f.needles, n)
		f.cost += n.cost()
		scan += n.scanCost()
		f.exact = f.exact && n.exact
	}
	if len(f.needles) > maxNeedles || f.cost > maxCost {
		return filter{}
	}
	f.gain = int(16 * (1 - scan/automatonCost))
	return f
}

// common returns the longer of the common prefix and the common suffix of all texts:
// one text is faster to search for than many.
func common(texts []string) string {
	first := texts[0]
	head, tail := len(first), len(first)
	for _, t := range texts[1:] {
		for head = min(head, len(t)); t[:head] != first[:head]; {
			head--
		}
		for tail = min(tail, len(t)); t[len(t)-tail:] != first[len(first)-tail:]; {
			tail--
		}
	}
	if head >= tail {
		return first[:head]
	}
	return first[len(first)-tail:]
}

// restrict restricts needles of one byte to places between bytes that a match can have
// there. The savings are not part of the cost by which the filter was chosen.
func (f *filter) restrict(p *program) {
	for i := range f.needles {
		if n := &f.needles[i]; len(n.text) == 1 {
			var set [256]bool
			set[n.text[0]] = true
			if n.fold != nil && n.fold[0] != 0 {
				set[n.text[0]&^0x20] = true
			}
			n.around = p.around(&set)
		}
	}
}

// byteFilter returns a filter for lines that must contain a byte of a set.
func byteFilter(set *[256]bool) filter {
	var must []string
	for b, in := range set {
		if in {
			must = append(must, string([]byte{byte(b)}))
		}
	}
	return newFilter(must, false, false)
}

// sift reports the lines that contain a needle and match, from position from on, which
// must begin a line. If the needles are too common, it stops and returns the beginning
// of the next line.
func (s *scan) sift(from int) int {
	f, c := &s.c.m.filter, s.c
	var at [maxNeedles]int
	for k := range f.needles {
		at[k] = -1
	}
	for pos := from; pos < len(s.buf); {
		best := len(s.buf)
		for k := range f.needles {
			if at[k] < pos {
				place, looks, ok := f.needles[k].find(s.buf, pos, c.credit)
				if !ok {
					c.credit = 0
					return pos
				}
				at[k] = place
				c.credit -= looks * lookWorth
			}
			best = min(best, at[k])
		}
		c.credit = min(c.credit+(best-pos)*f.gain/16, maxCredit)
		if best == len(s.buf) {
			break
		}
		if f.exact && s.one {
			s.report(best, best) // any position will do
			return len(s.buf)
		}
		end, start := s.lineEnd(best), best
		if f.exact && s.yield == nil {
			s.count++
		} else {
			start = s.lineStart(best)
			t := text{s.buf[start:end], s.begin && start == 0, s.end && end == len(s.buf)}
			if (f.exact || c.match(t)) && !s.report(start, end) {
				return len(s.buf)
			}
		}
		pos = end + 1
		if !f.exact {
			if c.credit -= lineWorth + 2*max(0, end-start-lineWorth); c.credit < 0 {
				return pos
			}
		}
	}
	return len(s.buf)
}

// report passes a line to the caller. It returns false if the search should stop.
func (s *scan) report(start, end int) bool {
	s.count++
	if s.one {
		s.stopped = true
	} else if s.yield != nil && !s.yield(start, end) {
		s.stopped = true
	}
	return !s.stopped
}

// lineEnd returns the end of the line that contains pos.
func (s *scan) lineEnd(pos int) int {
	if n := bytes.IndexByte(s.buf[pos:], '\n'); n >= 0 {
		return pos + n
	}
	return len(s.buf)
}

// lineStart returns the beginning of the line that contains pos or ends there.
func (s *scan) lineStart(pos int) int { return lastNewline(s.buf[:pos]) + 1 }
