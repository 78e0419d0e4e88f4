package file

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"mcp-toolset/internal/plain"
)

// Limits of a diff.
const (
	// around is how many unchanged lines stand around a change, as in diff -u.
	around = 3
	// maxDiffed is the most that is compared line by line, in bytes of what is
	// between the first and the last change; finding a small diff of more takes
	// longer than a write.
	maxDiffed = 256 << 10
	// maxShown is the most of a diff that an answer shows, in bytes: some 1,500
	// tokens. Who wrote the change knows it already.
	maxShown = 6000
	// longestDiff is the longest diff that an answer shows, in lines.
	longestDiff = 40
	// maxLine is the longest line shown, in bytes.
	maxLine = 500
	// maxMeta is the most of a diff that programs are given, in bytes of its
	// lines; hosts keep _meta with the conversation.
	maxMeta = 64 << 10
)

// Hunk is one region of a diff. Lines are numbered from 1; a side that has no
// lines starts at the line before it, as in diff -u.
type Hunk struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"`             // each begins with a blank, -, + or, for a missing last newline, \
	Omitted  bool     `json:"omitted,omitempty"` // the lines are too many to tell
}

// Diff is what changed between two texts. Of a change too large to compare it
// is one hunk without lines.
func Diff(before, after string) []Hunk {
	if before == after {
		return nil
	}
	skipped, head, tail := same(before, after)
	old, new := before[head:len(before)-tail], after[head:len(after)-tail]
	if len(old)+len(new) > maxDiffed {
		h := Hunk{OldStart: skipped + 1, OldLines: count(old), NewStart: skipped + 1, NewLines: count(new)}
		return []Hunk{h.omit().fromEmpty()}
	}
	u, err := udiff.ToUnifiedDiff("", "", old, udiff.Lines(old, new), around)
	if err != nil {
		return nil // the edits are the library's own
	}
	var hunks []Hunk
	shift := 0 // how much further down a line is in after
	for _, h := range u.Hunks {
		hunk := Hunk{OldStart: skipped + h.FromLine, NewStart: skipped + h.FromLine + shift}
		for _, l := range h.Lines {
			sign := " "
			switch l.Kind {
			case udiff.Delete:
				sign = "-"
				hunk.OldLines++
				shift--
			case udiff.Insert:
				sign = "+"
				hunk.NewLines++
				shift++
			default:
				hunk.OldLines++
				hunk.NewLines++
			}
			hunk.Lines = append(hunk.Lines, sign+strings.TrimSuffix(l.Content, "\n"))
			if !strings.HasSuffix(l.Content, "\n") {
				hunk.Lines = append(hunk.Lines, `\ No newline at end of file`)
			}
		}
		hunks = append(hunks, hunk.fromEmpty())
	}
	return hunks
}

// fromEmpty moves the start of a side that has no lines.
func (h Hunk) fromEmpty() Hunk {
	if h.OldLines == 0 {
		h.OldStart--
	}
	if h.NewLines == 0 {
		h.NewStart--
	}
	return h
}

func (h Hunk) omit() Hunk {
	h.Lines, h.Omitted = []string{}, true
	return h
}

// same finds what two texts begin and end with in common, in whole lines but
// for the lines of context: so many lines are skipped, head bytes at the
// beginning and tail bytes at the end.
func same(a, b string) (skipped, head, tail int) {
	const block = 4096 // compared at once, since most of a large file is the same
	n := min(len(a), len(b))
	for head+block <= n && a[head:head+block] == b[head:head+block] {
		head += block
	}
	for head < n && a[head] == b[head] {
		head++
	}
	for tail+block <= n-head && a[len(a)-tail-block:len(a)-tail] == b[len(b)-tail-block:len(b)-tail] {
		tail += block
	}
	for tail < n-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	head = strings.LastIndexByte(a[:head], '\n') + 1
	for range around {
		head = strings.LastIndexByte(a[:max(head-1, 0)], '\n') + 1
	}
	end := len(a) - tail
	for range around + 1 {
		i := strings.IndexByte(a[end:], '\n')
		if i < 0 {
			end = len(a)
			break
		}
		end += i + 1
	}
	return strings.Count(a[:head], "\n"), head, len(a) - end
}

// count counts lines; a last one needs no newline.
func count(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// Unified is a diff in the usual form, as far as it is not too long to show.
func Unified(hunks []Hunk) string {
	var b strings.Builder
	for i, h := range hunks {
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		if h.Omitted {
			b.WriteString("[too much changed to show]\n")
		}
		pairs := h.pairs()
		for j, l := range h.Lines {
			if b.Len() > maxShown {
				fmt.Fprintf(&b, "[%d more lines of the diff", len(h.Lines)-j)
				if rest := len(hunks) - i - 1; rest > 0 {
					fmt.Fprintf(&b, " here and %d more places", rest)
				}
				b.WriteString("]\n")
				return b.String()
			}
			at := 0
			if other, ok := pairs[j]; ok && len(l) > maxLine {
				at = differs(l[1:], h.Lines[other][1:])
			}
			b.WriteString(l[:1] + cut(Plain(l[1:]), at) + "\n")
		}
	}
	return b.String()
}

// pairs are the lines that replace each other.
func (h Hunk) pairs() map[int]int {
	pairs := map[int]int{}
	var gone, added []int
	flush := func() {
		for k := range min(len(gone), len(added)) {
			pairs[gone[k]], pairs[added[k]] = added[k], gone[k]
		}
		gone, added = gone[:0], added[:0]
	}
	for i, l := range h.Lines {
		switch l[0] {
		case '-':
			if len(added) > 0 {
				flush()
			}
			gone = append(gone, i)
		case '+':
			added = append(added, i)
		case ' ':
			flush()
		}
	}
	flush()
	return pairs
}

// differs is where two lines begin to differ, in bytes.
func differs(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// Plain is a line that is safe to show, with its tabs.
func Plain(l string) string {
	parts := strings.Split(l, "\t")
	for i, p := range parts {
		parts[i] = plain.Text(p)
	}
	return strings.Join(parts, "\t")
}

// Shorten cuts a line that is too long to show.
func Shorten(l string) string { return cut(l, 0) }

// cut cuts a line that is too long to show, around a place in it.
func cut(l string, around int) string {
	if len(l) <= maxLine {
		return l
	}
	from := min(max(0, around-maxLine/4), len(l)-maxLine)
	for from > 0 && !utf8.RuneStart(l[from]) {
		from--
	}
	shown := strings.ToValidUTF8(l[from:from+maxLine], "")
	if from > 0 {
		shown = fmt.Sprintf("[%d bytes]…", from) + shown
	}
	if rest := len(l) - from - maxLine; rest > 0 {
		shown += fmt.Sprintf("…[%d more bytes]", rest)
	}
	return shown
}
