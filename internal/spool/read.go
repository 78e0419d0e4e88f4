package spool

import (
	"context"
	"regexp"
	"strings"
)

// maxScan is how much one Read looks through for lines that a filter lets
// through, in bytes.
const maxScan = 32 << 20

// Query is which part of a log is read.
type Query struct {
	Offset int64 // where to begin, in bytes of the output: 0 or a Part's Next
	// Max is how many characters are given; a line longer than that is given in
	// parts, or with Filter its begin only.
	Max int
	// Filter lets lines through that it matches as they are seen; nil: all.
	Filter *regexp.Regexp
	// Partial asks for the last line of a running command as well, though it may
	// go on: the next part then begins within it.
	Partial bool
}

// Part is a part of a log.
type Part struct {
	Text string // whole lines as they are seen, each with its newline if it has one
	Next int64  // where the next part begins, in bytes of the output
	More bool   // there is more already
	// Binary reports that what Text comes from is no text.
	Binary bool
	// Missing is how many bytes from Offset on were not kept, since storing had
	// stopped: the text is what came behind them.
	Missing int64
}

// Read reads lines from an offset on.
func (l *Log) Read(ctx context.Context, q Query) (Part, error) {
	s, err := l.snapshot()
	if err != nil {
		return Part{}, err
	}
	defer s.close()
	var part Part
	from := min(max(q.Offset, 0), s.size)
	if from < s.stored && s.resume > s.stored {
		// As far as the file goes; the next part begins behind what is missing.
		first := &snapshot{size: s.stored, stored: s.stored, resume: s.stored, file: s.file, final: true}
		if part, err = first.read(ctx, from, q); err != nil || part.More || part.Text != "" {
			part.More = true
			return part, err
		}
		from = s.stored
	}
	if from >= s.stored && from < s.resume {
		part.Missing = s.resume - from
		from = s.resume
	}
	missing := part.Missing
	part, err = s.read(ctx, from, q)
	part.Missing = missing
	return part, err
}

func (s *snapshot) read(ctx context.Context, from int64, q Query) (part Part, err error) {
	lowest := int64(0)
	if from >= s.resume && s.resume > s.stored {
		lowest = s.resume
	}
	r, err := rowsFrom(s, from, lowest, s.size, s.final)
	if err != nil {
		return Part{}, err
	}
	var text strings.Builder
	var kinds tally
	room := q.Max
	for part.Next = from; ; {
		w, err := r.next()
		if err != nil {
			return Part{}, err
		}
		if w == nil || !q.Partial && (w.open && !s.final || r.undecided(w)) {
			break
		}
		if part.Next-from > maxScan {
			part.More = true
			break
		}
		if err := context.Cause(ctx); err != nil {
			return Part{}, err
		}
		one := look(w)
		if q.Filter != nil && !q.Filter.MatchString(strings.TrimSuffix(one.text, "\n")) {
			part.Next = one.end
			continue
		}
		if one.chars > room {
			part.More = true
			if text.Len() == 0 && room > 0 {
				kinds.add(one.raw)
				if size, whole, ok := offset(one.raw, room); ok && size > 0 && q.Filter == nil {
					text.WriteString(cutAfter(one.text, whole))
					part.Next = one.from + int64(size)
				} else {
					text.WriteString(cutAfter(one.text, room) + "…\n")
					part.Next = one.end
					part.More = one.end < s.size
				}
			}
			break
		}
		kinds.add(one.raw)
		text.WriteString(one.text)
		room -= one.chars
		part.Next = one.end
	}
	part.Text, part.Binary = text.String(), kinds.binary()
	return part, nil
}
