package textfile

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// order returns the byte order of a UTF-16 encoding.
func (e Encoding) order() interface {
	binary.ByteOrder
	binary.AppendByteOrder
} {
	if e == UTF16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// decodeWide decodes UTF-16 with an even number of bytes. Each unit that is not part of a character
// becomes U+FFFD.
func decodeWide(b []byte, enc Encoding) []byte {
	out := make([]byte, 0, len(b)/2+len(b)/8)
	high := 1 // index of a unit's high byte
	if enc == UTF16BE {
		high = 0
	}
	unit := func(i int) rune { return rune(b[i+high])<<8 | rune(b[i+1-high]) }
	for i := 0; i+1 < len(b); i += 2 {
		u := unit(i)
		if u < utf8.RuneSelf {
			out = append(out, byte(u))
			continue
		}
		if utf16.IsSurrogate(u) {
			r := rune(utf8.RuneError)
			if i+3 < len(b) {
				r = utf16.DecodeRune(u, unit(i+2))
			}
			if r != utf8.RuneError { // a pair never encodes U+FFFD
				i += 2
			}
			u = r
		}
		out = utf8.AppendRune(out, u)
	}
	return out
}

// leastUnits is the number of units from which text in UTF-16 without a byte order mark is taken for
// what it looks like, if no declaration says so.
const leastUnits = 8

// unmarked returns the Text of a file that is UTF-16 without a byte order mark, by a declaration or
// by its content, otherwise nil.
func (t *Text) unmarked() *Text {
	enc, ok := unmarkedBy(t.hint.Charset)
	if head := t.data[:min(len(t.data), sampled)]; !ok && len(t.data) >= 2*leastUnits && bytes.IndexByte(head, 0) >= 0 {
		enc, ok = unmarkedBy(guessWide(head, len(t.data)).iconv)
	}
	if !ok || len(t.data) == 0 || len(t.data)%2 != 0 {
		return nil
	}
	text, same := enc.charset().decode(t.data)
	if !same || controls(text) > 0 {
		return nil
	}
	return &Text{data: t.data, enc: enc, text: text, hint: t.hint}
}

// appendText appends text in the encoding.
func (e Encoding) appendText(out []byte, text string) []byte {
	if c := e.charset(); c != nil {
		encoded, _ := c.NewEncoder().Bytes([]byte(text)) // fits has checked it
		return append(out, encoded...)
	}
	if !e.wide() {
		return append(out, text...)
	}
	order := e.order()
	for _, r := range text {
		if r >= 1<<16 {
			hi, lo := utf16.EncodeRune(r)
			out = order.AppendUint16(order.AppendUint16(out, uint16(hi)), uint16(lo))
			continue
		}
		out = order.AppendUint16(out, uint16(r))
	}
	return out
}

// size returns the number of bytes in the file that encode decoded text.
func (e Encoding) size(decoded []byte) int {
	if c := e.charset(); c != nil && (e.unmarked() || !isASCII(decoded)) {
		encoded, _ := c.NewEncoder().Bytes(decoded)
		return len(encoded)
	}
	if !e.wide() {
		return len(decoded)
	}
	units := 0
	for _, c := range decoded {
		if utf8.RuneStart(c) {
			units++
		}
		if c >= 0xf0 { // four bytes of UTF-8 are a surrogate pair
			units++
		}
	}
	return 2 * units
}
