package textfile

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

const (
	// excerptLines is the limit of lines in an excerpt; Read shows more.
	excerptLines = 10
	// excerptWidth is the limit of a line, in characters.
	excerptWidth = 400
	// excerptBefore is the number of characters shown before the place in a line that is too long.
	excerptBefore = 80
	// leadIn is the number of lines shown before the first that differs.
	leadIn = 2
)

// noMatch makes a Miss about a place and adds the excerpt to next. If next is copyAs, the excerpt
// continues its sentence.
func (m similarFinder) noMatch(p span, fact, next string) *NoMatch {
	lines := m.lines(p)
	excerpt, legend := m.excerpt(p, lines)
	switch {
	case next != copyAs:
		next += "The file has" + legend + ":\n" + excerpt
	default:
		next += legend + ":\n" + excerpt
	}
	return &NoMatch{
		Fault: fault.Fault{Fact: fact, Next: next},
		First: lines.First, Last: lines.Last, Excerpt: excerpt,
	}
}

// excerpt returns the lines of a place, or those around the first difference if there are too many.
// The legend explains the signs used.
func (m similarFinder) excerpt(p span, lines Lines) (text, legend string) {
	first := lines.First
	if lines.Last-first >= excerptLines {
		first = max(first, min(m.firstDifferent(p)-leadIn, lines.Last-excerptLines+1))
	}
	last := min(lines.Last, first+excerptLines-1)
	from := lineStart(m.view, first-1)
	to := from
	for range last - first + 1 {
		line, _, _ := bytes.Cut(m.view[to:], []byte{'\n'})
		to = min(to+len(line)+1, len(m.view))
	}
	s := signsFor(m.view[from:to])
	var b strings.Builder
	for n, at := first, from; n <= last; n++ {
		line, _, _ := bytes.Cut(m.view[at:], []byte{'\n'})
		fmt.Fprintf(&b, "%d\t%s\n", n, s.visible(string(line), max(0, p.from-at)))
		at = min(at+len(line)+1, len(m.view))
	}
	text = strings.TrimSuffix(b.String(), "\n")
	return text, s.legend(text)
}

// signs holds the replacements for invisible characters: a tab, and a space at the end of a line.
type signs struct{ tab, space string }

// signsFor returns signs that do not occur in a text.
func signsFor(text []byte) signs {
	for _, s := range []signs{{"→", "·"}, {"⇥", "␣"}} {
		if !bytes.Contains(text, []byte(s.tab)) && !bytes.Contains(text, []byte(s.space)) {
			return s
		}
	}
	return signs{`\t`, `\s`}
}

// legend explains those signs that occur in shown.
func (s signs) legend(shown string) string {
	tab, space := strings.Contains(shown, s.tab), strings.Contains(shown, s.space)
	switch {
	case tab && space:
		return " (" + s.tab + " is a tab, " + s.space + " a space at the end of a line)"
	case tab:
		return " (" + s.tab + " is a tab)"
	case space:
		return " (" + s.space + " is a space at the end of a line)"
	}
	return ""
}

// visible returns a line with signs for tabs and for spaces at its end. A line that is too long is
// truncated around the offset at.
func (s signs) visible(line string, at int) string {
	body := strings.TrimRight(line, " ")
	line = body + strings.Repeat(s.space, len(line)-len(body))
	before, after := "", ""
	if utf8.RuneCountInString(line) > excerptWidth {
		from := min(at, len(line))
		for n := 0; from > 0 && (n < excerptBefore || !utf8.RuneStart(line[from])); n++ {
			from--
		}
		line = line[from:]
		if from > 0 {
			before = "…"
		}
		width := 0
		for i := range line {
			if width == excerptWidth {
				line, after = line[:i], "…"
				break
			}
			width++
		}
	}
	return before + plain.Line(strings.ReplaceAll(line, "\t", s.tab)) + after
}
