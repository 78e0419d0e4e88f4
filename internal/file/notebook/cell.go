package notebook

import (
	"fmt"
	"slices"
	"strings"
)

// readWorksheets reads the cells of nbformat 3, which stores them in worksheets.
func (n *Notebook) readWorksheets(sheets value) error {
	if err := sheets.list("its worksheets"); err != nil {
		return err
	}
	at := place{}
	for sheet := range sheets.items() {
		at.sheet++
		if sheet.kind() != isObject {
			return sheet.damaged(fmt.Sprintf("%s is %s, not an object", at, sheet.kind()))
		}
		f, err := sheet.fields(at, []string{"cells"})
		if err != nil {
			return err
		}
		if err := n.readCells(f.of("cells"), "the cells of "+at.String()); err != nil {
			return err
		}
	}
	return nil
}

// readCells appends the cells of a list. Errors use name for the list.
func (n *Notebook) readCells(list value, name string) error {
	if err := list.list(name); err != nil {
		return err
	}
	count := 0
	for range list.items() {
		count++
	}
	n.Cells = slices.Grow(n.Cells, count)
	for item := range list.items() {
		cell, err := n.readCell(item, place{cell: len(n.Cells) + 1})
		if err != nil {
			return err
		}
		n.Cells = append(n.Cells, cell)
	}
	return nil
}

// cellKeys lists the keys of a cell that are read.
var cellKeys = []string{
	"id", "cell_type", "source", "outputs", "execution_count", // nbformat 4
	"input", "prompt_number", "language", "level", // nbformat 3
}

func (n *Notebook) readCell(v value, at place) (Cell, error) {
	if v.kind() != isObject {
		return Cell{}, v.damaged(fmt.Sprintf("%s is %s, not an object", at, v.kind()))
	}
	f, err := v.fields(at, cellKeys)
	if err != nil {
		return Cell{}, err
	}
	if f.of("cell_type").kind() != isString {
		return Cell{}, v.damaged(at.String() + " has no cell_type")
	}
	c := Cell{ID: f.of("id").unquoted(), Type: cellType(f.of("cell_type")), Count: f.of("execution_count").integer()}
	source := f.of("source")
	if n.Format == 3 {
		c.ID, c.Count = "", f.of("prompt_number").integer()
		if c.Type == "code" {
			source = f.of("input")
			n.codeIn(f.of("language"))
		}
	}
	c.Count = max(c.Count, 0)
	if c.Source, err = source.text("source", at); err != nil {
		return Cell{}, err
	}
	if n.Format == 3 && c.Type == "heading" {
		c.Type, c.Source = "markdown", heading(f.of("level").integer(), c.Source)
	}
	if outputs := f.of("outputs"); outputs.exists() && outputs.kind() != isNull {
		c.Outputs, err = n.readOutputs(outputs, at)
	}
	return c, err
}

// cellType returns the type of a cell. It returns constants for the usual types, so that cells
// share their text.
func cellType(v value) string {
	for _, known := range []string{"code", "markdown", "raw"} {
		if v.is(known) {
			return known
		}
	}
	return v.unquoted()
}

// codeIn records the language that nbformat 3 stores with each code cell, unless the language is
// known.
func (n *Notebook) codeIn(v value) {
	if n.Language == "" {
		n.Language = languageName(v)
	}
}

// heading returns a heading of nbformat 3 in Markdown, which has six levels and headings of one
// line.
func heading(level int, text string) string {
	return strings.Repeat("#", min(max(level, 1), 6)) + " " + strings.ReplaceAll(text, "\n", " ")
}
