package notebook

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unquoted returns the text of a string, or "" if the value is not a string.
func (v value) unquoted() string {
	if v.kind() != isString {
		return ""
	}
	var b strings.Builder
	v.unquote(&b)
	return b.String()
}

// unquote appends the text of a string. Unpaired surrogates and bytes that are not UTF-8 become
// U+FFFD.
func (v value) unquote(b *strings.Builder) {
	raw := v.data[v.from+1 : v.to-1]
	for len(raw) > 0 {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			i = len(raw)
		}
		writeValid(b, raw[:i])
		if raw = raw[i:]; len(raw) > 0 {
			raw = raw[unescape(b, raw):]
		}
	}
}

// writeValid writes text with U+FFFD for each byte that is not UTF-8.
func writeValid(b *strings.Builder, p []byte) {
	if utf8.Valid(p) {
		b.Write(p)
		return
	}
	for len(p) > 0 {
		r, size := utf8.DecodeRune(p)
		b.WriteRune(r)
		p = p[size:]
	}
}

// unescape writes the character that the escape at the start of raw encodes. It returns the length
// of the escape in bytes.
func unescape(b *strings.Builder, raw []byte) int {
	switch raw[1] {
	case 'u':
		r := rune(hex4(raw[2:]))
		if !utf16.IsSurrogate(r) {
			b.WriteRune(r)
			return 6
		}
		if rest := raw[6:]; len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
			if pair := utf16.DecodeRune(r, rune(hex4(rest[2:]))); pair != utf8.RuneError {
				b.WriteRune(pair)
				return 12
			}
		}
		b.WriteRune(utf8.RuneError)
		return 6
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case 'n':
		b.WriteByte('\n')
	case 'r':
		b.WriteByte('\r')
	case 't':
		b.WriteByte('\t')
	default: // a quote, a slash or a backslash
		b.WriteByte(raw[1])
	}
	return 2
}

// hex4 returns the value of the four hexadecimal digits at the start of p, or -1.
func hex4(p []byte) int {
	if len(p) < 4 {
		return -1
	}
	n, err := strconv.ParseUint(string(p[:4]), 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}
