package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/internal/text/terminal"
)

// table is text in columns. Cells must be safe to show.
type table struct {
	rows [][]string
	// cut lists the columns to shorten, in this order, if the table is wider than the terminal.
	cut []int
}

// gap is the space between columns, in characters.
const gap = 2

// leastCut is the least width of a column that is shortened.
const leastCut = 12

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// write writes the table, at most as wide as the screen, except for words that are wider. Words of
// judgements get their colours. In a pipe, widths are in characters, on a terminal in columns.
func (t *table) write(b *bytes.Buffer, c screen) {
	measure, cut := utf8.RuneCountInString, plain.Cut
	if c.width > 0 {
		measure, cut = terminal.Columns, terminal.CutColumns
	}
	widths := t.widths(measure)
	if c.width > 0 {
		total := gap * (len(widths) - 1)
		for _, w := range widths {
			total += w
		}
		for _, i := range t.cut {
			if i >= len(widths) {
				continue
			}
			was := widths[i]
			widths[i] = min(was, max(was-max(0, total-c.width), leastCut))
			total -= was - widths[i]
		}
		if total > c.width {
			t.stack(b, c)
			return
		}
	}
	for _, row := range t.rows {
		for i, cell := range row {
			cell = cut(cell, widths[i])
			b.WriteString(c.judged(cell))
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", max(0, widths[i]-measure(cell))+gap))
			}
		}
		b.WriteByte('\n')
	}
}

// stack writes the table for a screen that is too narrow for its columns: each row in lines, of
// which those after the first cell are indented.
func (t *table) stack(b *bytes.Buffer, c screen) {
	const indent = "    "
	for _, row := range t.rows {
		fmt.Fprintf(b, "%s\n", c.judged(strings.TrimRight(row[0], " ")))
		rest := strings.Join(slices.DeleteFunc(slices.Clone(row[1:]), func(cell string) bool { return cell == "" }), " | ")
		if rest != "" {
			fmt.Fprintf(b, "%s\n", indentedFill(rest, indent, c.width))
		}
	}
}

// widths returns the widths of the columns.
func (t *table) widths(measure func(string) int) (widths []int) {
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], measure(cell))
		}
	}
	return widths
}
