package spool

import (
	"context"
	"regexp"
	"strings"

	"mcp-toolset/internal/text/terminal"
)

// maxScan is the limit of output that one Read examines for lines that the filter matches, in
// bytes.
const maxScan = 32 << 20

// Query selects a part of a log.
type Query struct {
	Offset int64 // where to begin, in bytes of the output: 0 or the Next of a Part
	// Max is the limit of the text in characters. A longer line is returned in parts, or with
	// Filter truncated.
	Max int
	// Filter selects the lines whose visible text it matches; nil selects all.
	Filter *regexp.Regexp
	// Partial also selects the last line of a running command, although it may continue. The next
	// part then begins within it.
	Partial bool
}

// Part is a part of a log.
type Part struct {
	Text string // visible text of whole lines, each with its newline if it has one
	Next int64  // where the next part begins, in bytes of the output
	More bool   // whether more output is available now
	// Binary reports whether the source of Text is not text.
	Binary bool
	// Missing is the number of bytes from Offset on that were not stored, since storing had
	// stopped. Text is the output after them.
	Missing int64
}

// Read returns lines from an offset on.
func (l *Log) Read(ctx context.Context, q Query) (Part, error) {
	s, err := l.snapshot()
	if err != nil {
		return Part{}, err
	}
	defer s.close()
	var part Part
	from := min(max(q.Offset, 0), s.size)
	if from < s.stored && s.resume > s.stored {
		// Read to the end of the file. The next part begins after the missing bytes.
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
				if size, whole, ok := terminal.Offset(one.raw, room); ok && size > 0 && q.Filter == nil {
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
