package office

import (
	"encoding/xml"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// object reads the embedded object whose start is e: a formula as a line of text, or the
// lines of a chart. Of a sheet, whose cells hold what a chart shows, only the name is a
// note.
func (d *odf) object(t *tokens, e xml.StartElement) (formula string, lines []string, err error) {
	if href := attr(e, "href"); href != "" {
		if err := t.skip(); err != nil {
			return "", nil, err
		}
		if t, err = d.open(path.Join(href, "content.xml")); err != nil {
			return "", nil, err
		}
		defer t.close()
	}
	what := ""
	err = t.each(func(e xml.StartElement) (err error) {
		switch name := e.Name.Local; {
		case name == "math":
			formula, err = d.math(t, e)
		case name == "chart" && e.Name.Space == "chart":
			what, lines, err = d.chartObject(t)
		case name == "spreadsheet":
			rows, err := d.embedded(t)
			what = "[embedded object: spreadsheet]"
			lines = append([]string{"", what, ""}, table(rows)...)
			return err
		case name == "text" && e.Name.Space == "office", name == "presentation", name == "drawing":
			what = "[embedded object: " + name + "]"
			lines = []string{"", what}
			return t.skip()
		case odfSkipped[name]:
			return t.skip()
		}
		return err
	})
	if d.number > 0 && what != "" { // of a sheet
		d.comments, lines = append(d.comments, what), nil
	}
	return formula, lines, err
}

// chartObject reads a chart: its title, and the table of its values.
func (d *odf) chartObject(t *tokens) (what string, lines []string, err error) {
	title := ""
	var rows [][]string
	err = t.each(func(e xml.StartElement) (err error) {
		switch {
		case e.Name.Local == "title" && e.Name.Space == "chart" && title == "":
			title, err = t.content()
		case e.Name.Local == "table":
			rows, err = d.tableOf(t)
		}
		return err
	})
	if title = strings.Join(strings.Fields(clean(title)), " "); title != "" {
		title = ": " + title
	}
	what = "[chart" + title + "]"
	lines = []string{"", what}
	if len(rows) > 0 {
		lines = append(append(append(lines, ""), table(rows)...), "")
	}
	return what, lines, err
}

// embedded reads the first table of a workbook in another document.
func (d *odf) embedded(t *tokens) (rows [][]string, err error) {
	err = t.each(func(e xml.StartElement) (err error) {
		switch {
		case e.Name.Local == "table" && rows == nil:
			rows, err = d.tableOf(t)
		case e.Name.Local == "table", odfSkipped[e.Name.Local]:
			err = t.skip()
		}
		return err
	})
	return rows, err
}

// tableOf is table for one that is not part of the sheet that is read.
func (d *odf) tableOf(t *tokens) ([][]string, error) {
	number := d.number
	d.number = 0
	defer func() { d.number = number }()
	return d.table(t)
}

// math reads the element of MathML whose start is e as a line of text (MathML 3, chapter
// 3).
func (a *archive) math(t *tokens, e xml.StartElement) (string, error) {
	switch e.Name.Local {
	case "mi", "mn", "mo", "mtext", "ms":
		s, err := t.content()
		if err == nil {
			err = a.hold(len(s))
		}
		return clean(strings.TrimSpace(s)), err
	}
	var of []string
	err := t.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "annotation", "annotation-xml", "mphantom":
			return t.skip()
		}
		s, err := a.math(t, e)
		of = append(of, s)
		return err
	})
	one := func(n int) string {
		if n >= len(of) {
			return ""
		}
		if utf8.RuneCountInString(of[n]) > 1 {
			return "(" + of[n] + ")"
		}
		return of[n]
	}
	after := func(sign string, n int) string {
		if s := one(n); s != "" {
			return sign + s
		}
		return ""
	}
	switch e.Name.Local {
	case "mfrac":
		return one(0) + "/" + one(1), err
	case "msup", "mover":
		return one(0) + after("^", 1), err
	case "msub", "munder":
		return one(0) + after("_", 1), err
	case "msubsup", "munderover":
		return one(0) + after("_", 1) + after("^", 2), err
	case "msqrt":
		of = []string{mathRow(of)}
		return "√" + one(0), err
	case "mroot":
		return one(1) + "√" + one(0), err
	case "mfenced":
		return value(e, "open", "(") + strings.Join(of, ",") + value(e, "close", ")"), err
	case "mtable":
		return strings.Join(of, "; "), err
	case "mtr", "mlabeledtr":
		return strings.Join(of, ", "), err
	}
	return mathRow(of), err
}

// mathRow joins the parts of a row, with a blank between words.
func mathRow(of []string) string {
	var b strings.Builder
	letters := func(s string) bool {
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
	}
	for i, s := range of {
		if i > 0 && letters(of[i-1]) && letters(s) && utf8.RuneCountInString(of[i-1]+s) > 2 {
			b.WriteString(" ")
		}
		b.WriteString(s)
	}
	return b.String()
}

// value returns an attribute, or a default if there is none.
func value(e xml.StartElement, name, without string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return without
}
