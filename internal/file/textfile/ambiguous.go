package textfile

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"mcp-toolset/internal/text/fault"
)

// shownLines is the limit of lines that an Ambiguous lists, enough to choose from.
const shownLines = 10

// Ambiguous reports that a text to replace occurs several times.
type Ambiguous struct {
	fault.Fault
	Count int   // number of matches without overlap, at least 2; two overlapping ones count as 2
	Lines []int // where the first matches begin, at most 10; a line may occur twice
}

// Unwrap returns the Fault.
func (a *Ambiguous) Unwrap() error { return &a.Fault }

func (s search) ambiguous(first int) error {
	at := []int{first}
	next := first + len(s.needle)
	for i := s.index(next); i >= 0 && len(at) < shownLines; i = s.index(next) {
		at, next = append(at, i), i+len(s.needle)
	}
	a := &Ambiguous{Count: len(at) + bytes.Count(s.text[next:], s.needle)}
	overlap := ""
	if a.Count == 1 { // the second match begins inside the first
		at = append(at, s.index(first+1))
		a.Count, overlap = 2, ", overlapping"
	}
	line, from := 1, 0
	for _, i := range at {
		to := s.spans([]int{i})[0].from
		line += bytes.Count(s.d[from:to], []byte{'\n'})
		a.Lines, from = append(a.Lines, line), to
	}
	a.Fact = fmt.Sprintf("contains old_string %d times%s, %s", a.Count, overlap, inLines(a.Lines, a.Count))
	a.Next = "Put more of the lines around the one you mean into old_string, or replace all of them with replace_all."
	if overlap != "" {
		a.Next = "Put more of the lines around the one you mean into old_string."
	}
	return a
}

// inLines lists each line once, in words.
func inLines(lines []int, count int) string {
	var names []string
	for i, n := range lines {
		if i == 0 || n != lines[i-1] {
			names = append(names, strconv.Itoa(n))
		}
	}
	switch {
	case len(lines) < count:
		return "the first " + strconv.Itoa(len(lines)) + " in " + word(len(names), "line") + " " + list(names)
	case len(names) == 1:
		return "all in line " + names[0]
	}
	return "in lines " + list(names)
}

// list joins names as in "a, b and c".
func list(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func word(n int, name string) string {
	if n == 1 {
		return name
	}
	return name + "s"
}
