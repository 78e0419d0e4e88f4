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
	"unicode/utf8"
)

// Encoding is the encoding of text in a file.
type Encoding uint8

const (
	UTF8    Encoding = iota
	UTF8BOM          // with a byte order mark, as some Windows programs write it
	UTF16LE          // always with a byte order mark: without one it would be a guess
	UTF16BE
)

// String returns the name of the encoding for users.
func (e Encoding) String() string {
	return [...]string{"UTF-8", "UTF-8 with a byte order mark", "UTF-16 (little endian)", "UTF-16 (big endian)"}[e]
}

// mark returns the byte order mark of the encoding.
func (e Encoding) mark() string { return [...]string{"", "\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"}[e] }

func (e Encoding) wide() bool { return e >= UTF16LE }

// Text is the text of a file with its exact bytes. It is immutable, so it is safe for concurrent
// use.
type Text struct {
	data []byte
	enc  Encoding
}

// Decode makes a Text of a file's bytes. The caller must not modify data afterwards. A file that is
// not text in one of the encodings is a *fault.Fault that names its apparent content. Unpaired
// surrogates of UTF-16 are accepted: they are shown as U+FFFD, and edits do not change them.
func Decode(data []byte) (*Text, error) {
	t := &Text{data: data}
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
	if bytes.IndexByte(body[:min(len(body), sniff)], 0) >= 0 || !utf8.Valid(body) {
		return nil, refuse(body)
	}
	return t, nil
}

// Encode returns the text of a new file with the line endings of content. In UTF-16, invalid UTF-8
// becomes U+FFFD.
func Encode(content string, enc Encoding) *Text {
	return &Text{data: enc.appendText([]byte(enc.mark()), content), enc: enc}
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
	if t.enc.wide() {
		return decodeWide(t.body(), t.enc)
	}
	return t.body()
}
