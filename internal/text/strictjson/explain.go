package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// What JSON requires at some place.
const (
	aValue = "a value"
	aKey   = "a quoted key"
)

// explain returns the error for err, which d returned for the token after
// InputOffset. It does not use the wording of err, which may change.
func explain(d *jsontext.Decoder, text []byte, err error, depth int) *Error {
	at := len(bytes.TrimRight(text, " \t\r\n"))
	syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok || errors.Is(err, io.ErrUnexpectedEOF) { // otherwise it is io.EOF
		e := newError(Syntax, text, at)
		e.empty, e.Found = at == 0, ""
		return e
	}
	at = min(at, int(syntactic.ByteOffset))
	if errors.Is(err, jsontext.ErrDuplicateName) {
		e := newError(Duplicate, text, at)
		e.Key, e.Path = syntactic.JSONPointer.LastToken(), path(d, syntactic.JSONPointer)
		return e
	}
	if r, size := utf8.DecodeRune(text[at:]); r == utf8.RuneError && size == 1 {
		return newError(NotUTF8, text, at)
	}
	if isSurrogate(text[at:]) {
		e := newError(Surrogate, text, at)
		e.Found = string(text[at : at+len(`\u0000`)])
		return e
	}
	begin, expected := next(d, text)
	if begin < at && (expected == aValue || expected == aKey && text[begin] == '"') {
		at, expected = inside(text, begin, at)
	} else {
		at = begin
	}
	if d.StackDepth() == depth && expected == aValue && at < len(text) && (text[at] == '{' || text[at] == '[') {
		return tooDeep(text, at, depth)
	}
	e := newError(Syntax, text, at)
	e.expected = expected
	e.comma = (e.Found == "}" && expected == aKey || e.Found == "]" && expected == aValue) &&
		bytes.HasSuffix(bytes.TrimRight(text[:at], " \t\r\n"), []byte(","))
	return e
}

// next returns what d expects next, and the offset where that is missing or
// begins.
func next(d *jsontext.Decoder, text []byte) (at int, expected string) {
	at = space(text, int(d.InputOffset()))
	kind, n := d.StackIndex(d.StackDepth())
	object := kind == jsontext.KindBeginObject
	separator, expected := byte(0), aValue
	switch {
	case object && n%2 == 1:
		separator, expected = ':', `":"`
	case object && n > 0:
		separator, expected = ',', `"," or "}"`
	case kind == jsontext.KindBeginArray && n > 0:
		separator, expected = ',', `"," or "]"`
	}
	if separator != 0 {
		if at == len(text) || text[at] != separator {
			return at, expected
		}
		at, expected = space(text, at+1), aValue
	}
	if object && n%2 == 0 {
		expected = aKey
	}
	return at, expected
}

// inside returns what is expected at an offset within the value that begins at
// begin.
func inside(text []byte, begin, at int) (int, string) {
	switch c := text[begin]; {
	case c == '"':
		return inString(text, at)
	case c == '-' || '0' <= c && c <= '9':
		return at, "a digit"
	case strings.IndexByte("tfn", c) >= 0:
		return at, "true, false or null"
	}
	return begin, aValue
}

// inString returns what is expected in a string, and the offset where it is
// missing. at is that of an escape or a control character.
func inString(text []byte, at int) (int, string) {
	switch {
	case text[at] != '\\':
		return at, `a quote, or \n for a line break`
	case at+1 == len(text) || text[at+1] != 'u':
		return at + 1, `one of the escapes \" \\ \/ \b \f \n \r \t \u`
	}
	at += len(`\u`)
	for at < len(text) && strings.IndexByte("0123456789abcdefABCDEF", text[at]) >= 0 {
		at++
	}
	return at, "four hexadecimal digits"
}

// isSurrogate reports whether text begins with the escape of a surrogate.
func isSurrogate(text []byte) bool {
	if len(text) < len(`\u0000`) || string(text[:2]) != `\u` {
		return false
	}
	u, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return err == nil && u>>11 == 0xD800>>11
}

// path returns a pointer in the form items[0].name. d is within the object that
// holds its last token.
func path(d *jsontext.Decoder, p jsontext.Pointer) string {
	var b strings.Builder
	level := 0
	for token := range p.Tokens() {
		level++
		if kind, _ := d.StackIndex(level); kind == jsontext.KindBeginArray {
			fmt.Fprintf(&b, "[%s]", token)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	return b.String()
}
