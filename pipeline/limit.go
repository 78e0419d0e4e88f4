package pipeline

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// limit reduces a response to the tool's limit. If the text is longer, limit
// stores it whole and replaces it by the ends that the tool's Keep selects. A
// note between them gives the size of the gap and the path of the stored text.
func (p *Pipeline) limit(t *tools.Tool, v session.View, resp *tools.Response) {
	limit := t.MaxResultSize
	switch {
	case resp == nil || limit == tools.Unlimited && !resp.Failed:
		return
	case limit == tools.Unlimited: // errors may hold text of other programs
		limit = tools.DefaultResultSize
	}
	text := joinText(resp.Content)
	if len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return
	}
	text = wrap(text)
	path, err := p.Results.Save(v.Results, t.Name, text)
	shown := tools.Text{Text: preview(text, limit, t.Excerpt, stored(path, err))}
	content := []tools.Content{shown}
	for _, c := range resp.Content {
		if _, isText := c.(tools.Text); !isText {
			content = append(content, c)
		}
	}
	resp.Content = content
}

// stored returns the note for preview: where the whole result is stored, or why
// it is not.
func stored(path string, err error) func(from int) string {
	return func(from int) string {
		if err != nil {
			return fmt.Sprintf("The whole result could not be stored: %v", err)
		}
		return fmt.Sprintf("The whole result is in %s; go on with Read at offset %d", path, from)
	}
}

// joinText returns all text of a response, with a newline between blocks.
func joinText(content []tools.Content) string {
	var parts []string
	for _, c := range content {
		if t, ok := c.(tools.Text); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// noticeSize is the space reserved for the note in the gap, in characters.
const noticeSize = 500

// preview returns the ends of text that keep selects, with a note in the gap.
// It cuts at line breaks unless lines are too long for that. limit is in
// characters; where returns the text that names the line to continue from.
func preview(text string, limit int, keep tools.Excerpt, where func(from int) string) string {
	head, tail := shares(limit, keep)
	first, last := cutHead(text, head), ""
	if keep != tools.ExcerptHead {
		last = cutTail(text[len(first):], tail)
	}
	gap := text[len(first) : len(text)-len(last)]
	e := excerpt{first, last, countLines(gap), utf8.RuneCountInString(gap), countLines(text), utf8.RuneCountInString(text)}
	return e.text(where)
}

// shares divides limit into the characters shown of the beginning and of the
// end.
func shares(limit int, keep tools.Excerpt) (head, tail int) {
	room := max(limit-noticeSize, limit/2)
	head = room
	switch keep {
	case tools.ExcerptTail:
		head = room / 5
	case tools.ExcerptEnds:
		head = room / 2
	}
	return head, room - head
}

// excerpt holds the two ends of a text, and the sizes of the gap and of the
// whole text.
type excerpt struct {
	first, last        string
	gapLines, gapRunes int
	lines, runes       int
}

func (e excerpt) text(where func(from int) string) string {
	out := e.first
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	out += fmt.Sprintf("[%s (%d characters) left out of %s (%d characters). %s]",
		lines(e.gapLines), e.gapRunes, lines(e.lines), e.runes,
		where(strings.Count(e.first, "\n")+1)) // the first line that is not shown completely
	if e.last != "" {
		out += "\n" + e.last
	}
	return out
}

// cutHead returns at most n characters from the beginning. It cuts at a line
// break unless that would leave less than half of them.
func cutHead(s string, n int) string {
	end := runeIndex(s, n)
	if line := strings.LastIndexByte(s[:end], '\n') + 1; line > end/2 {
		return s[:line]
	}
	return s[:end]
}

// cutTail returns at most n characters from the end, cut in the same way.
func cutTail(s string, n int) string {
	start := runeIndex(s, utf8.RuneCountInString(s)-n)
	if line := strings.IndexByte(s[start:], '\n') + 1; line > 0 && line < (len(s)-start)/2 {
		return s[start+line:]
	}
	return s[start:]
}

// runeIndex returns the byte index of character n, counted from 0, or len(s) if
// s is shorter.
func runeIndex(s string, n int) int {
	if n <= 0 {
		return 0
	}
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// countLines returns the number of lines. A last line without a newline counts
// too.
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// lines returns n with the word "line" or "lines".
func lines(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

// wrapAt is the maximum line length of a stored result, in characters. The
// model continues a stored result by line number, so each line must fit into an
// answer.
const wrapAt = 10_000

// wrap breaks lines longer than wrapAt, between characters.
func wrap(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		for len(line) > wrapAt {
			whole := strings.TrimSuffix(line, "\n")
			end := runeIndex(whole, wrapAt)
			if end == len(whole) {
				break
			}
			b.WriteString(line[:end])
			b.WriteByte('\n')
			line = line[end:]
		}
		b.WriteString(line)
	}
	return b.String()
}
