package read

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"mcp-toolset/tools"
)

// Budgets of an answer.
const (
	// DefaultMaxTokens is what clients take of one result without storing it.
	DefaultMaxTokens = 25_000
	// mostTokens keeps a budget set by mistake from meaning anything else.
	mostTokens = 10_000_000
	// bytesPerToken is the usual estimate for English text and code.
	bytesPerToken = 4
	// pageShare is the part of the budget that a page fills: the rest leaves
	// room for what the estimate misses.
	pageShare = 0.85
	// pagedFrom is the size in bytes from which a file is always paged when no
	// limit is given.
	pagedFrom = 256 << 10
	// countedTo is how far into a file lines are counted behind the page;
	// beyond it, the total is not worth the wait.
	countedTo = 256 << 20
	// sniff is where a NUL byte makes a file binary.
	sniff = 8 << 10
	chunk = 256 << 10
)

// request is what to read of a text file.
type request struct {
	path   string // as shown
	size   int64
	offset int // 1-based
	limit  int // 0: none
	budget int // bytes of numbered output
}

// page is what was read of a text file.
type page struct {
	text    string // for the model: numbered lines and notices
	content string // the lines alone
	lines   int
	total   int // lines of the file; -1: not counted
}

// readText reads lines in one pass with constant memory: it keeps what fits the
// budget and only counts the rest.
func readText(ctx context.Context, r io.Reader, q request) (page, error) {
	s := scanner{request: q, room: q.budget}
	if q.limit == 0 && q.size > pagedFrom {
		s.room = min(s.room, pagedFrom)
	}
	buf := make([]byte, min(chunk, max(q.size+1, sniff))) // most files are small; the size is only a hint
	for read := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return page{}, context.Cause(ctx)
		}
		n, err := r.Read(buf)
		if read == 0 {
			if bytes.IndexByte(buf[:min(n, sniff)], 0) >= 0 {
				return page{}, binary(q, buf[:n])
			}
			s.feed(bytes.TrimPrefix(buf[:n], []byte("\uFEFF")))
		} else {
			s.feed(buf[:n])
		}
		read += int64(n)
		if err == io.EOF {
			s.end()
			break
		}
		if err != nil {
			return page{}, fmt.Errorf("reading %s: %w", q.path, err)
		}
		if s.full() && read > countedTo {
			s.uncounted = true
			break
		}
	}
	return s.page()
}

// binary refuses a file with NUL bytes. UTF-16 is text, which people see as such.
func binary(q request, start []byte) error {
	if bytes.HasPrefix(start, []byte("\xff\xfe")) || bytes.HasPrefix(start, []byte("\xfe\xff")) {
		return &tools.Fault{Fact: q.path + " is UTF-16 text", Next: "Only UTF-8 text can be read; convert a copy of it."}
	}
	return &tools.Fault{
		Fact: fmt.Sprintf("%s is a binary file of %d bytes", q.path, q.size),
		Next: "Only text files can be read.",
	}
}

// scanner takes a file in pieces and keeps the lines asked for.
type scanner struct {
	request
	room int // bytes of numbered output that may be kept

	line      int    // lines ended so far
	part      []byte // the current line, as far as it is kept
	length    int    // bytes of the current line
	open      bool   // the current line has begun
	kept      []byte // lines kept, each with a newline behind it
	ends      []int  // where in kept each of them ends
	used      int    // bytes of numbered output kept
	over      int    // first wanted line that did not fit; 0: none
	long      int    // bytes of the only line kept, which did not fit whole; 0: it did
	invalid   []int  // which of the lines kept are not valid UTF-8
	uncounted bool   // the file goes on beyond where lines are counted
}

// full reports whether nothing more will be kept.
func (s *scanner) full() bool {
	return s.over > 0 || s.limit > 0 && s.line >= s.offset-1+s.limit
}

// wanted reports whether the current line is in the range.
func (s *scanner) wanted() bool { return s.line+1 >= s.offset && !s.full() }

func (s *scanner) feed(p []byte) {
	for len(p) > 0 {
		if !s.wanted() && s.line+1 >= s.offset { // behind the page: only count
			s.count(p)
			return
		}
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.take(p)
			s.open = true
			return
		}
		s.take(p[:i])
		s.endLine()
		p = p[i+1:]
	}
}

// count counts the lines in p.
func (s *scanner) count(p []byte) {
	s.line += bytes.Count(p, []byte{'\n'})
	s.open = p[len(p)-1] != '\n'
}

// take keeps a piece of the current line, no more than could ever fit.
func (s *scanner) take(p []byte) {
	if s.wanted() {
		s.part = append(s.part, p[:min(len(p), max(0, s.room-len(s.part)))]...)
		s.length += len(p)
	}
}

// endLine ends the current line and keeps it if it fits.
func (s *scanner) endLine() {
	if s.wanted() {
		s.keep()
	}
	s.part, s.length = s.part[:0], 0
	s.open = false
	s.line++
}

// keep keeps the current line if it fits; of the first line wanted as much as
// fits.
func (s *scanner) keep() {
	line, cut := s.part, s.length > len(s.part)
	if cut {
		line = wholeRunes(line)
	} else {
		line = bytes.TrimSuffix(line, []byte{'\r'})
	}
	valid := utf8.Valid(line)
	shown := line
	if !valid {
		shown = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	}
	room := s.room - s.used - numberWidth(s.line+1) - 1
	if cut || len(shown) > room {
		s.over = s.line + 1
		if len(s.ends) > 0 {
			return
		}
		s.long, s.over = s.length, s.line+2
		shown = clip(shown, int(float64(room)*pageShare))
	}
	if !valid {
		s.invalid = append(s.invalid, len(s.ends))
	}
	s.kept = append(append(s.kept, shown...), '\n')
	s.ends = append(s.ends, len(s.kept))
	s.used += numberWidth(s.line+1) + len(shown) + 1
}

// clip cuts a line to at most n bytes, between characters.
func clip(line []byte, n int) []byte {
	if n = max(n, 0); n >= len(line) {
		return line
	}
	for n > 0 && !utf8.RuneStart(line[n]) {
		n--
	}
	return line[:n]
}

// wholeRunes leaves out a character that a cut has left incomplete at the end.
func wholeRunes(line []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(line); n++ {
		if last := line[len(line)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return line[:len(line)-n]
			}
			break
		}
	}
	return line
}

// end ends the file; its last line needs no newline.
func (s *scanner) end() {
	if s.open {
		s.endLine()
	}
}

// minWidth is how wide `cat -n` makes a number at least.
const minWidth = 6

// numberWidth is the length of a number and the tab behind it.
func numberWidth(n int) int {
	width := 1
	for ; n >= 10; n /= 10 {
		width++
	}
	return max(width, minWidth) + 1
}

// appendNumber appends a line's number as `cat -n` does.
func appendNumber(b []byte, n int) []byte {
	for pad := numberWidth(n) - 1 - len(strconv.Itoa(n)); pad > 0; pad-- {
		b = append(b, ' ')
	}
	return append(strconv.AppendInt(b, int64(n), 10), '\t')
}

func (s *scanner) page() (page, error) {
	p := page{total: s.line}
	if s.uncounted {
		p.total = -1
	}
	if err := s.fault(); err != nil {
		return p, err
	}
	if s.over > 0 {
		s.trim()
	}
	p.lines = len(s.ends)
	p.content = string(bytes.TrimSuffix(s.kept, []byte{'\n'}))
	out := make([]byte, 0, s.used+256)
	from := 0
	for i, end := range s.ends {
		out = append(appendNumber(out, s.offset+i), s.kept[from:end]...)
		from = end
	}
	for _, n := range s.notices(p.total) {
		out = append(append(append(out, '['), n...), "]\n"...)
	}
	p.text = string(bytes.TrimSuffix(out, []byte{'\n'}))
	return p, nil
}

// trim makes a page of what was kept.
func (s *scanner) trim() {
	for len(s.ends) > 1 && s.used > int(float64(s.room)*pageShare) {
		last := len(s.ends) - 1
		s.used -= numberWidth(s.offset+last) + s.ends[last] - s.ends[last-1]
		s.kept, s.ends = s.kept[:s.ends[last-1]], s.ends[:last]
		if n := len(s.invalid); n > 0 && s.invalid[n-1] == last {
			s.invalid = s.invalid[:n-1]
		}
	}
}

// fault is the answer when there is nothing to show, or when the range asked
// for is more than can be shown.
func (s *scanner) fault() error {
	switch {
	case s.over > 0 && s.limit > 1 && s.long == 0:
		return &tools.Fault{
			Fact: fmt.Sprintf("%d lines of %s from line %d are over the budget of %d tokens", s.limit, s.path, s.offset, s.budget/bytesPerToken),
			Next: fmt.Sprintf("The first %d of them fit: use limit %d, then go on with offset %d.", len(s.ends), len(s.ends), s.over),
		}
	case len(s.ends) > 0 || s.line == 0 && s.offset == 1:
		return nil
	case s.line == 0:
		return &tools.Fault{Fact: s.path + " is empty", Next: "Leave out offset and limit."}
	case s.line < s.offset:
		return &tools.Fault{
			Fact: fmt.Sprintf("offset %d is past the end of %s, which has %s", s.offset, s.path, plural(s.line, "line")),
			Next: fmt.Sprintf("Use an offset from 1 to %d.", s.line),
		}
	}
	return errors.New("nothing was read") // cannot happen: a line was wanted, and kept or over
}

// notices are what the model must know beside the lines.
func (s *scanner) notices(total int) []string {
	var out []string
	last := s.offset + len(s.ends) - 1
	of := "of " + strconv.Itoa(total)
	if total < 0 {
		of = fmt.Sprintf("of a file of %d bytes", s.size)
	}
	switch {
	case s.line == 0:
		out = append(out, "the file is empty")
	case s.long > 0:
		shown := s.ends[0] - 1
		notice := fmt.Sprintf("line %d has %d bytes, of which the first %d are shown", s.offset, s.long, shown)
		if total < 0 || s.over <= total {
			notice += fmt.Sprintf("; go on with offset %d", s.over)
		}
		out = append(out, notice)
	case s.over > 0:
		out = append(out, fmt.Sprintf("lines %d to %d %s; go on with offset %d", s.offset, last, of, last+1))
	case s.offset > 1 || s.limit > 0 && (total < 0 || last < total):
		out = append(out, fmt.Sprintf("lines %d to %d %s", s.offset, last, of))
	}
	if n := len(s.invalid); n > 0 {
		out = append(out, fmt.Sprintf("%s not valid UTF-8: the bytes in question are shown as \uFFFD", are(n)))
	}
	return out
}

func are(n int) string {
	if n == 1 {
		return "1 line is"
	}
	return fmt.Sprintf("%d lines are", n)
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
