package page

import (
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The table plugin of the converter fills all places of a table: one cell over 100,000
// rows and columns takes 10 GB.
const (
	maxSpan  = 200     // places of one cell
	maxCells = 100_000 // places in all tables of a page
)

// table limits the places of a table to what is left of maxCells, without the spans of
// its cells if necessary. A larger table becomes lines of text.
func (t *tidier) table(n *html.Node) {
	rows := rowsOf(n, nil)
	places := measure(rows)
	if places > maxCells-t.cells {
		for _, row := range rows {
			for _, cell := range row {
				setSpan(cell, 1, 1)
			}
		}
		places = measure(rows)
	}
	if places > maxCells-t.cells {
		for _, row := range rows {
			for _, cell := range row {
				rename(cell.Parent, atom.Div)
				rename(cell, atom.Div)
			}
		}
		rename(n, atom.Div)
		return
	}
	t.cells += places
}

// rowsOf returns the cells of each row of a table, without those of tables inside.
func rowsOf(n *html.Node, rows [][]*html.Node) [][]*html.Node {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.DataAtom {
		case atom.Tr:
			var row []*html.Node
			for cell := c.FirstChild; cell != nil; cell = cell.NextSibling {
				if cell.DataAtom == atom.Td || cell.DataAtom == atom.Th {
					row = append(row, cell)
				}
			}
			rows = append(rows, row)
		case atom.Thead, atom.Tbody, atom.Tfoot:
			rows = rowsOf(c, rows)
		}
	}
	return rows
}

// measure returns the places of a table and limits the spans of its cells to the rows
// that it has.
func measure(rows [][]*html.Node) int {
	below := make([]int, len(rows)+1) // change of the columns that cells above take
	taken, widest := 0, 0
	for i, row := range rows {
		taken += below[i]
		width := taken
		for _, cell := range row {
			cols, down := number(cell, "colspan"), min(number(cell, "rowspan"), len(rows)-i)
			if cols*down > maxSpan {
				cols, down = 1, 1
			}
			setSpan(cell, cols, down)
			width += cols
			if down > 1 {
				below[i+1] += cols
				below[i+down] -= cols
			}
		}
		widest = max(widest, width)
	}
	return widest * len(rows)
}

// number returns the value of an attribute from 1 to 100,000.
func number(n *html.Node, key string) int {
	v, err := strconv.Atoi(attr(n, key))
	if err != nil || v < 1 {
		return 1
	}
	return min(v, 100_000)
}

func setSpan(cell *html.Node, cols, rows int) {
	var kept []html.Attribute
	for _, a := range cell.Attr {
		if a.Key != "colspan" && a.Key != "rowspan" {
			kept = append(kept, a)
		}
	}
	if cols > 1 {
		kept = append(kept, html.Attribute{Key: "colspan", Val: strconv.Itoa(cols)})
	}
	if rows > 1 {
		kept = append(kept, html.Attribute{Key: "rowspan", Val: strconv.Itoa(rows)})
	}
	cell.Attr = kept
}
