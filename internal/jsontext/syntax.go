package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// expectations maps a part of an error text of encoding/json to the text that
// JSON requires at that position.
var expectations = []struct{ worded, expected string }{
	{"looking for beginning of object key string", "a quoted key"},
	{"looking for beginning of value", "a value"},
	{"after object key:value pair", `"," or "}"`},
	{"after object key", `":"`},
	{"after array element", `"," or "]"`},
	{"after top-level value", "the end of the "},
	{"in string escape code", `one of the escapes \" \\ \/ \b \f \n \r \t \u`},
	{`in \u hexadecimal character escape`, "four hexadecimal digits"},
	{"in string literal", `a quote, or \n for a line break`},
	{"in numeric literal", "a digit"},
	{"after decimal point in numeric literal", "a digit"},
	{"in exponent of numeric literal", "a digit"},
	{"in literal", "true, false or null"},
}

// Fault returns the position where a text stops being JSON, and what is
// expected there. err is the error of encoding/json for the text. whole names
// the text, such as "file". Lines and columns count from 1, columns in
// characters.
func Fault(text []byte, err *json.SyntaxError, whole string) (line, column int, fact string) {
	end := strings.HasPrefix(err.Error(), "unexpected end")
	at := int(min(max(err.Offset, 1), int64(len(text)))) - 1 // the offset is after the character
	if end {
		at = len(bytes.TrimRight(text, " \t\r\n"))
	}
	line = 1 + bytes.Count(text[:at], []byte("\n"))
	column = 1 + utf8.RuneCount(text[bytes.LastIndexByte(text[:at], '\n')+1:at])
	if end {
		return line, column, "the " + whole + " ends too early; a quote or bracket is not closed"
	}
	found, _ := utf8.DecodeRune(text[at:])
	for _, e := range expectations {
		if !strings.Contains(err.Error(), e.worded) {
			continue
		}
		if strings.HasSuffix(e.expected, " ") {
			e.expected += whole
		}
		fact = fmt.Sprintf("expected %s, found %q", e.expected, string(found))
		if found == '/' && strings.HasPrefix(e.worded, "looking") {
			fact += "; JSON has no comments"
		}
		return line, column, fact
	}
	return line, column, err.Error()
}
