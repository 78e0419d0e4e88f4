package textfile

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"mcp-toolset/internal/text/fault"
)

const (
	// searched is the limit of text searched for similar lines, in bytes. More would take too long
	// for an error.
	searched = 16 << 20
	// compared is the limit of a text that is compared in detail, in bytes.
	compared = 64 << 10
	// mostHits is the limit of places compared to find the most similar one.
	mostHits = 20
)

// NoMatch reports that a text to replace does not occur, and the most similar text.
type NoMatch struct {
	fault.Fault
	// First and Last are the most similar lines; 0 if there are none.
	First, Last int
	// Excerpt holds up to 10 of these lines with their numbers, with "→" for a tab and "·" for a
	// space at the end of a line. It is "" if there are none.
	Excerpt string
}

// Unwrap returns the Fault.
func (m *NoMatch) Unwrap() error { return &m.Fault }

// explain makes a Miss. It looks for the same text apart from some differences, then for a variant
// of it, then for the most similar text.
func explain(d []byte, old string) error {
	if len(d) == 0 {
		return &NoMatch{Fault: fault.Fault{Fact: "is empty, so it does not contain old_string", Next: "To fill it, leave old_string empty."}}
	}
	m := similarFinder{view: normalizeEndings(d), old: old}
	m.view = m.view[:min(len(m.view), searched)]
	m.sketch = newSketch(m.view)
	bare := appendBare(nil, []byte(old))
	if len(bare) == 0 {
		return &NoMatch{Fault: fault.Fault{
			Fact: "does not contain old_string, which is only white space",
			Next: "Put the lines around it into old_string as well.",
		}}
	}
	if text, ok := strings.CutSuffix(old, "\n"); ok && bytes.HasSuffix(m.view, []byte(text)) {
		p := span{len(m.view) - len(text), len(m.view)}
		return m.noMatch(p, fmt.Sprintf("does not contain old_string; %s it without the last newline: the file ends there", m.have(p)), "Leave that newline out. ")
	}
	if p, names := m.alike(old, bare); p.to > 0 {
		return m.differing(p, names)
	}
	for _, v := range variants(old) {
		if p := m.as(v.text); p.to > 0 {
			return m.noMatch(p, fmt.Sprintf("does not contain old_string; %s it %s", m.have(p), v.why), v.next+" ")
		}
	}
	if p, ok := m.sketch.nearest(bare); ok {
		return m.like(m.part(p.from, p.to))
	}
	return &NoMatch{Fault: fault.Fault{
		Fact: "does not contain old_string, nor lines like it",
		Next: "Read the file and copy the text to replace from there.",
	}}
}

// similarFinder looks for text similar to one that does not occur.
type similarFinder struct {
	view   []byte // the text as shown to a model
	old    string
	sketch sketch
}

// alike finds the place whose text has the same sketch as old, with the fewest differences.
func (m similarFinder) alike(old string, bare []byte) (best span, names []string) {
	tries := min(mostHits, max(1, compared/len(old)))
	from := 0
	for range tries {
		i := bytes.Index(m.sketch.text[from:], bare)
		if i < 0 {
			break
		}
		p := m.widen(m.part(from+i, from+i+len(bare)), old)
		from += i + 1
		if p.to-p.from > compared || len(old) > compared {
			return p, nil
		}
		found, ok := between(string(m.view[p.from:p.to]), old)
		if best.to == 0 || ok && (names == nil || len(found) < len(names)) {
			best, names = p, found
		}
	}
	return best, names
}

// part returns the range of the view that yields a range of the sketch.
func (m similarFinder) part(from, to int) span {
	return span{m.find(from), m.find(to-1) + 1}.whole(m.view)
}

// find returns the offset in the view that yields a byte of the sketch.
func (m similarFinder) find(i int) int {
	i = min(i, len(m.sketch.text)-1)
	from := m.sketch.piece(i)
	return int(from.view) + offset(m.view[from.view:], i-int(from.bare))
}

// whole extends the end of a range to the end of a character.
func (s span) whole(view []byte) span {
	s.to = min(s.to, len(view))
	for s.to < len(view) && view[s.to]&0xc0 == 0x80 {
		s.to++
	}
	return s
}

// lineStart returns the offset at which a line begins, counted from 0.
func lineStart(view []byte, line int) int {
	at := 0
	for ; line > 0; line-- {
		at += bytes.IndexByte(view[at:], '\n') + 1
	}
	return at
}

// widen extends a place by the white space around it, as far as old has white space there.
func (m similarFinder) widen(p span, old string) span {
	if lead := len(old) - len(strings.TrimLeftFunc(old, unicode.IsSpace)); lead > 0 {
		p.from = len(trimRight(m.view[:p.from], strings.Count(old[:lead], "\n"), old[0] == '\n'))
	}
	if trail := strings.TrimRightFunc(old, unicode.IsSpace); len(trail) < len(old) {
		n := strings.Count(old[len(trail):], "\n")
		rest := m.view[p.to:]
		for {
			rest = bytes.TrimLeftFunc(rest, isBlank)
			if n == 0 || len(rest) == 0 || rest[0] != '\n' {
				break
			}
			rest, n = rest[1:], n-1
			if n == 0 && strings.HasSuffix(old, "\n") {
				break // the rest is the indentation of the next line
			}
		}
		p.to = len(m.view) - len(rest)
	}
	return p
}

// trimRight removes blanks and at most n newlines at the end. With stop it removes nothing before
// the n-th newline.
func trimRight(b []byte, n int, stop bool) []byte {
	for {
		b = bytes.TrimRightFunc(b, isBlank)
		if n == 0 || len(b) == 0 || b[len(b)-1] != '\n' {
			return b
		}
		if b, n = b[:len(b)-1], n-1; n == 0 && stop {
			return b
		}
	}
}

// as finds a variant of the text, exactly or otherwise by its sketch.
func (m similarFinder) as(text string) span {
	if i := bytes.Index(m.view, []byte(text)); i >= 0 {
		return span{i, i + len(text)}
	}
	bare := appendBare(nil, []byte(text))
	if i := bytes.Index(m.sketch.text, bare); i >= 0 && len(bare) > 0 {
		return m.part(i, i+len(bare))
	}
	return span{}
}

// differing explains a place whose sketch is the same but whose text differs.
func (m similarFinder) differing(p span, names []string) *NoMatch {
	in := "white space, case, or characters that look alike"
	if len(names) > 0 {
		in = list(names)
	}
	verb := "differs"
	if m.lines(p).First < m.lines(p).Last {
		verb = "differ"
	}
	return m.noMatch(p, fmt.Sprintf("does not contain old_string; %s %s from it only in %s", m.name(p), verb, in), copyAs)
}

const copyAs = "Copy the text as the file has it"

// like shows the lines most similar to the text.
func (m similarFinder) like(p span) *NoMatch {
	lines := m.lines(p)
	if lines.First == lines.Last {
		return m.noMatch(p, "does not contain old_string; "+m.name(p)+" is most like it", copyAs)
	}
	first := m.firstDifferent(p)
	return m.noMatch(p, fmt.Sprintf("does not contain old_string; %s are most like it, of which line %d is the first that differs", m.name(p), first), copyAs)
}

// firstDifferent returns the number of the first line of a place that differs from the text.
func (m similarFinder) firstDifferent(p span) int {
	lines := m.lines(p)
	have := m.view[lineStart(m.view, lines.First-1):]
	want := []byte(m.old)
	for n := lines.First; n < lines.Last; n++ {
		a, restA, _ := bytes.Cut(have, []byte{'\n'})
		b, restB, ok := bytes.Cut(want, []byte{'\n'})
		// The text may begin inside its first line and end inside its last.
		if !ok || !bytes.Equal(a, b) && (n > lines.First || !bytes.HasSuffix(a, b)) {
			return n
		}
		have, want = restA, restB
	}
	return lines.Last
}

// lines returns the line numbers of a place.
func (m similarFinder) lines(p span) Lines {
	first := 1 + bytes.Count(m.view[:p.from], []byte{'\n'})
	return Lines{first, first + bytes.Count(m.view[p.from:max(p.from, p.to-1)], []byte{'\n'})}
}

// name returns the lines of a place in words.
func (m similarFinder) name(p span) string {
	l := m.lines(p)
	if l.First == l.Last {
		return fmt.Sprintf("line %d", l.First)
	}
	return fmt.Sprintf("lines %d to %d", l.First, l.Last)
}

func (m similarFinder) have(p span) string {
	if l := m.lines(p); l.First < l.Last {
		return m.name(p) + " have"
	}
	return m.name(p) + " has"
}
