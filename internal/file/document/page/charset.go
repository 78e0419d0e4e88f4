package page

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"mcp-toolset/internal/file/textfile"
)

// decode returns the text of data in UTF-8, with "\n" line endings and without control
// characters other than tabs. note names a guessed encoding.
//
// Each of these decides, in this order: a byte order mark; valid UTF-8 with a multi-byte
// character, which hardly occurs in another encoding; the header; the meta element of
// HTML; a guess. Servers often add a wrong header to pages in UTF-8, and
// charset.DetermineEncoding, which looks at 1,024 bytes, mistakes late UTF-8 for
// windows-1252.
func decode(data []byte, q Request) (text, note string) {
	name, guessed := encodingOf(data, q)
	if guessed && name != "utf-8" {
		note = "the encoding was guessed: " + name
	}
	if enc, _ := charset.Lookup(name); name != "utf-8" && enc != nil {
		if decoded, err := enc.NewDecoder().Bytes(data); err == nil {
			data = decoded
		}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	return tidyText(strings.ToValidUTF8(string(data), "\ufffd")), note
}

// encodingOf returns the name of the encoding of data in the WHATWG Encoding Standard.
func encodingOf(data []byte, q Request) (name string, guessed bool) {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return "utf-8", false
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return "utf-16le", false
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return "utf-16be", false
	}
	valid := utf8.Valid(data)
	if valid && !ascii(data) {
		return "utf-8", false
	}
	guess := "utf-8"
	if !valid || bytes.IndexByte(data, 0) >= 0 {
		guess = textfile.GuessCharset(data)
	}
	labels := []string{q.Charset}
	if q.HTML {
		labels = append(labels, declared(data))
	}
	for _, label := range labels {
		// UTF-8 that the bytes contradict is no declaration.
		enc, name := charset.Lookup(label)
		if enc != nil && name != "replacement" && (name != "utf-8" || guess == "utf-8") {
			return name, false
		}
	}
	return guess, guess != "utf-8"
}

// declared returns the encoding that a meta element in the first 1,024 bytes of HTML
// declares, or "utf-8" if none does.
func declared(data []byte) string {
	head := bytes.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			return '?'
		}
		return r
	}, data[:min(len(data), 1020)])
	// The character at the end makes DetermineEncoding answer "utf-8" instead of its
	// default if nothing is declared.
	_, name, _ := charset.DetermineEncoding(append(head, "é "...), "")
	return name
}

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// tidyText returns s with "\n" line endings and without control characters other than
// tabs, and without the characters that the converter uses as marks.
func tidyText(s string) string {
	odd := func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= firstMark && r <= lastMark
	}
	if strings.IndexFunc(s, odd) < 0 {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r' || r == '\f':
			return '\n'
		case odd(r):
			return -1
		}
		return r
	}, s)
}
