package file

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"mcp-toolset/internal/text/plain"
)

// Limits of a diff.
const (
	// around is the number of unchanged lines shown around a change, as in diff -u.
	around = 3
	// maxDiffed is the limit for comparing line by line, in bytes between the first and the
	// last change. A small diff of larger texts takes longer to find than a write.
	maxDiffed = 256 << 10
	// maxShown is the limit of a diff in an answer, in bytes: about 1,500 tokens. The model
	// that wrote the change already knows it.
	maxShown = 6000
	// longestDiff is the limit of a diff in an answer, in lines.
	longestDiff = 40
	// maxLine is the limit of a line shown, in bytes.
	maxLine = 500
	// maxMeta is the limit of a diff for programs, in bytes of its lines. Hosts store _meta
	// with the conversation.
	maxMeta = 64 << 10
)

// Hunk is one region of a diff. Lines are numbered from 1. A side without lines starts at
// the line before it, as in diff -u.
type Hunk struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"`             // each begins with a blank, -, + or, for a missing last newline, \
	Omitted  bool     `json:"omitted,omitempty"` // Lines is empty because there are too many
}

// Diff returns the changes between two texts. For a change too large to compare it returns
// one hunk without lines.
func Diff(before, after string) []Hunk {
	if before == after {
		return nil
	}
	skipped, head, tail := same(before, after)
	old, new := before[head:len(before)-tail], after[head:len(after)-tail]
	if len(old)+len(new) > maxDiffed {
		if h, ok := longLines(old, new, skipped); ok {
			return []Hunk{h}
		}
		h := Hunk{OldStart: skipped + 1, OldLines: count(old), NewStart: skipped + 1, NewLines: count(new)}
		return []Hunk{h.omit().fromEmpty()}
	}
	u, err := udiff.ToUnifiedDiff("", "", old, udiff.Lines(old, new), around)
	if err != nil {
		return nil // cannot happen: the library made the edits
	}
	var hunks []Hunk
	shift := 0 // difference between the numbers of a line in after and in before
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

// longLines returns the hunk of a change too large to compare, if only few lines changed, such as
// that of a file that is one line.
func longLines(old, new string, skipped int) (Hunk, bool) {
	for {
		a, restA, okA := strings.Cut(old, "\n")
		b, restB, okB := strings.Cut(new, "\n")
		if a != b || !okA || !okB {
			break
		}
		old, new, skipped = restA, restB, skipped+1
	}
	for {
		i, j := strings.LastIndexByte(strings.TrimSuffix(old, "\n"), '\n')+1, strings.LastIndexByte(strings.TrimSuffix(new, "\n"), '\n')+1
		if old[i:] != new[j:] || i == 0 || j == 0 {
			break
		}
		old, new = old[:i], new[:j]
	}
	h := Hunk{OldStart: skipped + 1, OldLines: count(old), NewStart: skipped + 1, NewLines: count(new)}
	if h.OldLines+h.NewLines > around {
		return Hunk{}, false
	}
	for _, side := range []struct{ sign, text string }{{"-", old}, {"+", new}} {
		for line := range strings.Lines(side.text) {
			h.Lines = append(h.Lines, side.sign+strings.TrimSuffix(line, "\n"))
			if !strings.HasSuffix(line, "\n") {
				h.Lines = append(h.Lines, `\ No newline at end of file`)
			}
		}
	}
	return h.fromEmpty(), true
}

// fromEmpty moves the start of a side without lines to the line before it.
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

// same returns the parts that two texts have in common at their beginning and end, in whole
// lines and without the lines of context: the number of lines skipped, and the bytes at the
// beginning and at the end.
func same(a, b string) (skipped, head, tail int) {
	const block = 4096 // compared at once, since most of a large file is unchanged
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

// count returns the number of lines. The last line needs no newline.
func count(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// Unified returns a diff in the unified format, truncated to maxShown.
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

// pairs maps each removed line to the added line that replaces it, and the reverse.
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

// differs returns the offset of the first difference of two lines, in bytes.
func differs(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// Plain returns a line in a form that is safe to show. It leaves tabs unchanged.
func Plain(l string) string {
	parts := strings.Split(l, "\t")
	for i, p := range parts {
		parts[i] = plain.Text(p)
	}
	return strings.Join(parts, "\t")
}

// Shorten truncates a line that is too long to show.
func Shorten(l string) string { return cut(l, 0) }

// cut truncates a line that is too long to show to the part around an offset.
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
