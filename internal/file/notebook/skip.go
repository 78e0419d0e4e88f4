package notebook

import "bytes"

// The functions below scan JSON that has been checked, which is much faster than checking it:
// reading scans the same bytes once for each level of nesting.

// take scans a value, which must be valid.
func (s *scanner) take() value {
	v := value{s.data, s.pos, s.pos}
	for depth := 0; ; {
		switch s.data[s.pos] {
		case '"':
			s.skipString()
		case '{', '[':
			depth++
			s.pos++
		case '}', ']':
			depth--
			s.pos++
		default: // a number, a word, or text between values
			s.pos++
			if depth == 0 {
				s.skipWord()
			}
		}
		if depth == 0 {
			v.to = s.pos
			return v
		}
	}
}

// skipString scans a string in large steps: most of a large file is strings.
func (s *scanner) skipString() {
	for {
		s.pos++
		s.pos += bytes.IndexByte(s.data[s.pos:], '"')
		escapes := 0
		for s.data[s.pos-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			s.pos++
			return
		}
	}
}

// skipWord scans to the end of a number or a word.
func (s *scanner) skipWord() {
	for s.pos < len(s.data) && bytes.IndexByte([]byte(" \t\r\n,:]}"), s.data[s.pos]) < 0 {
		s.pos++
	}
}

// between scans the separator between two items.
func (s *scanner) between() {
	if s.space(); s.peek() == ',' {
		s.pos++
	}
	s.space()
}
