package notebook

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/text/fault"
)

// The scanner below checks that a file is JSON, and locates the error if it is not. encoding/json
// is not used for four reasons. It rejects the NaN and Infinity that Python writes; here they are
// numbers, which the fields we read reject like other wrong numbers. It reports neither line nor
// column. It silently takes the last of duplicate keys. It makes a second copy of what it reads.

// maxDepth is the limit of nesting. It is that of encoding/json, and far more than Python's own
// reader accepts.
const maxDepth = 10_000

// mistake is the reason why a file is not JSON.
type mistake struct {
	at   int // offset in bytes
	text string
}

// readJSON returns the only value of a file.
func readJSON(data []byte) (value, error) {
	s := scanner{data: data}
	s.space()
	if s.pos == len(data) {
		return value{}, notNotebook("it is empty")
	}
	from := s.pos
	m := s.value(0)
	to := s.pos
	if s.space(); m == nil && s.pos < len(data) {
		m = s.mistakeAt("there is something behind the end of the notebook")
	}
	if m != nil {
		return value{}, m.fault(data)
	}
	return value{data, from, to}, nil
}

// fault returns the fault for a mistake with its line and column, both counted from 1, the column
// in characters.
func (m *mistake) fault(data []byte) error {
	begin := bytes.LastIndexByte(data[:m.at], '\n') + 1
	what, line := m.text, data[begin:]
	for _, mark := range []string{"<<<<<<< ", "=======\n", "=======\r\n", ">>>>>>> "} {
		if bytes.HasPrefix(line, []byte(mark)) {
			what = "the line is a mark of a merge conflict"
		}
	}
	return &fault.Fault{
		Fact: fmt.Sprintf("is not valid JSON: line %d, column %d: %s", lineAt(data, m.at), utf8.RuneCount(data[begin:m.at])+1, what),
		Next: "Repair the file there, then read it again.",
	}
}

// lineAt returns the line of an offset, counted from 1.
func lineAt(data []byte, at int) int { return bytes.Count(data[:at], []byte{'\n'}) + 1 }

// scanner scans JSON.
type scanner struct {
	data []byte
	pos  int
}

// mistakeAt returns a mistake at the next byte, or at the end of the file if there is none.
func (s *scanner) mistakeAt(what string) *mistake {
	if s.pos >= len(s.data) {
		what = "the file ends in the middle of the notebook"
	}
	return &mistake{s.pos, what}
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end. JSON contains no 0 outside of strings.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

// value scans the value that begins here.
func (s *scanner) value(depth int) *mistake {
	switch c := s.peek(); {
	case c == '{' || c == '[':
		if depth == maxDepth {
			return s.mistakeAt(fmt.Sprintf("values are nested more than %d deep", maxDepth))
		}
		if c == '{' {
			return s.object(depth + 1)
		}
		return s.list(depth + 1)
	case c == '"':
		return s.str()
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	}
	return s.word()
}

func (s *scanner) word() *mistake {
	rest := s.data[s.pos:]
	for _, word := range []string{"true", "false", "null", "NaN", "Infinity"} {
		switch {
		case bytes.HasPrefix(rest, []byte(word)):
			s.pos += len(word)
			return nil
		case strings.HasPrefix(word, string(rest[:min(len(rest), len(word))])): // the file ends within it
			s.pos = len(s.data)
		}
	}
	return s.mistakeAt("there is no value where one is missing")
}

func (s *scanner) object(depth int) *mistake {
	s.pos++
	if s.space(); s.peek() == '}' {
		s.pos++
		return nil
	}
	for {
		if s.peek() != '"' {
			return s.mistakeAt("a key in double quotes is missing")
		}
		if m := s.str(); m != nil {
			return m
		}
		if s.space(); s.peek() != ':' {
			return s.mistakeAt("the colon behind a key is missing")
		}
		s.pos++
		s.space()
		if m := s.value(depth); m != nil {
			return m
		}
		if done, m := s.next('}', "an object"); done || m != nil {
			return m
		}
	}
}

func (s *scanner) list(depth int) *mistake {
	s.pos++
	if s.space(); s.peek() == ']' {
		s.pos++
		return nil
	}
	for {
		if m := s.value(depth); m != nil {
			return m
		}
		if done, m := s.next(']', "a list"); done || m != nil {
			return m
		}
	}
}

// next scans the separator between two items, or the end after the last one.
func (s *scanner) next(end byte, of string) (done bool, m *mistake) {
	s.space()
	switch c := s.peek(); {
	case c == end:
		s.pos++
		return true, nil
	case c == ',':
		comma := s.pos
		s.pos++
		if s.space(); s.peek() == end {
			return false, &mistake{comma, "there is a comma behind the last item of " + of}
		}
		return false, nil
	}
	return false, s.mistakeAt(fmt.Sprintf("a comma or the closing %c of %s is missing", end, of))
}

func (s *scanner) str() *mistake {
	from := s.pos
	for s.pos++; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c == '\\':
			if m := s.escape(); m != nil {
				return m
			}
		case c == '\n' || c == '\r':
			return &mistake{from, "a string is not closed on its line"}
		case c < ' ':
			return s.mistakeAt("a string holds a control character that is not escaped")
		}
	}
	return &mistake{from, "a string is not closed"}
}

// escape scans to the last byte of an escape.
func (s *scanner) escape() *mistake {
	at := s.pos
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
		if hex4(s.data[s.pos+1:]) >= 0 {
			s.pos += 4
			return nil
		}
		s.pos = min(at+len(`\u0000`), len(s.data))
		return s.since(at, `a string holds a \u without four hexadecimal digits`)
	}
	return s.since(at, "a string holds a backslash that escapes nothing")
}

// since returns a mistake at from, before the next byte, or at the end of the file if there is
// none.
func (s *scanner) since(from int, what string) *mistake {
	m := s.mistakeAt(what)
	if s.pos < len(s.data) {
		m.at = from
	}
	return m
}

func (s *scanner) number() *mistake {
	const half = "a number is not complete"
	from := s.pos
	if s.peek() == '-' {
		s.pos++
	}
	switch {
	case s.pos > from && bytes.HasPrefix(s.data[s.pos:], []byte("Infinity")):
		s.pos += len("Infinity")
		return nil
	case s.peek() == '0':
		s.pos++
	case !s.digits():
		return s.since(from, half)
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return s.since(from, half)
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return s.since(from, half)
		}
	}
	return nil
}

// digits scans digits and reports whether there are any.
func (s *scanner) digits() bool {
	from := s.pos
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.pos++
	}
	return s.pos > from
}
