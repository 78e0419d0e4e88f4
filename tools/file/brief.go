package file

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of Brief.
const (
	// mostBrief is the number of changed lines that are all shown; of more, only the ends are.
	mostBrief = 2
	// briefLine is the limit of a line, in bytes.
	briefLine = 100
)

// Brief returns the text of a result for a change that is what the model asked for: the lines that
// changed, numbered, with one line around. Of many lines only the first and the last is
// shown, and of a long line the part around the change.
func Brief(done string, before, after string, notes []string) string {
	c := narrow(before, after)
	var b strings.Builder
	switch {
	case c.last > c.first:
		fmt.Fprintf(&b, "%s, lines %d to %d:\n", done, c.first, c.last)
	case c.last == c.first:
		fmt.Fprintf(&b, "%s, line %d:\n", done, c.first)
	case c.removed == 1:
		fmt.Fprintf(&b, "%s, 1 line removed:\n", done)
	default:
		fmt.Fprintf(&b, "%s, %d lines removed:\n", done, c.removed)
	}
	show := func(n int) {
		if line, ok := c.line(n); ok {
			fmt.Fprintf(&b, "%d\t%s\n", n, line)
		}
	}
	show(c.first - 1)
	if c.last-c.first < mostBrief {
		for n := c.first; n <= c.last; n++ {
			show(n)
		}
	} else {
		show(c.first)
		b.WriteString("…\n")
		show(c.last)
	}
	show(c.last + 1)
	for _, n := range notes {
		b.WriteString("[" + n + "]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// narrowed is the smallest change between two texts.
type narrowed struct {
	text        string
	from, to    int // the bytes of text that are new
	first, last int // the lines that changed; last is first-1 if lines were only removed
	removed     int // the number of lines that were removed, if lines were only removed
	start       int // offset of the line before the first
	number      int // number of the line at start
}

// narrow compares two texts that differ in one place.
func narrow(before, after string) narrowed {
	n := min(len(before), len(after))
	head := commonLength(n, func(i, j int) bool { return before[i:j] == after[i:j] })
	tail := commonLength(n-head, func(i, j int) bool {
		return before[len(before)-j:len(before)-i] == after[len(after)-j:len(after)-i]
	})
	gone, c := before[head:len(before)-tail], narrowed{text: after, from: head, to: len(after) - tail}
	// Lines that were only added or only removed begin with the beginning of a line.
	if side := before[:len(before)-tail]; gone == "" || c.from == c.to {
		if gone == "" {
			side = after[:c.to]
		}
		if back := head - (strings.LastIndexByte(after[:head], '\n') + 1); back <= len(side)-head && strings.HasSuffix(side, after[head-back:head]) {
			c.from, c.to = c.from-back, c.to-back
			if gone != "" {
				gone = before[c.from : c.from+len(gone)]
			}
		}
	}
	c.first = 1 + strings.Count(after[:c.from], "\n")
	c.last = c.first + strings.Count(after[c.from:c.to], "\n")
	end := c.from + len(gone) // of what was replaced, in before
	if (c.to == 0 || after[c.to-1] == '\n') && (end == len(before) || end == 0 || before[end-1] == '\n') {
		c.last--
	}
	if c.last < c.first {
		c.removed = count(gone)
	}
	line := strings.LastIndexByte(after[:c.from], '\n') + 1
	c.start, c.number = line, c.first
	if line > 0 {
		c.start, c.number = strings.LastIndexByte(after[:line-1], '\n')+1, c.first-1
	}
	return c
}

// commonLength returns the number of bytes, up to n, in which two texts are the same. same
// compares the bytes from i to j.
func commonLength(n int, same func(i, j int) bool) int {
	low, high := 0, n
	for low < high {
		if mid := low + (high-low+1)/2; same(low, mid) {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// line returns a line from first-1 on, in a form that is safe to show.
func (c *narrowed) line(n int) (string, bool) {
	if n < c.number {
		return "", false
	}
	for ; c.number < n; c.number++ {
		i := strings.IndexByte(c.text[c.start:], '\n')
		if i < 0 {
			return "", false
		}
		c.start += i + 1
	}
	if c.start == len(c.text) {
		return "", false
	}
	line, _, _ := strings.Cut(c.text[c.start:], "\n")
	at := 0
	if c.first <= n && n <= c.last {
		at = max(0, c.from-c.start)
	}
	return window(line, at, briefLine), true
}

// window returns the part of a long line around the offset at.
func window(line string, at, most int) string {
	if len(line) <= most {
		return Plain(line)
	}
	from := min(max(0, at-most/3), len(line)-most)
	to := from + most
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	for to < len(line) && !utf8.RuneStart(line[to]) {
		to++
	}
	shown := Plain(line[from:to])
	if from > 0 {
		shown = "…" + shown
	}
	if to < len(line) {
		shown += "…"
	}
	return shown
}
