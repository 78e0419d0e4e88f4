package notebook

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/fault"
)

// This file checks that a file is JSON, and says where it is not. It is a
// scanner of our own because encoding/json stops at the NaN and Infinity that
// Python writes (here they are numbers, which the places we read refuse like
// any other wrong number), says neither line nor column, takes the last of
// doubled keys without a word, and holds a second copy of what it reads.

// maxDepth bounds nesting: that of encoding/json, and far more than Python's
// own reader takes.
const maxDepth = 10_000

// mistake is what makes a file no JSON.
type mistake struct {
	at   int // offset in bytes
	what string
}

// readJSON returns the one value of a file.
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
		m = s.wrong("there is something behind the end of the notebook")
	}
	if m != nil {
		return value{}, m.fault(data)
	}
	return value{data, from, to}, nil
}

// fault words a mistake with its place, both numbers counted from 1 and the
// column in characters.
func (m *mistake) fault(data []byte) error {
	begin := bytes.LastIndexByte(data[:m.at], '\n') + 1
	what, line := m.what, data[begin:]
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

// lineAt is the line of an offset, counted from 1.
func lineAt(data []byte, at int) int { return bytes.Count(data[:at], []byte{'\n'}) + 1 }

// scanner walks over JSON.
type scanner struct {
	data []byte
	pos  int
}

// wrong is a mistake at the next byte, or that there is none.
func (s *scanner) wrong(what string) *mistake {
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

// peek is the next byte; 0, which no JSON has outside of strings, at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

// value walks over one value that begins here.
func (s *scanner) value(depth int) *mistake {
	switch c := s.peek(); {
	case c == '{' || c == '[':
		if depth == maxDepth {
			return s.wrong(fmt.Sprintf("values are nested more than %d deep", maxDepth))
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
		case strings.HasPrefix(word, string(rest[:min(len(rest), len(word))])): // the file ends in it
			s.pos = len(s.data)
		}
	}
	return s.wrong("there is no value where one is missing")
}

func (s *scanner) object(depth int) *mistake {
	s.pos++
	if s.space(); s.peek() == '}' {
		s.pos++
		return nil
	}
	for {
		if s.peek() != '"' {
			return s.wrong("a key in double quotes is missing")
		}
		if m := s.str(); m != nil {
			return m
		}
		if s.space(); s.peek() != ':' {
			return s.wrong("the colon behind a key is missing")
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

// next walks over what is between two items, or behind the last one.
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
	return false, s.wrong(fmt.Sprintf("a comma or the closing %c of %s is missing", end, of))
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
			return s.wrong("a string holds a control character that is not escaped")
		}
	}
	return &mistake{from, "a string is not closed"}
}

// escape walks to the last byte of an escape.
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

// since is a mistake in what began before the next byte, or that there is none.
func (s *scanner) since(from int, what string) *mistake {
	m := s.wrong(what)
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

// digits walks over digits and reports whether there are any.
func (s *scanner) digits() bool {
	from := s.pos
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.pos++
	}
	return s.pos > from
}
