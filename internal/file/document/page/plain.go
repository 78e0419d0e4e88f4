package page

import "strings"

// plainText collects the text of HTML without a tree.
type plainText struct {
	b     strings.Builder
	pre   int  // open pre elements
	cell  bool // in the cell of a table, whose row is one line
	space bool // white space is due before the next word
	lines int  // line ends at the end of the text
}

// String returns the text.
func (t *plainText) String() string { return strings.TrimSpace(tidyText(t.b.String())) }

func (t *plainText) add(s string) {
	if t.pre > 0 {
		t.write(s)
		return
	}
	if s != "" && isSpace(s[0]) {
		t.space = true
	}
	for word := range strings.FieldsSeq(s) {
		if t.space && t.lines == 0 && t.b.Len() > 0 {
			t.b.WriteByte(' ')
		}
		t.write(word)
		t.space = true
	}
	if s != "" {
		t.space = isSpace(s[len(s)-1]) || t.space && strings.TrimSpace(s) == ""
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

func (t *plainText) write(s string) {
	if s == "" {
		return
	}
	t.b.WriteString(s)
	t.lines = len(s) - len(strings.TrimRight(s, "\n"))
}

// tag adds the white space that a tag stands for.
func (t *plainText) tag(name string, start bool) {
	switch {
	case name == "td" || name == "th":
		if t.cell = start; start {
			t.add(" | ")
		}
	case name == "tr" || name == "table" || name == "pre":
		t.cell = false
		t.newline(1)
	case t.cell && (paragraphs[name] || lines[name]):
		t.space = true
	case paragraphs[name]:
		t.newline(2)
	case lines[name]:
		t.newline(1)
	}
	if name != "pre" {
		return
	}
	if start {
		t.pre++
	} else if t.pre > 0 {
		t.pre--
	}
}

func (t *plainText) newline(n int) {
	if t.b.Len() == 0 {
		return
	}
	for ; t.lines < n; t.lines++ {
		t.b.WriteByte('\n')
	}
	t.space = false
}
