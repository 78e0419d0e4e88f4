package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Redaction removes text that looks like a secret from JSON and plain text, and
// truncates long text. If in doubt, it removes: a lost word is better than a
// leaked secret. Redacting twice has the same result as once.

const (
	// mostString is the limit of a text of the input, in bytes. Commands are shorter;
	// contents of files should be truncated.
	mostString = 16 << 10
	// shortString is the limit of a text if the input still exceeds mostInput.
	shortString = 1 << 10
	// mostInput is the limit of an input, in bytes of JSON.
	mostInput = 64 << 10
	// beyond is the number of bytes after the limit that are searched for
	// secrets, to recognize one that crosses the limit.
	beyond = 8 << 10

	redacted = "[redacted]"
)

// Redact returns an input as JSON without line breaks, at most 64 KiB long.
// Text that looks like a secret is replaced by "[redacted]". A text of more
// than 16 KiB (1 KiB, if the input is still too long) is truncated and ends
// with its length and SHA-256. An input that is not JSON becomes a JSON string.
func Redact(input []byte) json.RawMessage {
	if !utf8.Valid(input) {
		input = bytes.ToValidUTF8(input, []byte("\ufffd"))
	}
	if !json.Valid(input) {
		s, _ := redactText(string(input), mostString)
		if out := appendQuoted(nil, s); len(out) <= mostInput {
			return out
		}
		return appendQuoted(nil, note(input))
	}
	for _, w := range []walker{{limit: mostString}, {limit: shortString}, {limit: shortString, shallow: true}} {
		w.in, w.out = input, make([]byte, 0, min(len(input), mostInput)+64)
		w.value(0)
		if len(w.out) <= mostInput {
			return w.out
		}
	}
	return appendQuoted(nil, note(input))
}

// walker copies JSON that is known to be valid.
type walker struct {
	in, out []byte
	at      int
	limit   int  // limit of a text
	shallow bool // truncate long values of the outermost object too
}

// next skips white space and returns the next byte without consuming it.
func (w *walker) next() byte {
	for {
		switch c := w.in[w.at]; c {
		case ' ', '\t', '\n', '\r':
			w.at++
		default:
			return c
		}
	}
}

func (w *walker) take(c byte) {
	w.at++
	w.out = append(w.out, c)
}

func (w *walker) value(depth int) {
	switch c := w.next(); c {
	case '{':
		w.list(depth, '}', w.member)
	case '[':
		w.list(depth, ']', w.value)
	case '"':
		w.text()
	default: // a number or a word
		begin := w.at
		for w.at < len(w.in) && !strings.ContainsRune(" \t\r\n,]}", rune(w.in[w.at])) {
			w.at++
		}
		w.out = append(w.out, w.in[begin:w.at]...)
	}
}

func (w *walker) list(depth int, end byte, each func(depth int)) {
	w.take(w.in[w.at])
	for w.next() != end {
		if w.in[w.at] == ',' {
			w.take(',')
		}
		each(depth + 1)
	}
	w.take(end)
}

// member copies a key and its value. It replaces a value that is secret or too
// long.
func (w *walker) member(depth int) {
	w.next()
	key := w.text()
	w.next()
	w.take(':')
	w.next()
	in, out := w.at, len(w.out)
	w.value(depth)
	raw := w.in[in:w.at]
	switch {
	case secretKey(key) && holdsSecret(raw):
		w.out = appendQuoted(w.out[:out], redacted)
	case w.shallow && depth == 1 && len(w.out)-out > shortString:
		w.out = appendQuoted(w.out[:out], note(raw))
	}
}

// holdsSecret reports whether a value whose name suggests a secret may be one.
func holdsSecret(raw []byte) bool {
	switch string(raw) {
	case "true", "false", "null", `""`:
		return false
	}
	return true
}

// text copies a string, redacted, and returns the original.
func (w *walker) text() string {
	begin, asIs := w.at, true
	w.at++
	for ; w.in[w.at] != '"'; w.at++ {
		c := w.in[w.at]
		if c == '\\' {
			w.at++
		}
		asIs = asIs && c != '\\' && ' ' <= c && c <= '~'
	}
	w.at++
	raw := w.in[begin:w.at]
	s := string(raw[1 : len(raw)-1])
	if !asIs {
		if err := json.Unmarshal(raw, &s); err != nil {
			panic(err) // cannot happen: the JSON is valid
		}
	}
	clean, changed := redactText(s, w.limit)
	if asIs && !changed {
		w.out = append(w.out, raw...)
	} else {
		w.out = appendQuoted(w.out, clean)
	}
	return s
}

// span is a part of a text, as byte offsets. to is exclusive.
type span struct{ from, to int }

// passes is the limit of the passes over a text. A secret within quotes that overlap may
// only be seen when another one is replaced; more than two passes are rare.
const passes = 5

// redactText replaces apparent secrets by "[redacted]", truncates text longer
// than limit bytes, and reports whether it changed anything. Its time is
// proportional to limit, except for the hash of a truncated text.
func redactText(s string, limit int) (out string, changed bool) {
	out = s
	for range passes {
		next, more := redactOnce(out, limit)
		if !more {
			break
		}
		out, changed = next, true
	}
	return out, changed
}

func redactOnce(s string, limit int) (string, bool) {
	seen := s[:min(len(s), limit+beyond)]
	spans := secrets(nil, seen)
	if len(spans) == 0 && len(s) <= limit {
		return s, false
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	at := 0 // end of the part of seen that is done
	shown := min(len(s), limit)
	for i := 0; i < len(spans) && spans[i].from < shown; {
		to := spans[i].to
		b.WriteString(seen[at:spans[i].from])
		for i++; i < len(spans) && spans[i].from <= to; i++ {
			to = max(to, spans[i].to)
		}
		b.WriteString(redacted)
		at = to
	}
	if at < shown {
		b.WriteString(seen[at:shown])
	}
	out := b.String()
	if len(s) > limit || len(out) > limit {
		out = cut(out, "\n"+note([]byte(s)), limit)
	}
	return out, out != s
}

// note returns the text that replaces the truncated part.
func note(data []byte) string {
	sum := sha256.Sum256(data)
	return fmt.Sprintf("[cut: %d bytes, sha256 %s]", len(data), hex.EncodeToString(sum[:]))
}

// cut truncates s so that it fits into limit bytes with note appended. It
// splits no character and no "[redacted]". It also splits no short word,
// because a part of "Bearer" could become a secret for the next redaction.
func cut(s, note string, limit int) string {
	const shortWord = 32
	end := min(len(s), limit-len(note))
	for end > 0 && end < len(s) && !utf8.RuneStart(s[end]) {
		end--
	}
	word := end
	for word > 0 && end-word < shortWord && isWord(s[word-1]) {
		word--
	}
	if end-word < shortWord {
		end = word
	}
	begin := max(0, end-len(redacted))
	around := s[begin:min(len(s), end+len(redacted)-1)]
	if i := strings.LastIndex(around, redacted); i >= 0 && begin+i < end && begin+i+len(redacted) > end {
		end = begin + i
	}
	return s[:end] + note
}

// appendQuoted appends s as a JSON string. It escapes unprintable characters,
// which could control the terminal of a reader.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case ' ' <= r && r <= '~':
			b = append(b, byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case unicode.IsPrint(r) && r != utf8.RuneError:
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			r -= 0x10000
			b = fmt.Appendf(b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return append(b, '"')
}
