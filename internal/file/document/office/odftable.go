package office

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The tables of texts and the sheets of workbooks in OpenDocument files are read here.

// table reads a table of a text.
func (d *odf) table(t *tokens) (rows [][]string, err error) {
	err = t.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "table-row":
			cells, err := d.row(t, false)
			if len(cells) > 0 {
				rows = append(rows, cells)
			}
			return err
		}
		return nil
	})
	return rows, err
}

// row reads the cells of a row.
func (d *odf) row(t *tokens, formulas bool) (cells []string, err error) {
	col := 0
	err = t.each(func(e xml.StartElement) error {
		name := e.Name.Local
		if name != "table-cell" && name != "covered-table-cell" {
			return nil
		}
		n, err := strconv.Atoi(attr(e, "number-columns-repeated"))
		if err != nil || n < 1 {
			n = 1
		}
		wide, _ := strconv.Atoi(attr(e, "number-columns-spanned"))
		high, _ := strconv.Atoi(attr(e, "number-rows-spanned"))
		if wide > 1 || high > 1 {
			d.merged = append(d.merged, fmt.Sprintf("%s%d:%s%d", column(col), d.number, column(col+max(wide, 1)-1), d.number+max(high, 1)-1))
		}
		said := len(d.comments)
		lines, err := d.blocks(t)
		for i := said; i < len(d.comments) && d.number > 0; i++ {
			d.comments[i] = column(col) + strconv.Itoa(d.number) + ", " + strings.Trim(d.comments[i], "[]")
		}
		text := strings.Trim(strings.Join(tidy(lines), "\n"), "\n")
		text = firstOf(strings.ReplaceAll(text, "\n\n", "\n"), stored(e))
		if f := attr(e, "formula"); f != "" && (formulas || text == "" && attr(e, "value-type") == "") {
			if !formulas {
				d.unvalued++
			}
			text = clean(strings.TrimPrefix(f, "of:"))
		}
		if text != "" && col < maxColumns {
			for len(cells) < col {
				cells = append(cells, "")
			}
			for range min(n, maxColumns-col) {
				cells = append(cells, text)
			}
			err2 := d.hold(n * len(text))
			if err == nil {
				err = err2
			}
		}
		col += n
		return err
	})
	return cells, err
}

// stored returns the value of a cell for which a program wrote no text.
func stored(e xml.StartElement) string {
	number, err := strconv.ParseFloat(attr(e, "value"), 64)
	switch kind := attr(e, "value-type"); {
	case kind == "boolean":
		return strings.ToUpper(clean(attr(e, "boolean-value")))
	case kind == "percentage" && err == nil:
		return general(100*number) + "%"
	case err == nil:
		return general(number)
	case kind != "":
		return clean(attr(e, kind+"-value")) // date, time, string
	}
	return ""
}

func (d *odf) workbook(t *tokens, r Request) (*Document, error) {
	// Names come first, because an answer names the sheets it leaves out.
	var sheets []sheet
	names, err := d.open("content.xml")
	if err != nil {
		return nil, err
	}
	defer names.close()
	hidden, style := map[string]bool{}, ""
	err = names.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "style":
			style = attr(e, "name")
		case "table-properties":
			hidden[style] = attr(e, "display") == "false"
		case "table":
			s := sheet{name: attr(e, "name")}
			if hidden[attr(e, "style-name")] {
				s.state = "hidden"
			}
			sheets = append(sheets, s)
			return names.skip()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	first, last, err := r.span(Sheet, len(sheets))
	if err != nil {
		return nil, err
	}
	at := 0
	next := func(p *page) (int, []string, error) {
		var merged []string
		found := false
		err := t.each(func(e xml.StartElement) error {
			if e.Name.Local != "table" {
				return nil
			}
			if at++; at < first {
				return t.skip()
			}
			found = true
			var err error
			if merged, err = d.sheet(t, p, r.Formulas); err != nil {
				return err
			}
			return io.EOF
		})
		if err == io.EOF && found {
			err = nil // the next each goes on where this one stopped
		}
		notes := append(listNote("merged cells", merged), d.comments...)
		if d.unvalued > 0 {
			notes = append([]string{noValues(d.unvalued)}, notes...)
		}
		d.comments, d.unvalued = nil, 0
		return 0, notes, err
	}
	return fillSheets(sheets, first, last, r, func(_ sheet, p *page) (int, []string, error) { return next(p) })
}

// sheet reads the rows of a sheet, and returns merged ranges.
func (d *odf) sheet(t *tokens, p *page, formulas bool) (merged []string, err error) {
	number := 1
	d.merged = nil
	err = t.each(func(e xml.StartElement) error {
		switch {
		case e.Name.Local == "table-row":
			n, err := strconv.Atoi(attr(e, "number-rows-repeated"))
			if err != nil || n < 1 {
				n = 1
			}
			d.number = number
			d.text = maxText // the rows of a sheet are limited by the answer
			cells, err := d.row(t, formulas)
			if err != nil {
				return err
			}
			if len(cells) > 0 {
				for i := range min(n, 1<<20) {
					p.add(number+i, slices.Clone(cells))
					if p.next > 0 {
						p.lastRow = max(p.lastRow, number+n-1)
						break
					}
				}
			}
			number += n
		case e.Name.Local == "shapes":
			from := len(d.comments)
			d.number = max(d.number, 1)
			lines, err := d.blocks(t)
			d.comments = slices.Concat(d.comments[:from], onSheet(lines), onSheet(d.comments[from:]))
			return err
		case odfSkipped[e.Name.Local]:
			return t.skip()
		}
		return nil
	})
	return d.merged, err
}

// onSheet returns notes on the objects of a sheet beside its cells.
func onSheet(lines []string) (notes []string) {
	for _, l := range lines {
		if l != "" {
			notes = append(notes, "on the sheet: "+strings.Trim(l, "[]"))
		}
	}
	return notes
}
