// Package textfile represents the text of a file, and edits that change no other bytes. It does no
// I/O.
//
// Its rules:
//   - A model gets a text as UTF-8 without a byte order mark, with "\n" for
//     "\r\n". Edits are given and matched in these terms.
//   - Nothing else is ever treated as equal: no white space, quotes, case or
//     forms of accents.
//   - The bytes around an edit do not change, nor do those that the old and the
//     new text have in common, whatever the encoding and the line endings.
//
// Errors are about the file: their fact continues the file's name ("a.txt" + " is not UTF-8").
package textfile

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/japanese"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

// Encoding is the encoding of text in a file.
type Encoding uint8

const (
	UTF8    Encoding = iota
	UTF8BOM          // with a byte order mark, as some Windows programs write it
	UTF16LE          // with a byte order mark; without one it is a charset
	UTF16BE
)

// String returns the name of the encoding for users.
func (e Encoding) String() string {
	if c := e.charset(); c != nil {
		return c.name
	}
	return [...]string{"UTF-8", "UTF-8 with a byte order mark", "UTF-16 (little endian)", "UTF-16 (big endian)"}[e]
}

// mark returns the byte order mark of the encoding.
func (e Encoding) mark() string {
	if e.Legacy() {
		return ""
	}
	return [...]string{"", "\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"}[e]
}

func (e Encoding) wide() bool { return e == UTF16LE || e == UTF16BE }

// Text is the text of a file with its exact bytes. It is immutable, so it is safe for concurrent
// use.
type Text struct {
	data []byte
	enc  Encoding
	text []byte // decoded, of an older encoding
	hint Hint
}

// Decode is DecodeFile without a hint.
func Decode(data []byte) (*Text, error) { return DecodeFile(data, Hint{}) }

// DecodeFile makes a Text of a file's bytes. The caller must not modify data afterwards. A file
// that is not text in one of the encodings is a *fault.Fault that names its apparent content.
// Unpaired surrogates of UTF-16 are accepted: they are shown as U+FFFD, and edits do not change
// them.
//
// A byte order mark decides on the encoding. Text beyond ASCII that is valid UTF-8 is UTF-8,
// whatever it declares. Otherwise a declaration decides, in the file or in the hint, if the bytes
// are text in that encoding that encodes to the same bytes. Without one, only a text that hardly
// can be anything else has an older encoding, or UTF-16 without a byte order mark.
func DecodeFile(data []byte, h Hint) (*Text, error) {
	t := &Text{data: data, hint: h}
	for enc := UTF16BE; enc > UTF8; enc-- {
		if bytes.HasPrefix(data, []byte(enc.mark())) {
			t.enc = enc
			break
		}
	}
	if t.enc.wide() {
		if err := refuseWide(data, t.enc); err != nil {
			return nil, err
		}
		return t, nil
	}
	body := t.body()
	if t.enc == UTF8 && (bytes.IndexByte(body[:min(len(body), sniff)], 0) >= 0 || !utf8.Valid(body)) {
		if wide := t.unmarked(); wide != nil {
			return wide, nil
		}
	}
	if bytes.IndexByte(body[:min(len(body), sniff)], 0) >= 0 || t.enc == UTF8BOM && !utf8.Valid(body) {
		return nil, refuse(body, h.Path)
	}
	if t.enc == UTF8BOM || !isASCII(body) && utf8.Valid(body) {
		return t, nil
	}
	return t.older()
}

// older completes the Text of a file that is ASCII or not UTF-8.
func (t *Text) older() (*Text, error) {
	ascii := isASCII(t.data)
	label, html := declared(t.data, t.hint)
	if name := normalLabel(label); ascii && (stateful[name] && bytes.ContainsAny(t.data, "\x1b~+") || Shifts(t.data)) {
		f := fault.Fault{
			Fact: "is text in an encoding in which each byte depends on those before, " + cmp.Or(name, "such as iso-2022-jp"),
			Next: "Ask the user to convert it to UTF-8, or change it with a script.",
		}
		text, err := japanese.ISO2022JP.NewDecoder().Bytes(t.data)
		if err != nil || bytes.Contains(text, []byte("\uFFFD")) || !Shifts(t.data) {
			return nil, &f
		}
		return nil, &Unknown{Fault: f, Text: text}
	}
	enc, known := lookup(label, html)
	switch {
	case ascii && known:
		t.enc, t.text = enc, t.data
		return t, nil
	case ascii:
		return t, nil
	case enc.Legacy() && controls(t.data[:min(len(t.data), sampled)])*32 <= min(len(t.data), sampled):
		text, ok := enc.charset().decode(t.data)
		if !ok && text != nil && !bytes.Contains(text, []byte("\uFFFD")) {
			return nil, &Unknown{fault.Fault{
				Fact: fmt.Sprintf("is %s text with characters that have several codes in it, first in line %d", enc, misfit(t.data, enc)),
				Next: "It can be read, but not edited: change it with a script.",
			}, text}
		}
		if !ok {
			return nil, &Unknown{Fault: fault.Fault{
				Fact: fmt.Sprintf("declares the encoding %s, but has bytes that are not, first in line %d", enc, misfit(t.data, enc)),
				Next: "Correct the declaration, or edit the file with a script.",
			}}
		}
		t.enc, t.text = enc, text
		return t, nil
	}
	if enc, text := sure(t.data); text != nil {
		t.enc, t.text = enc, text
		return t, nil
	}
	return nil, refuse(t.data, t.hint.Path)
}

// misfit returns the first line that does not encode to the same bytes again.
func misfit(data []byte, enc Encoding) int {
	n := 0
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		n++
		if _, ok := enc.charset().decode(line); !ok {
			break
		}
	}
	return n
}

// Shifts reports whether ASCII bytes have the escape sequences of ISO-2022, which no terminal has.
func Shifts(data []byte) bool {
	for _, to := range []string{"\x1b$B", "\x1b$@", "\x1b$)C", "\x1b$A", "\x1b$)A"} {
		if bytes.Contains(data, []byte(to)) {
			return true
		}
	}
	return false
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Declares returns the older encoding that a text for a file declares, and UTF8 if it declares none.
func Declares(content string, h Hint) Encoding {
	enc, _ := lookup(declared([]byte(content), h))
	return enc
}

// Encode returns the text of a new file with the line endings of content. In UTF-16, invalid UTF-8
// becomes U+FFFD. In an older encoding, every character must fit; see Misfit.
func Encode(content string, enc Encoding) *Text {
	t := &Text{data: enc.appendText([]byte(enc.mark()), content), enc: enc}
	if enc.Legacy() {
		t.text = []byte(content)
	}
	return t
}

// Misfit returns a fault that names the first character of a text, to be called what, that the
// encoding does not have, and nil if there is none. from is the number of its first line.
func Misfit(what, text string, enc Encoding, from int) error {
	c := enc.charset()
	if c == nil {
		return nil
	}
	r, at := c.fits(text)
	if at < 0 {
		return nil
	}
	return &fault.Fault{
		Fact: fmt.Sprintf("stays as it is: it is %s, which does not have %s (U+%04X) of %s, in line %d", enc, plain.Line(string(r)), r, what, from+strings.Count(text[:at], "\n")),
		Next: "Write it in another way, such as an escape of the language, or ask the user whether to convert the file to UTF-8.",
	}
}

// Bytes returns the exact bytes of the file. The caller must not modify them.
func (t *Text) Bytes() []byte { return t.data }

// Encoding returns the encoding, which edits do not change.
func (t *Text) Encoding() Encoding { return t.enc }

// String returns the text as shown to a model.
func (t *Text) String() string { return string(normalizeEndings(t.decoded())) }

// Raw returns the text in UTF-8 with its own line endings.
func (t *Text) Raw() string { return string(t.decoded()) }

// normalizeEndings returns decoded text with "\n" for "\r\n".
func normalizeEndings(d []byte) []byte {
	if !bytes.Contains(d, []byte("\r\n")) {
		return d
	}
	return bytes.ReplaceAll(d, []byte("\r\n"), []byte("\n"))
}

// Endings holds the number of line endings of a text.
type Endings struct {
	LF   int // "\n" alone
	CRLF int // "\r\n"
	CR   int // "\r" alone, which is not a line ending here
}

// Endings counts the line endings in linear time.
func (t *Text) Endings() Endings { return countEndings(t.decoded()) }

func countEndings(d []byte) Endings {
	e := Endings{LF: bytes.Count(d, []byte{'\n'})}
	if bytes.IndexByte(d, '\r') < 0 {
		return e
	}
	e.CRLF = countCRLF(d)
	e.LF -= e.CRLF
	e.CR = bytes.Count(d, []byte{'\r'}) - e.CRLF
	return e
}

// countCRLF counts "\r\n". It is several times as fast as bytes.Count.
func countCRLF(d []byte) (n int) {
	for i := 0; ; i++ {
		next := bytes.IndexByte(d[i:], '\n')
		if next < 0 {
			return n
		}
		if i += next; i > 0 && d[i-1] == '\r' {
			n++
		}
	}
}

// body returns the bytes after the byte order mark.
func (t *Text) body() []byte { return t.data[len(t.enc.mark()):] }

// decoded returns the text as valid UTF-8 with its own line endings.
func (t *Text) decoded() []byte {
	if t.enc.Legacy() {
		return t.text
	}
	if t.enc.wide() {
		return decodeWide(t.body(), t.enc)
	}
	return t.body()
}
