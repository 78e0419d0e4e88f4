// Package jsontext analyzes JSON text without copying it, because an input may
// be as long as a message.
package jsontext

import (
	"encoding/json"
)

// Member is a member of an object: its decoded key, and the byte offsets of its
// value in the text.
type Member struct {
	Key      string
	From, To int
}

// Members returns the members of the object in text, in order. ok is false if
// the text is not valid JSON or not an object.
func Members(text []byte) (list []Member, ok bool) {
	at := space(text, 0)
	if at == len(text) || text[at] != '{' || !json.Valid(text) {
		return nil, false
	}
	// From here on the text is known to be valid, so expected characters are
	// present.
	for at = space(text, at+1); text[at] != '}'; at = space(text, at) {
		if text[at] == ',' {
			at = space(text, at+1)
		}
		end := value(text, at)
		var m Member
		if json.Unmarshal(text[at:end], &m.Key) != nil {
			return nil, false
		}
		m.From = space(text, space(text, end)+1) // after the colon
		m.To = value(text, m.From)
		list, at = append(list, m), m.To
	}
	return list, true
}

// space returns the offset of the first byte from at that is not white space.
func space(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r') {
		at++
	}
	return at
}

// value returns the end of the value that begins at the offset at.
func value(text []byte, at int) int {
	depth := 0
	for ; at < len(text); at++ {
		switch text[at] {
		case '"':
			for at++; text[at] != '"'; at++ {
				if text[at] == '\\' {
					at++
				}
			}
			if depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
			if depth < 0 { // the end of the enclosing value
				return at
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 { // the end of a number or word
				return at
			}
		}
	}
	return at
}
