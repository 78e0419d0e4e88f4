package office

import (
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	// maxColumns is the number of columns of a sheet.
	maxColumns = 16384
	// scannedTo is the limit of a sheet that is read to its end, in bytes, for merged cells
	// and the last row. A larger one is read up to the end of the answer.
	scannedTo = 64 << 20
	// mostMerged is the limit of merged ranges that are told of a sheet.
	mostMerged = 50
)

// workbook is an open .xlsx file.
type workbook struct {
	*archive
	Request
	shared    []string
	formats   []*numberFormat // by index of cell style; nil: General
	epoch1904 bool
	people    map[string]string // authors of threads of comments, by id
	unvalued  int               // formulas of the present sheet without a value
}

// sheet is an entry of the list of sheets.
type sheet struct{ name, state, part string }

func readWorkbook(a *archive, main string, r Request) (*Document, error) {
	w := &workbook{archive: a, Request: r}
	rels, err := a.relations(main)
	if err != nil {
		return nil, err
	}
	sheets, err := w.sheets(main, rels)
	if err != nil {
		return nil, err
	}
	first, last, err := r.span(Sheet, len(sheets))
	if err != nil {
		return nil, err
	}
	if w.shared, err = w.strings(related(rels, "sharedStrings")); err != nil {
		return nil, err
	}
	if w.formats, err = w.styles(related(rels, "styles")); err != nil {
		return nil, err
	}
	if w.people, err = w.names(related(rels, "person")); err != nil {
		return nil, err
	}
	return fillSheets(sheets, first, last, r, func(s sheet, p *page) (int, []string, error) { return w.sheet(s.part, p) })
}

// fillSheets reads sheets while the budget lasts. read reads one, and returns the last row
// as the file declares it and notes.
func fillSheets(sheets []sheet, first, last int, r Request, read func(sheet, *page) (int, []string, error)) (*Document, error) {
	doc := &Document{Kind: Sheet, Total: len(sheets)}
	used := 0
	for n := first; n <= last; n++ {
		if n > first && used >= r.Budget*3/4 {
			doc.Next = n
			break
		}
		rest := r
		rest.Budget -= used
		if n > first {
			rest.Offset = 1 // an offset is one of the first sheet
		}
		s := sheets[n-1]
		p := newPage(rest, clean(s.name))
		declared, notes, err := read(s, p)
		if err != nil {
			return nil, err
		}
		part, err := p.part(n, declared)
		if err != nil {
			return nil, err
		}
		if s.state != "" && s.state != "visible" {
			part.Detail = strings.TrimPrefix(part.Detail+", hidden", ", ")
		}
		part.Notes = notes
		used += len(part.Text)
		doc.Parts = append(doc.Parts, part)
		if part.Next > 0 {
			if n < last {
				doc.Next = n + 1
			}
			break
		}
	}
	for n := doc.Next; n > 0 && n <= last; n++ {
		doc.Left = append(doc.Left, clean(sheets[n-1].name))
	}
	return doc, nil
}

func (w *workbook) sheets(main string, rels map[string]relation) (sheets []sheet, err error) {
	t, err := w.open(main)
	if err != nil {
		return nil, err
	}
	defer t.close()
	err = t.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "workbookPr":
			w.epoch1904 = isTrue(attr(e, "date1904"))
		case "sheet":
			sheets = append(sheets, sheet{attr(e, "name"), attr(e, "state"), rels[prefixed(e, "id")].target})
		}
		return nil
	})
	return sheets, err
}

func isTrue(s string) bool { return s == "1" || s == "true" || s == "on" }

// strings reads the texts that cells share.
func (w *workbook) strings(part string) (out []string, err error) {
	t, err := w.open(part)
	if err != nil {
		return nil, err
	}
	defer t.close()
	err = t.each(func(e xml.StartElement) error {
		if e.Name.Local != "si" {
			return nil
		}
		s, err := richText(t)
		if err == nil {
			err = w.hold(len(s) + 16)
		}
		out = append(out, s)
		return err
	})
	return out, err
}

// richText returns the text of the element whose start was read last, which has t elements.
func richText(t *tokens) (string, error) {
	var b strings.Builder
	err := t.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "t":
			s, err := t.content()
			b.WriteString(escapedX().ReplaceAllStringFunc(s, unescapeX))
			return err
		case "rPh": // how a text is pronounced
			return t.skip()
		}
		return nil
	})
	return clean(b.String()), err
}

// escapedX is a character that XML cannot hold, such as _x000D_.
var escapedX = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`) })

func unescapeX(s string) string {
	n, _ := strconv.ParseUint(s[2:6], 16, 16)
	return string(rune(n))
}

// styles reads the number formats of cell styles.
func (w *workbook) styles(part string) (out []*numberFormat, err error) {
	t, err := w.open(part)
	if err != nil {
		return nil, err
	}
	defer t.close()
	own, parsed := map[int]string{}, map[int]*numberFormat{}
	err = t.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "numFmt":
			if id, err := strconv.Atoi(attr(e, "numFmtId")); err == nil && len(attr(e, "formatCode")) < 1000 {
				own[id] = attr(e, "formatCode")
			}
		case "cellXfs":
			return t.each(func(e xml.StartElement) error {
				if e.Name.Local != "xf" {
					return nil
				}
				id, _ := strconv.Atoi(attr(e, "numFmtId"))
				f, done := parsed[id]
				if code := firstOf(own[id], builtin[id]); !done && code != "" {
					f = parseFormat(code)
					parsed[id] = f
				}
				out = append(out, f)
				return w.hold(8)
			})
		}
		return nil
	})
	return out, err
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// sheet reads a sheet. It returns the last row as far as the file declares it, and notes.
func (w *workbook) sheet(part string, p *page) (declared int, notes []string, err error) {
	t, err := w.open(part)
	if err != nil {
		return 0, nil, err
	}
	defer t.close()
	whole := true
	if f := w.entries[key(part)]; f != nil {
		whole = f.UncompressedSize64 <= scannedTo
	}
	var merged []string
	var unseen, objects []string
	var links [][2]string // the place of a cell, and the id of a relation
	number, formulas := 0, newFormulas()
	w.unvalued = 0
	err = t.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "dimension":
			_, end, _ := strings.Cut(attr(e, "ref"), ":")
			declared, _ = position(end)
		case "row":
			number++
			if n, err := strconv.Atoi(attr(e, "r")); err == nil && n > 0 {
				number = n
			}
			if isTrue(attr(e, "hidden")) {
				unseen = append(unseen, strconv.Itoa(number))
				if err := w.hold(32); err != nil {
					return err
				}
			}
			if !whole && (p.next > 0 || p.Limit > 0 && number >= p.Offset+p.Limit) {
				return io.EOF
			}
			if !p.wants(number) && !w.Formulas {
				p.add(number, nil)
				return t.skip()
			}
			cells, err := w.row(t, number, formulas)
			if err == nil {
				p.add(number, cells)
			}
			return err
		case "col":
			if first, err := strconv.Atoi(attr(e, "min")); err == nil && isTrue(attr(e, "hidden")) {
				last, _ := strconv.Atoi(attr(e, "max"))
				for n := first; n > 0 && n <= min(last, maxColumns) && len(unseen) <= mostMerged; n++ {
					unseen = append(unseen, column(n-1))
				}
			}
		case "oleObject":
			objects = append(objects, firstOf(attr(e, "progId"), "no program is named"))
			return w.hold(64)
		case "Fallback":
			return t.skip()
		case "mergeCell":
			merged = append(merged, attr(e, "ref"))
		case "hyperlink":
			links = append(links, [2]string{attr(e, "ref"), prefixed(e, "id")})
			return w.hold(32)
		}
		return nil
	})
	if err == io.EOF {
		err = nil
	}
	if err != nil {
		return declared, nil, err
	}
	notes, err = w.beside(part, links)
	if w.unvalued > 0 && !w.Formulas {
		notes = append(notes, noValues(w.unvalued))
	}
	return declared, slices.Concat(listNote("embedded objects", objects), listNote("merged cells", merged), listNote("hidden rows and columns, which are shown here", unseen), notes), err
}

// noValues returns the note for formulas whose values a program did not store.
func noValues(n int) string {
	return fmt.Sprintf("shown as formulas, because the file has no values of them: %d", n)
}

// listNote returns a note that lists places of a sheet, if there are any.
func listNote(what string, places []string) []string {
	n := len(places)
	if n == 0 {
		return nil
	}
	more := ""
	if n > mostMerged {
		more = fmt.Sprintf(" and %d more", n-mostMerged)
	}
	return []string{what + ": " + clean(strings.Join(places[:min(n, mostMerged)], ", ")) + more}
}

// row reads the cells of a row.
func (w *workbook) row(t *tokens, number int, formulas *formulas) (cells []string, err error) {
	col := -1
	err = t.each(func(e xml.StartElement) error {
		if e.Name.Local != "c" {
			return nil
		}
		col++
		if _, c := position(attr(e, "r")); c >= 0 {
			col = c
		}
		text, err := w.cell(t, e, number, col, formulas)
		if err != nil || text == "" || col >= maxColumns {
			return err
		}
		for len(cells) <= col {
			cells = append(cells, "")
		}
		cells[col] = text
		return nil
	})
	return cells, err
}

// cell returns what a cell shows.
func (w *workbook) cell(t *tokens, e xml.StartElement, row, col int, formulas *formulas) (string, error) {
	value, formula, inline := "", "", ""
	err := t.each(func(c xml.StartElement) (err error) {
		switch c.Name.Local {
		case "v":
			value, err = t.content()
		case "f":
			var text string
			if text, err = t.content(); err == nil {
				formula = formulas.of(c, text, row, col)
			}
		case "is":
			inline, err = richText(t)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	unvalued := formula != "" && strings.TrimSpace(value+inline) == "" && attr(e, "t") != "str"
	if unvalued {
		w.unvalued++
	}
	if (w.Formulas || unvalued) && formula != "" {
		return clean("=" + formula), nil
	}
	var format *numberFormat
	if s, err := strconv.Atoi(attr(e, "s")); err == nil && s >= 0 && s < len(w.formats) {
		format = w.formats[s]
	}
	switch attr(e, "t") {
	case "s":
		if i, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && i >= 0 && i < len(w.shared) {
			return format.text(w.shared[i]), nil
		}
		return "", nil
	case "inlineStr":
		return format.text(inline), nil
	case "b":
		if isTrue(value) {
			return "TRUE", nil
		}
		return "FALSE", nil
	case "str", "e", "d":
		return clean(escapedX().ReplaceAllStringFunc(value, unescapeX)), nil
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		return clean(value), nil
	}
	return clean(format.number(v, w.epoch1904)), nil
}

// formulas holds the formulas that cells share.
type formulas struct{ shared map[string]sharedFormula }

type sharedFormula struct {
	text     string
	row, col int
}

func newFormulas() *formulas { return &formulas{map[string]sharedFormula{}} }

// of returns the formula of a cell. text is empty for one that is shared.
func (f *formulas) of(e xml.StartElement, text string, row, col int) string {
	if attr(e, "t") != "shared" {
		return text
	}
	si := attr(e, "si")
	if text != "" {
		if len(f.shared) < 10_000 {
			f.shared[si] = sharedFormula{text, row, col}
		}
		return text
	}
	s, ok := f.shared[si]
	if !ok {
		return ""
	}
	return shift(s.text, row-s.row, col-s.col)
}

// reference is a quoted text or name, which stays as it is, or a reference to a cell.
var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"[^"]*"|'[^']*'|[A-Za-z_\\][A-Za-z0-9_.\\]*[(!]|(\$?)([A-Z]{1,3})(\$?)([0-9]{1,7})\b`)
})

// shift moves the relative references of a formula.
func shift(formula string, rows, cols int) string {
	return reference().ReplaceAllStringFunc(formula, func(s string) string {
		m := reference().FindStringSubmatch(s)
		if m == nil || m[2] == "" {
			return s
		}
		row, col := position(m[2] + m[4])
		if m[1] == "" {
			col += cols
		}
		if m[3] == "" {
			row += rows
		}
		if row < 1 || col < 0 {
			return "#REF!"
		}
		return m[1] + column(col) + m[3] + strconv.Itoa(row)
	})
}
