package textfile

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// change replaces a range of decoded text. Its text has the line endings for the file.
type change struct {
	span
	text string
}

// change returns the minimal change at a match.
func (e Edit) change(s span, ends *endings) change {
	d := ends.d
	if e.New == "" && wholeLines(d, s) {
		return change{span: span{s.from, s.to + endingAt(d[s.to:])}}
	}
	old := d[s.from:s.to]
	pre, newPre := commonPrefix(old, e.New)
	suf := commonSuffix(old[pre:], e.New[newPre:])
	c := change{span{s.from + pre, s.to - suf.old}, e.New[newPre : len(e.New)-suf.new]}
	if strings.Contains(c.text, "\n") {
		c.text = ends.fill(c)
	}
	return c
}

// wholeLines reports whether a match consists of whole lines without the last line ending.
func wholeLines(d []byte, s span) bool {
	return (s.from == 0 || d[s.from-1] == '\n') && endingAt(d[s.to:]) > 0 &&
		endingAt(d[s.from:]) == 0 && d[s.to-1] != '\n'
}

// endingAt returns the length of the line ending at the start of d, or 0.
func endingAt(d []byte) int {
	switch {
	case len(d) > 0 && d[0] == '\n':
		return 1
	case len(d) > 1 && d[0] == '\r' && d[1] == '\n':
		return 2
	}
	return 0
}

// commonPrefix returns the length of the common prefix in both texts, in whole characters. "\n" in
// text equals any line ending, "\r\n" only itself.
func commonPrefix(old []byte, text string) (i, j int) {
	for i < len(old) && j < len(text) {
		have, want := endingAt(old[i:]), endingIn(text[j:])
		if want > have || have > 0 && want == 0 || have == 0 && old[i] != text[j] {
			break
		}
		i += max(have, 1)
		j += max(want, 1)
	}
	// Line endings are matched whole, so a partial character is the same in both.
	for i < len(old) && !utf8.RuneStart(old[i]) {
		i, j = i-1, j-1
	}
	return i, j
}

// endingIn is endingAt for a string.
func endingIn(s string) int {
	switch {
	case strings.HasPrefix(s, "\n"):
		return 1
	case strings.HasPrefix(s, "\r\n"):
		return 2
	}
	return 0
}

// commonSuffix returns the length of the common suffix in both texts; see commonPrefix.
func commonSuffix(old []byte, text string) (n struct{ old, new int }) {
	a, b := len(old), len(text)
	for a > 0 && b > 0 && old[a-1] == text[b-1] {
		have, want := 1, 1
		if old[a-1] == '\n' {
			if a > 1 && old[a-2] == '\r' {
				have = 2
			}
			if b > 1 && text[b-2] == '\r' {
				want = 2
			}
			if want > have {
				break
			}
		}
		a, b = a-have, b-want
	}
	for a < len(old) && !utf8.RuneStart(old[a]) {
		a, b = a+1, b+1
	}
	n.old, n.new = len(old)-a, len(text)-b
	return n
}

// endings finds the line endings near ascending places in decoded text. It caches positions, so
// that many places in one long line do not each search it.
type endings struct {
	d    []byte
	next int // offset of the first "\n" at or after the last place; len(d): none; -1: unknown
	last int // offset of the last "\n" of the text; -1: none; -2: unknown
}

// fill returns the text of a change with its line endings.
func (e *endings) fill(c change) string {
	old, text := e.d[c.from:c.to], c.text
	var out strings.Builder
	further := ""
	for {
		line, rest, ok := strings.Cut(text, "\n")
		out.WriteString(line)
		if !ok {
			return out.String()
		}
		ending := further
		if i := bytes.IndexByte(old, '\n'); i >= 0 {
			ending = endingBefore(old[:i])
			old = old[i+1:]
		} else if further == "" {
			further = e.near(c.to)
			ending = further
		}
		if strings.HasSuffix(line, "\r") {
			ending = "\n" // the "\r" is written already
		}
		out.WriteString(ending)
		text = rest
	}
}

// endingBefore returns the line ending of a "\n" that follows d.
func endingBefore(d []byte) string {
	if bytes.HasSuffix(d, []byte{'\r'}) {
		return "\r\n"
	}
	return "\n"
}

// near returns the ending of the line that contains at, otherwise of the nearest line before.
func (e *endings) near(at int) string {
	if e.next < at {
		e.next = len(e.d)
		if i := bytes.IndexByte(e.d[at:], '\n'); i >= 0 {
			e.next = at + i
		}
	}
	if e.next < len(e.d) {
		return endingBefore(e.d[:e.next])
	}
	if e.last == -2 {
		e.last = bytes.LastIndexByte(e.d, '\n')
	}
	if e.last >= 0 {
		return endingBefore(e.d[:e.last])
	}
	return "\n"
}

// splice copies the file's bytes around the changes.
func (t *Text) splice(d []byte, changes []change) []byte {
	grown := 0
	for _, c := range changes {
		grown += len(c.text) - (c.to - c.from)
	}
	if t.enc.wide() {
		grown *= 2
	}
	out := make([]byte, 0, max(0, len(t.data)+grown))
	at, raw, kept := 0, len(t.enc.mark()), 0 // d[at] is at data[raw]; data[:kept] is done
	for _, c := range changes {
		raw += t.enc.size(d[at:c.from])
		out = append(out, t.data[kept:raw]...)
		out = t.enc.appendText(out, c.text)
		raw += t.enc.size(d[c.from:c.to])
		at, kept = c.to, raw
	}
	return append(out, t.data[kept:]...)
}
