package office

import (
	"fmt"
	"strings"
	"unicode"
)

// maxCell is the limit of a cell in a table, in bytes.
const maxCell = 4000

// clean returns a text without control characters; tabs and line breaks stay.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), r == '\uFEFF', r == '\u00AD':
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// cell returns a text for a cell of a Markdown table.
func cell(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxCell {
		s = strings.ToValidUTF8(s[:maxCell], "") + fmt.Sprintf(" ... (%d bytes)", len(s))
	}
	if strings.ContainsAny(s, "|\n\t") {
		s = strings.NewReplacer("|", `\|`, "\n", "<br>", "\t", " ").Replace(s)
	}
	return s
}

// table returns rows as a Markdown table, whose first row is the header.
func table(rows [][]string) []string {
	width := 0
	for _, r := range rows {
		width = max(width, len(r))
	}
	if width == 0 {
		return nil
	}
	var out []string
	for i, r := range rows {
		var b strings.Builder
		for c := range width {
			text := ""
			if c < len(r) {
				text = cell(r[c])
			}
			b.WriteString("| " + text + strings.Repeat(" ", min(len(text), 1)))
		}
		out = append(out, b.String()+"|")
		if i == 0 {
			out = append(out, strings.Repeat("|---", width)+"|")
		}
	}
	return out
}

// oneLine joins the lines of a header. Of a table only the texts of its cells stay.
func oneLine(lines []string) string {
	var out []string
	for _, l := range lines {
		texts := []string{l}
		if strings.HasPrefix(l, "|") {
			texts = strings.Split(strings.ReplaceAll(l, `\|`, "\x00"), "| ")
		}
		for _, s := range texts {
			if s = strings.TrimSpace(strings.TrimSuffix(s, "|")); strings.Trim(s, "-| ") != "" {
				out = append(out, strings.ReplaceAll(s, "\x00", "|"))
			}
		}
	}
	return strings.Join(out, " ")
}

// page collects the rows of a sheet that a request selects.
type page struct {
	Request
	name      string
	rows      []row
	used      int // bytes
	next      int // the first row that did not fit; 0: none
	lastRow   int // of those with content, so far
	low, high int // columns with content among rows, from 0
}

type row struct {
	number int
	cells  []string
}

func newPage(r Request, name string) *page {
	return &page{Request: r, name: name, low: 1 << 20, high: -1}
}

// wants reports whether the cells of a row matter.
func (p *page) wants(number int) bool {
	return p.next == 0 && number >= p.Offset && (p.Limit == 0 || number < p.Offset+p.Limit)
}

// add adds a row; the cells of one that is not wanted may be nil.
func (p *page) add(number int, cells []string) {
	low, high := 0, len(cells)
	for high > 0 && cells[high-1] == "" {
		high--
	}
	for low < high && cells[low] == "" {
		low++
	}
	if !p.wants(number) {
		p.lastRow = max(p.lastRow, number)
		return
	}
	if high == 0 {
		return
	}
	p.lastRow = max(p.lastRow, number)
	size := 8
	for i, c := range cells[:high] {
		cells[i] = cell(c)
		size += len(cells[i]) + 3
	}
	if p.used+size > p.Budget {
		if len(p.rows) > 0 {
			p.next = number
			return
		}
		for i, room := low, p.Budget/max(high-low, 1); i < high; i++ { // one row of an enormous size
			if len(cells[i]) > room {
				cells[i] = strings.ToValidUTF8(cells[i][:room], "")
			}
		}
	}
	p.used += size
	p.low, p.high = min(p.low, low), max(p.high, high-1)
	p.rows = append(p.rows, row{number, append([]string(nil), cells[:high]...)})
}

// table returns the rows with their numbers, under the letters of their columns.
func (p *page) table() string {
	if len(p.rows) == 0 {
		return ""
	}
	head := []string{""}
	for c := p.low; c <= p.high; c++ {
		head = append(head, column(c))
	}
	rows := [][]string{head}
	for _, r := range p.rows {
		cells := []string{fmt.Sprint(r.number)}
		if len(r.cells) > p.low {
			cells = append(cells, r.cells[p.low:]...)
		}
		rows = append(rows, cells)
	}
	var b strings.Builder
	for i, r := range rows {
		b.WriteString("|")
		for c := range head {
			text := ""
			if c < len(r) {
				text = r[c]
			}
			b.WriteString(" " + text + " |")
		}
		b.WriteString("\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// part returns the sheet as a part. last is the last row of the sheet as far as known.
func (p *page) part(number, last int) (Part, error) {
	last = max(last, p.lastRow)
	if len(p.rows) == 0 && p.Offset > max(last, 1) {
		return Part{}, pastEnd("row", p.Offset, last)
	}
	out := Part{Number: number, Name: p.name, Text: p.table(), First: p.Offset, Total: last, Next: p.next}
	if n := len(p.rows); n > 0 {
		out.First, out.Last = p.rows[0].number, p.rows[n-1].number
		out.Detail = fmt.Sprintf("%s%d:%s%d", column(p.low), out.First, column(p.high), out.Last)
	}
	return out, nil
}

// column returns the letters of a column, counted from 0.
func column(n int) string {
	s := ""
	for n++; n > 0; n = (n - 1) / 26 {
		s = string(rune('A'+(n-1)%26)) + s
	}
	return s
}

// position returns the row, from 1, and the column, from 0, of a reference such as B3.
func position(ref string) (row, col int) {
	col = -1
	i := 0
	for ; i < len(ref) && ref[i] >= 'A' && ref[i] <= 'Z' && i < 3; i++ {
		col = (col+1)*26 + int(ref[i]-'A')
	}
	for ; i < len(ref) && ref[i] >= '0' && ref[i] <= '9' && row < 1<<24; i++ {
		row = row*10 + int(ref[i]-'0')
	}
	return row, col
}
