package textfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"mcp-toolset/internal/text/fault"
)

const (
	// sniff is the number of bytes of a file searched for a NUL, which text does not contain. Git
	// and Read examine as many.
	sniff = 8 << 10
	// sampled is the number of bytes from which an encoding is guessed.
	sampled = 64 << 10
)

// guess describes the apparent content of a file.
type guess struct {
	is    string // "is not UTF-8; it looks like ..."
	iconv string // name of the encoding for iconv; "" if the file is not text

	guessed bool // it may be another one
}

// fault returns the fault for a file at path, which may be "".
func (g guess) fault(path string) error {
	next := "Only text can be edited; use a program made for such files."
	switch {
	case g.guessed:
		next = fmt.Sprintf("Ask the user for its encoding and declare it, as in .editorconfig by \"[%s]\" and \"charset = %s\"; Read, Grep and Edit then take the file as text.", namesLike(path), charsetOf(g.iconv))
	case g.iconv != "":
		next = fmt.Sprintf("Convert a copy with \"iconv -f %s -t UTF-8\", edit that and convert it back.", g.iconv)
	}
	if g.guessed {
		return &Unknown{Fault: fault.Fault{Fact: g.is, Next: next}}
	}
	return &fault.Fault{Fact: g.is, Next: next}
}

// namesLike returns a pattern for files such as that at path.
func namesLike(path string) string {
	if ext := filepath.Ext(path); ext != "" {
		return "*" + ext
	}
	if path == "" {
		return "*.txt"
	}
	return filepath.Base(path)
}

// Unknown is the fault of text in an older encoding that is not known, or not the declared one.
type Unknown struct {
	fault.Fault
	Text []byte // not nil: the text, which cannot be edited in this encoding
}

// Unwrap returns the Fault.
func (u *Unknown) Unwrap() error { return &u.Fault }

var binaryData = guess{is: "is binary data, not text"}

// refuseWide returns a fault if a file with a UTF-16 byte order mark is not valid text, otherwise
// nil.
func refuseWide(data []byte, enc Encoding) error {
	body := data[len(enc.mark()):]
	switch {
	case enc == UTF16LE && bytes.HasPrefix(body, []byte{0, 0}) && isUTF32(data, binary.LittleEndian):
		return guess{is: "is UTF-32 text", iconv: "UTF-32"}.fault("")
	case len(body)%2 != 0:
		return &fault.Fault{
			Fact: "is damaged UTF-16 text: it ends in the middle of a character",
			Next: "Remove its last byte, or restore the file.",
		}
	}
	for i := 0; i+1 < len(body) && i < sniff; i += 2 {
		if body[i] == 0 && body[i+1] == 0 {
			return binaryData.fault("")
		}
	}
	return nil
}

// refuse returns the fault for a file that is not UTF-8 text, with its apparent content.
func refuse(body []byte, path string) error {
	head := body[:min(len(body), sampled)]
	if bytes.IndexByte(head[:min(len(head), sniff)], 0) >= 0 {
		return guessWide(head, len(body)).fault("")
	}
	if controls(head)*32 > len(head) {
		return binaryData.fault("")
	}
	if cut(body) {
		return &fault.Fault{
			Fact: "is UTF-8 text that ends in the middle of a character",
			Next: "Remove its last bytes, for example with \"iconv -c -f UTF-8 -t UTF-8\", or restore the file.",
		}
	}
	if line, ok := damaged(body); ok {
		return &fault.Fault{
			Fact: fmt.Sprintf("is UTF-8 text with bytes in it that are not, first in line %d", line),
			Next: "Correct these bytes, for example with \"iconv -c -f UTF-8 -t UTF-8\", which leaves them out, or edit the file with a script.",
		}
	}
	g := guessLegacy(body)
	g.guessed = true
	return g.fault(path)
}

// guessLegacy names an encoding that contains ASCII, of text that is not UTF-8.
func guessLegacy(body []byte) guess {
	// Look at the first byte beyond ASCII, since the start may have none.
	i := bytes.IndexFunc(body, func(r rune) bool { return r >= utf8.RuneSelf })
	head := body[i:min(len(body), i+sampled)]
	if g, ok := guessEastAsian(head); ok {
		return g
	}
	return guessSingle(head)
}

// GuessCharset returns the apparent encoding of text, by its name in the WHATWG Encoding
// Standard. Text in UTF-8, also with a few damaged bytes, is "utf-8".
func GuessCharset(text []byte) string {
	head := text[:min(len(text), sampled)]
	g := guess{}
	if bytes.IndexByte(head, 0) >= 0 {
		g = guessWide(head[:len(head)&^3], len(head)&^3)
	} else if _, few := damaged(text); !few && !cut(text) && !utf8.Valid(text) {
		g = guessLegacy(text)
	}
	return charsetOf(g.iconv)
}

// charsetOf returns the name in the WHATWG Encoding Standard of a name for iconv.
func charsetOf(iconv string) string {
	switch iconv {
	case "", "UTF-32LE", "UTF-32BE":
		return "utf-8"
	case "CP932":
		return "shift_jis"
	case "CP949":
		return "euc-kr"
	case "CP1251":
		return "windows-1251"
	case "CP1252", "ENCODING":
		return "windows-1252"
	}
	return strings.ToLower(iconv)
}

// guessWide names text with NUL bytes, which UTF-16 and UTF-32 contain.
func guessWide(head []byte, size int) guess {
	for _, le := range []bool{true, false} {
		enc, end, short := UTF16BE, "big", "BE"
		if le {
			enc, end, short = UTF16LE, "little", "LE"
		}
		if size%4 == 0 && isUTF32(head, enc.order()) {
			return guess{is: "is UTF-32 text (" + end + " endian)", iconv: "UTF-32" + short}
		}
		if size%2 == 0 && isUTF16(head, enc) {
			return guess{is: "is UTF-16 text without a byte order mark (" + end + " endian)", iconv: "UTF-16" + short}
		}
	}
	return binaryData
}

// isUTF32 reports whether b consists of characters that occur in text.
func isUTF32(b []byte, order binary.ByteOrder) bool {
	n := 0
	for ; len(b) >= 4; b = b[4:] {
		r := rune(order.Uint32(b))
		if !utf8.ValidRune(r) || isControl(r) {
			return false
		}
		n++
	}
	return n > 0
}

// isUTF16 reports whether b is text with a large share of ASCII. Without a byte order mark, nothing
// else distinguishes it from binary data.
func isUTF16(b []byte, enc Encoding) bool {
	n, ascii := 0, 0
	for ; len(b) >= 2; b = b[2:] {
		u := rune(enc.order().Uint16(b))
		if isControl(u) {
			return false
		}
		n++
		if u < utf8.RuneSelf || utf16.IsSurrogate(u) {
			ascii++
		}
	}
	return ascii*4 > n
}

// isControl reports whether r is a control character that does not occur in text.
func isControl(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', '\b', 0x1b, 0xfeff:
		return false
	}
	return r < ' ' || r == 0x7f
}

func controls(b []byte) int {
	n := 0
	for _, c := range b {
		if isControl(rune(c)) {
			n++
		}
	}
	return n
}

// cut reports whether b is valid UTF-8 except for an incomplete character at its end. A single odd
// byte there does not count, since it may as well belong to another encoding.
func cut(b []byte) bool {
	for n := 2; n < utf8.UTFMax && n <= len(b); n++ {
		tail := b[len(b)-n:]
		if utf8.RuneStart(tail[0]) {
			return tail[0] >= utf8.RuneSelf && !utf8.FullRune(tail) && utf8.Valid(b[:len(b)-n])
		}
	}
	return false
}

// damaged reports whether b is UTF-8 with a few invalid bytes, and the line of the first of them.
// It requires at least as many multi-byte characters as invalid bytes, which hardly occurs in
// another encoding.
func damaged(b []byte) (line int, ok bool) {
	good, bad := 0, 0
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			if bad == 0 {
				line = 1 + bytes.Count(b[:i], []byte{'\n'})
			}
			bad++
		} else {
			good++
		}
		i += size
	}
	return line, good > 0 && good >= bad
}

// guessSingle names an encoding with one byte per character. If letters beyond ASCII are often
// adjacent, the script is not Latin.
func guessSingle(b []byte) guess {
	high, pairs, dos, low, up := 0, 0, 0, 0, 0
	for i, c := range b {
		if c < utf8.RuneSelf {
			continue
		}
		high++
		switch {
		case c < 0xb0 && i > 0 && b[i-1] >= utf8.RuneSelf: // a letter of a code page of DOS
			dos++
		case c >= 0xc0 && c < 0xe0:
			low++
		case c >= 0xe0:
			up++
		}
		if i > 0 && b[i-1] >= 0xc0 && c >= 0xc0 {
			pairs++
		}
	}
	const one = "is not UTF-8 and declares no encoding; a guess is one of one byte a character"
	switch {
	case dos*4 > high:
		return guess{is: one, iconv: "ENCODING"}
	case pairs*2 > high && low > 2*up: // lowercase letters of KOI8-R
		return guess{is: "is not UTF-8 and declares no encoding; a guess is KOI8-R", iconv: "KOI8-R"}
	case pairs*2 > high && up > 2*low: // lowercase letters of Windows-1251
		return guess{is: "is not UTF-8 and declares no encoding; a guess is windows-1251", iconv: "CP1251"}
	case pairs*2 > high:
		return guess{is: one, iconv: "ENCODING"}
	}
	return guess{is: "is not UTF-8 and declares no encoding; a guess is windows-1252", iconv: "CP1252"}
}
