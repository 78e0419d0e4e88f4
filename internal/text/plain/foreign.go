package plain

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// blank lists, for a class of characters, those that look like nothing at the beginning of a text.
const blank = `\s\p{Z}\p{Cf}\p{M}\x{115F}\x{1160}\x{2800}\x{3164}\x{FFA0}`

// ownLine matches the beginning of a line that looks like a note of this server, as in
// "[sandbox: ...]" or "[1 event since the last answer]", or a whole line in brackets that
// is a sentence.
var ownLine = regexp.MustCompile(strings.ReplaceAll(`^[>BLANK]*(?:\[[BLANK]*(?:\d+ events?\b|(?i:sandbox|network|server|task|hook|the hook|mcp-toolset|policy|approval|user|system|note|notice|summary|its report)\b)|(?i:a hook objects:)|\[[BLANK]*(?:\d+ )?\p{L}[^\]]* [^\]]*\]\s*$)`, "BLANK", blank))

// Foreign returns a text of another program that is shown among lines of this server.
// Control characters and invisible ones become escapes, except line breaks and tabs. Lines
// that look like notes of this server begin with "> "; marked reports whether there are any.
func Foreign(s string) (text string, marked bool) {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if strings.ContainsFunc(s, controls) || !utf8.ValidString(s) {
		var b strings.Builder
		for i, r := range s {
			_, size := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				b.WriteString(`\x` + strconv.FormatUint(uint64(s[i]), 16))
			case controls(r):
				q := strconv.QuoteRuneToASCII(r)
				b.WriteString(q[1 : len(q)-1])
			default:
				b.WriteRune(r)
			}
		}
		s = b.String()
	}
	if !strings.ContainsRune(s, '[') && !strings.Contains(strings.ToLower(s), "a hook objects:") {
		return s, false
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if ownLine.MatchString(line) {
			lines[i], marked = "> "+line, true
		}
	}
	return strings.Join(lines, "\n"), marked
}

// controls reports whether a character controls a terminal or the direction of text, breaks
// a line in some readers, or hides text. Joiners of scripts and emoji do not count.
func controls(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == 0x200C || r == 0x200D || r == 0xAD || r == 0xFEFF:
		return false
	case r == 0x2028 || r == 0x2029:
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf)
}
