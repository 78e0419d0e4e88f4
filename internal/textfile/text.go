// Package textfile is the text of a file, and edits of it that change no byte
// but those edited. It does no I/O.
//
// Its rules:
//   - A model sees a text as UTF-8 without a byte order mark, with "\n" for
//     "\r\n". Edits are given and matched in these terms.
//   - Nothing else is ever treated as equal: no white space, quotes, case or
//     forms of accents.
//   - The bytes around an edit stay, and so do those that the old and the new
//     text have in common, whatever the encoding and the line endings.
//
// Errors are about the file: their fact goes on after its name ("a.txt" +
// " is not UTF-8").
package textfile

import (
	"bytes"
	"unicode/utf8"
)

// Encoding is how text is stored in a file.
type Encoding uint8

const (
	UTF8    Encoding = iota
	UTF8BOM          // with a byte order mark, as some Windows programs write it
	UTF16LE          // always with a mark: without one it is a guess
	UTF16BE
)

// String is the encoding as people call it.
func (e Encoding) String() string {
	return [...]string{"UTF-8", "UTF-8 with a byte order mark", "UTF-16 (little endian)", "UTF-16 (big endian)"}[e]
}

// mark is what a file in the encoding begins with.
func (e Encoding) mark() string { return [...]string{"", "\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"}[e] }

func (e Encoding) wide() bool { return e >= UTF16LE }

// Text is the text of a file with its exact bytes. It does not change, so it
// may be used concurrently.
type Text struct {
	data []byte
	enc  Encoding
}

// Decode takes a file's bytes, which must not change afterwards. A file that
// is not text in one of the encodings is a *fault.Fault that names what it
// seems to be. Unpaired surrogates of UTF-16 are taken: they are seen as
// U+FFFD and stay as they are.
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

// Encode makes the text of a new file. Its line endings are those of content,
// and invalid UTF-8 in it becomes U+FFFD in UTF-16.
func Encode(content string, enc Encoding) *Text {
	return &Text{data: enc.appendText([]byte(enc.mark()), content), enc: enc}
}

// Bytes is exactly what is in the file. The caller must not change it.
func (t *Text) Bytes() []byte { return t.data }

// Encoding is how the text is stored; an edit keeps it.
func (t *Text) Encoding() Encoding { return t.enc }

// String is the text as a model sees it.
func (t *Text) String() string { return string(seen(t.decoded())) }

// seen is decoded text with "\n" for "\r\n".
func seen(d []byte) []byte {
	if !bytes.Contains(d, []byte("\r\n")) {
		return d
	}
	return bytes.ReplaceAll(d, []byte("\r\n"), []byte("\n"))
}

// Endings counts the line endings of a text.
type Endings struct {
	LF   int // "\n" alone
	CRLF int // "\r\n"
	CR   int // "\r" alone, which ends no line here
}

// Endings counts the line endings, in one pass over the text.
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

// countCRLF is several times as fast as bytes.Count.
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

// body is what comes after the byte order mark.
func (t *Text) body() []byte { return t.data[len(t.enc.mark()):] }

// decoded is the text as valid UTF-8 with its own line endings.
func (t *Text) decoded() []byte {
	if t.enc.wide() {
		return decodeWide(t.body(), t.enc)
	}
	return t.body()
}
