package ignore

import (
	"bytes"
	"strings"
	"sync"
)

// pattern is one line, parsed as git's parse_path_pattern does.
type pattern struct {
	text    string // without !, the slash at the beginning and the slash at the end
	negated bool   // began with !
	folders bool   // ended with a slash: matches folders only
	path    bool   // has a slash: matches the path relative to the list's folder, not the name
	start   int    // length of the literal beginning, see [newPattern]
}

// Parse parses the patterns of an ignore file as git does: it skips a byte order mark,
// a line ends at LF or CRLF, # begins a comment, blanks at the end do not count unless
// quoted with a backslash, and a NUL ends the line's pattern. It skips a line that can
// match nothing (an unclosed bracket, a backslash at the end). It returns nil if no
// pattern remains. The caller must not modify data afterwards.
func Parse(data []byte) *List {
	l := parseList(data, false)
	if l != nil {
		l.folded = sync.OnceValue(func() *List { return parseList(data, true) })
	}
	return l
}

func parseList(data []byte, fold bool) *List {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	l := &List{}
	for len(data) > 0 {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte{'\n'})
		line = bytes.TrimSuffix(line, []byte{'\r'})
		line, _, _ = bytes.Cut(line, []byte{0})
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		text, negated := strings.CutPrefix(trimBlanks(string(line)), "!")
		if r, ok := compile(newPattern(text, negated), fold); ok {
			l.add(r)
		}
	}
	if len(l.rules) == 0 {
		return nil
	}
	l.index()
	return l
}

// trimBlanks removes the blanks (not tabs) at the end that no backslash quotes.
func trimBlanks(s string) string {
	end := len(strings.TrimRight(s, " "))
	if end < len(s) {
		quotes := end - len(strings.TrimRight(s[:end], `\`))
		end += quotes % 2
	}
	return s[:end]
}

// newPattern parses a pattern without its exclamation mark.
//
// git compares the beginning up to the first special character literally and passes the
// rest to wildmatch, which sees ** at the start. So doc/a** matches doc/abc/def, as if
// ** were between slashes. start is the offset of that rest.
func newPattern(text string, negated bool) pattern {
	p := pattern{negated: negated}
	p.text, p.folders = strings.CutSuffix(text, "/")
	p.path = strings.Contains(p.text, "/")
	p.text = strings.TrimPrefix(p.text, "/")
	p.start = strings.IndexAny(p.text, `*?[\`)
	return p
}
