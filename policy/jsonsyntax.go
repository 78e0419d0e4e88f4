package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// expectations are what JSON needs at a place, by a part of the error that
// encoding/json has for it.
var expectations = []struct{ worded, expected string }{
	{"looking for beginning of object key string", "a quoted key"},
	{"looking for beginning of value", "a value"},
	{"after object key:value pair", `"," or "}"`},
	{"after object key", `":"`},
	{"after array element", `"," or "]"`},
	{"after top-level value", "the end of the file"},
	{"in string escape code", `one of the escapes \" \\ \/ \b \f \n \r \t \u`},
	{`in \u hexadecimal character escape`, "four hexadecimal digits"},
	{"in string literal", `a quote, or \n for a line break`},
	{"in numeric literal", "a digit"},
	{"after decimal point in numeric literal", "a digit"},
	{"in exponent of numeric literal", "a digit"},
	{"in literal", "true, false or null"},
}

// syntaxError returns an error with the line and column at which a text stops being
// JSON, and what is expected there. Columns count characters, from 1.
func syntaxError(data []byte, err *json.SyntaxError) error {
	end := strings.HasPrefix(err.Error(), "unexpected end")
	at := int(min(max(err.Offset, 1), int64(len(data)))) - 1 // the offset is after the character
	if end {
		at = len(bytes.TrimRight(data, " \t\r\n"))
	}
	line := 1 + bytes.Count(data[:at], []byte("\n"))
	column := 1 + utf8.RuneCount(data[bytes.LastIndexByte(data[:at], '\n')+1:at])
	where := fmt.Sprintf("line %d, column %d: ", line, column)
	if end {
		return fmt.Errorf("%sthe file ends too early; a quote or bracket is not closed", where)
	}
	found, _ := utf8.DecodeRune(data[at:])
	for _, e := range expectations {
		if !strings.Contains(err.Error(), e.worded) {
			continue
		}
		text := fmt.Sprintf("%sexpected %s, found %q", where, e.expected, string(found))
		if found == '/' && strings.HasPrefix(e.worded, "looking") {
			text += "; JSON has no comments"
		}
		return errors.New(text)
	}
	return fmt.Errorf("%s%w", where, err)
}
