package page

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The table plugin of the converter fills all places of a table: one cell over 100,000
// rows and columns takes 10 GB.
const (
	maxSpan  = 200     // places of one cell
	maxCells = 100_000 // places in all tables of a page
	// maxCell is the limit of letters of a cell. Larger ones are found in tables that
	// arrange the parts of a page.
	maxCell = 2000
)

// table prepares a table for Markdown, where each row is one line. A table that arranges
// parts of a page, or holds code or other tables, becomes blocks of text. The others are
// limited to what is left of maxCells, without the spans of their cells if necessary.
func (t *tidier) table(n *html.Node) {
	rows := rowsOf(n, nil)
	if isLayout(n, rows) {
		dissolve(n, rows)
		return
	}
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
		dissolve(n, rows)
		return
	}
	t.cells += places
	for _, row := range rows {
		for _, cell := range row {
			flatten(cell, false, false)
		}
	}
}

// isLayout reports whether a table cannot be one in Markdown.
func isLayout(n *html.Node, rows [][]*html.Node) bool {
	if role := attr(n, "role"); role == "presentation" || role == "none" {
		return true
	}
	for c := range n.Descendants() {
		switch c.DataAtom {
		case atom.Pre, atom.Table, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			return true
		}
	}
	widest := 0
	for _, row := range rows {
		widest = max(widest, len(row))
		for _, cell := range row {
			if letters(cell, nil) > maxCell {
				return true
			}
		}
	}
	return widest < 2
}

// wasCell is the attribute of former cells that are not part of a menu.
const wasCell = "data-cell"

// dissolve makes each cell of a table a block of text.
func dissolve(n *html.Node, rows [][]*html.Node) {
	menu := linkLetters(n)*2 > letters(n, nil)
	for _, row := range rows {
		for _, cell := range row {
			rename(cell.Parent, atom.Div)
			rename(cell, atom.Div)
			if !menu {
				cell.Attr = append(cell.Attr, html.Attribute{Key: wasCell})
			}
		}
	}
	rename(n, atom.Div)
}

// flatten makes the content of a cell one line, with marks for line ends. code reports
// whether n is in inline code, where the converter does not escape the separators of
// cells. after reports whether text comes before n in the cell, and flatten returns it
// for what follows n.
func flatten(n *html.Node, code, after bool) bool {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch {
		case c.Type == html.TextNode:
			after = after || strings.TrimSpace(c.Data) != ""
			if code {
				c.Data = strings.ReplaceAll(c.Data, "|", `\|`)
			}
		case c.DataAtom == atom.Br || c.DataAtom == atom.Hr:
			if after {
				n.InsertBefore(textNode(markBreak), c)
			}
			n.RemoveChild(c)
		case blocks[c.Data]:
			prefix := ""
			if after {
				prefix = markBreak
			}
			if c.DataAtom == atom.Li {
				prefix += "- "
			}
			if prefix != "" {
				n.InsertBefore(textNode(prefix), c)
			}
			rename(c, atom.Span)
			after = flatten(c, code, false) || after
		default:
			after = flatten(c, code || isCode(c), after) || c.DataAtom == atom.Img
		}
		c = next
	}
	return after
}

// isCode reports whether n is inline code for the converter.
func isCode(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Code, atom.Var, atom.Samp, atom.Kbd, atom.Tt:
		return true
	}
	return false
}

func textNode(s string) *html.Node { return &html.Node{Type: html.TextNode, Data: s} }

// blocks lists elements that begin a line.
var blocks = set("p div ul ol li dl dt dd blockquote section article header footer figure figcaption details summary center address form fieldset main menu")

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
