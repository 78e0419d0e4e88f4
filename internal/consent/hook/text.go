package hook

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcp-toolset/internal/text/plain"
)

// Limits of texts, in characters.
const (
	// maxText is the limit of a hook's text that is shown to a model as a
	// whole.
	maxText = 10_000
	// headText is the length of the part shown of a longer text that is stored.
	// It is enough to see whether the rest is worth reading.
	headText = 2_000
	// maxCommand is the limit of a command that is shown as a whole.
	maxCommand = 120
)

// short returns a hook's command as one line, truncated to maxCommand.
func short(command string) string {
	r := []rune(plain.Line(strings.TrimSpace(command)))
	if len(r) > maxCommand {
		r = append(r[:maxCommand-1], '…')
	}
	return string(r)
}

// shorten prepares a text of the i-th hook to be shown. If it is too long, fit
// stores it and returns its beginning with the path of the whole text.
func (r *combiner) shorten(i int, kind, text string) string {
	text = strings.TrimSpace(lines(text))
	total := utf8.RuneCountInString(text)
	if total <= maxText {
		return text
	}
	if r.spill != nil {
		path, err := r.spill(fmt.Sprintf("%s-%d-%s", r.event, i+1, kind), text)
		if err == nil {
			return fmt.Sprintf("%s\n(these are the first %d of %d characters; read %s for all of them)", head(text, headText), headText, total, plain.Text(path))
		}
		r.log.Warn("a text of a hook could not be stored", "event", string(r.event), "error", err)
	}
	return fmt.Sprintf("%s\n(these are the first %d of %d characters; the others could not be stored, so have the hook say less)", head(text, maxText), maxText, total)
}

// head returns the first n characters of a text.
func head(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}

// lines removes invisible characters from a text: complete terminal escape
// sequences, and control, format and bidirectional characters. Line breaks and
// tabs are unchanged. Other spaces become a plain space, and invalid UTF-8
// becomes U+FFFD.
func lines(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\x1b' || r == '\u009b':
			size = escapeLen(s[i:])
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r == '\u2028' || r == '\u2029' || r == '\r' && !strings.HasPrefix(s[i+1:], "\n"):
			b.WriteByte('\n')
		case unicode.Is(unicode.Zs, r):
			b.WriteByte(' ')
		}
		i += size
	}
	return b.String()
}

// escapeLen returns the length of the escape sequence at the beginning of s. An
// incomplete sequence extends only to the last character that can belong to it,
// so that it hides no other text.
func escapeLen(s string) int {
	at, first := len("\u009b"), '@' // the lowest character that ends the sequence
	if s[0] == '\x1b' {
		at, first = 1, '0'
		if len(s) > 1 {
			switch s[1] {
			case '[':
				at, first = 2, '@'
			case ']', 'P', 'X', '^', '_': // a control string, which ends with BEL or ESC \
				return stringLen(s)
			}
		}
	}
	for i, r := range s[at:] {
		switch {
		case r < ' ' || r > '~':
			return at + i
		case r >= first:
			return at + i + 1
		}
	}
	return len(s)
}

// stringLen returns the length of a control string, or of its first two bytes
// if it does not end on the same line.
func stringLen(s string) int {
	for i := 2; i < len(s) && s[i] != '\n'; i++ {
		if s[i] == '\a' {
			return i + 1
		}
		if strings.HasPrefix(s[i:], "\x1b\\") {
			return i + 2
		}
	}
	return 2
}
