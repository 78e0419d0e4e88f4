package read

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"mcp-toolset/tools"
)

// page holds the part of a text file for one answer.
type page struct {
	text    string // for the model: numbered lines and notices
	content string // the lines alone
	lines   int
	leftOut *LeftOut // lines of a range that do not fit; nil: none
	notes   []string // notes on characters that are not shown unchanged
	total   int      // lines of the file; -1: not counted
	long    int      // bytes of the only line, whose beginning this is; 0: the lines are whole
	invalid bool     // lines shown are not valid
	budget  int      // limit of the numbered output, in bytes
}

func (s *scanner) page() (page, error) {
	p := page{total: s.line, long: s.long, budget: s.budget}
	if s.uncounted {
		p.total = -1
	}
	if err := s.fault(); err != nil {
		return p, err
	}
	for s.next > 0 && s.head.len() > 1 && s.head.used > s.pageSize() {
		s.head.dropLast()
	}
	p.lines = s.head.len() + s.tail.len()
	out := s.head.appendNumbered(make([]byte, 0, s.head.used+s.tail.used+256))
	content := s.head.text()
	if s.split {
		p.leftOut = s.middle(p.total)
		from, n := p.leftOut.Offset, p.leftOut.Limit
		out = fmt.Appendf(out, "[%s left out; go on with offset %d and limit %d]\n", span("line", from, from+n-1), from, n)
		out = s.tail.appendNumbered(out)
		content = append(content, s.tail.text()...)
	}
	p.notes = s.invalid()
	p.invalid = len(p.notes) > 0
	for _, n := range append(s.notices(p.total), p.notes...) {
		out = append(append(append(out, '['), n...), "]\n"...)
	}
	p.content = string(bytes.TrimSuffix(content, []byte{'\n'}))
	p.text = string(bytes.TrimSuffix(out, []byte{'\n'}))
	return p, nil
}

// completeLines returns the number of lines, from offset on, that were shown whole.
func (p page) completeLines(offset int) int {
	switch {
	case p.long > 0:
		return 0
	case p.leftOut != nil:
		return p.leftOut.Offset - offset
	}
	return p.lines
}

// fault returns the error if there is nothing to show.
func (s *scanner) fault() error {
	switch {
	case s.head.len() > 0 || s.line == 0 && s.offset == 1:
		return nil
	case s.line == 0:
		return &tools.Fault{Fact: s.path + " is empty", Next: "Leave out offset and limit."}
	case s.line < s.offset:
		return &tools.Fault{
			Fact: fmt.Sprintf("offset %d is past the end of %s, which has %s", s.offset, s.path, plural(s.line, "line")),
			Next: fmt.Sprintf("Use an offset from 1 to %d.", s.line),
		}
	}
	return errors.New("nothing was read") // cannot happen: the requested line was stored in some form
}

// rangeEnd returns the last line of the range. It is limited to the lines of the file if
// they were counted.
func (s *scanner) rangeEnd(total int) int {
	end := s.offset + s.limit - 1
	if total >= 0 {
		end = min(end, total)
	}
	return end
}

// middle returns the lines of a range that are left out.
func (s *scanner) middle(total int) *LeftOut {
	from, to := s.head.last()+1, s.rangeEnd(total)
	if s.tail.len() > 0 {
		to = s.tail.first - 1
	}
	return &LeftOut{Offset: from, Limit: to - from + 1}
}

// span returns a description of a range of numbered things.
func span(what string, from, to int) string {
	if from == to {
		return fmt.Sprintf("%s %d", what, from)
	}
	return fmt.Sprintf("%ss %d to %d", what, from, to)
}

// notices returns the notes on the lines shown and those that follow.
func (s *scanner) notices(total int) []string {
	var out []string
	last := s.head.last()
	if s.split {
		last = s.rangeEnd(total)
	}
	of := "of " + strconv.Itoa(total)
	if total < 0 {
		of = "of a file of " + plural(s.size, "byte")
	}
	switch {
	case s.line == 0:
		out = append(out, "the file is empty")
	case splits(s.long, s.budget, s.offset): // parts adds its own note
	case s.long > 0:
		more := ""
		if total < 0 {
			more = " or more"
		}
		notice := fmt.Sprintf("line %d has %d bytes%s; the first %d are shown, and a command such as cut can show the rest", s.offset, s.long, more, len(s.head.text())-1)
		if total < 0 || s.offset < total {
			notice += fmt.Sprintf(". The next line is at offset %d", s.offset+1)
		}
		out = append(out, notice)
	case s.next > 0:
		out = append(out, fmt.Sprintf("%s %s; go on with offset %d", span("line", s.offset, last), of, last+1))
	case s.offset > 1 || s.limit > 0 && (total < 0 || last < total):
		out = append(out, fmt.Sprintf("%s %s", span("line", s.offset, last), of))
	}
	return out
}

// invalid returns a note on lines with invalid characters, or nil.
func (s *scanner) invalid() []string {
	n := s.head.invalid() + s.tail.invalid()
	switch {
	case n == 0:
		return nil
	case s.decoded:
		return []string{fmt.Sprintf("%s not valid UTF-16: the bytes in question are shown as \uFFFD", are(n))}
	}
	return []string{fmt.Sprintf("%s not valid UTF-8: the bytes in question are shown as \uFFFD", are(n))}
}

func are(n int) string {
	if n == 1 {
		return "1 line is"
	}
	return fmt.Sprintf("%d lines are", n)
}
