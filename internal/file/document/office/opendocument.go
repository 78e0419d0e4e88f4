package office

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// openDocument reports whether the file is an OpenDocument file of a kind that is read.
func (a *archive) openDocument() (kind string, is bool) {
	f := a.entries["mimetype"]
	if f == nil || !a.has("content.xml") {
		return "", false
	}
	r, err := f.Open()
	if err != nil {
		return "", false
	}
	defer r.Close()
	name, _ := io.ReadAll(io.LimitReader(r, 100))
	what, is := strings.CutPrefix(strings.TrimSpace(string(name)), "application/vnd.oasis.opendocument.")
	switch what, _, _ = strings.Cut(what, "-"); what {
	case "text":
		return Text, is
	case "spreadsheet":
		return Sheet, is
	case "presentation", "graphics":
		return Slide, is
	}
	return "", false
}

// odf is an open OpenDocument file.
type odf struct {
	*archive
	notes    []string // footnotes and endnotes
	comments []string
	speaker  []string // notes of the present slide
	number   int      // of the present row of a sheet
	merged   []string // ranges of the present sheet
	unvalued int      // formulas of the present sheet without a value
	styles   odfStyles
	title    string            // of the present slide
	listed   *listStyle        // of the last list in the present frame of a slide
	fields   map[string]string // texts of the fields header and footer of the present slide

	insertions, deletions int // tracked changes
}

func readOpenDocument(a *archive, kind string, r Request) (*Document, error) {
	d := &odf{archive: a}
	if err := d.encrypted(); err != nil {
		return nil, err
	}
	t, err := a.open("content.xml")
	if err != nil {
		return nil, err
	}
	defer t.close()
	switch kind {
	case Sheet:
		return d.workbook(t, r)
	case Slide:
		return d.presentation(t, r)
	}
	if err := d.readStyles(); err != nil {
		return nil, err
	}
	lines, err := d.blocks(t)
	if err != nil {
		return nil, err
	}
	if d.insertions+d.deletions > 0 {
		d.comments = append(d.comments, fmt.Sprintf("[tracked changes: insertions are shown as text (%d), deletions are left out (%d)]", d.insertions, d.deletions))
	}
	running, err := d.running()
	if err != nil {
		return nil, err
	}
	for _, more := range [][]string{d.notes, d.comments, running} {
		if len(more) > 0 {
			lines = append(append(lines, ""), more...)
		}
	}
	p, err := r.lines(tidy(lines))
	if err != nil {
		return nil, err
	}
	return &Document{Kind: Text, Total: 1, Parts: []Part{p}}, nil
}

// running reads headers and footers, each text once.
func (d *odf) running() (lines []string, err error) {
	t, err := d.open("styles.xml")
	if err != nil {
		return nil, err
	}
	defer t.close()
	master := false
	err = t.each(func(e xml.StartElement) error {
		kind, _, _ := strings.Cut(e.Name.Local, "-")
		switch {
		case e.Name.Local == "master-page":
			master = true
		case master && e.Name.Space == "style" && (kind == "header" || kind == "footer"):
			own, err := d.blocks(t)
			text := oneLine(own)
			line := "[" + kind + ": " + text + "]"
			if text != "" && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
			return err
		}
		return nil
	})
	return lines, err
}

// encrypted returns an error if the file needs a password.
func (d *odf) encrypted() error {
	t, err := d.open("META-INF/manifest.xml")
	if err != nil {
		return err
	}
	defer t.close()
	locked := d.has("encrypted-package")
	err = t.each(func(e xml.StartElement) error {
		locked = locked || e.Name.Local == "encryption-data"
		return nil
	})
	if locked {
		return needsPassword()
	}
	return err
}

// odfSkipped are elements that are no content: deleted text, styles, and definitions.
var odfSkipped = map[string]bool{
	"tracked-changes": true, "styles": true, "automatic-styles": true, "font-face-decls": true, "scripts": true, "forms": true,
	"sequence-decls": true, "variable-decls": true, "settings": true, "calculation-settings": true,
	"table-of-content-source": true, "content-validations": true, "shapes": true, "dde-links": true,
}

// blocks reads the blocks in the element whose start was read last.
func (d *odf) blocks(t *tokens) (lines []string, err error) {
	err = t.each(func(e xml.StartElement) error {
		switch name := e.Name.Local; {
		case name == "h":
			level, _ := strconv.Atoi(attr(e, "outline-level"))
			own, err := d.heading(t, e, max(level, 1))
			lines = append(lines, own...)
			return err
		case name == "p":
			if level := d.styles.heading(attr(e, "style-name")); level > 0 {
				own, err := d.heading(t, e, level)
				lines = append(lines, own...)
				return err
			}
			d.listed = nil
			text, boxes, err := d.inline(t)
			lines = append(append(append(lines, ""), strings.Split(text, "\n")...), boxes...)
			return err
		case name == "list":
			if n := len(lines) - 1; d.fields != nil && d.listed != nil && n >= 0 && lines[n] == "" {
				lines = lines[:n] // programs make a list of each item
			} else {
				lines = append(lines, "")
			}
			items, err := d.list(t, e, nil, 0)
			lines = append(append(lines, items...), "")
			return err
		case name == "table":
			rows, err := d.table(t)
			lines = append(append(append(lines, ""), table(rows)...), "")
			return err
		case name == "annotation":
			return d.comment(t)
		case name == "object" && e.Name.Space == "draw":
			formula, own, err := d.object(t, e)
			if formula != "" {
				own = append(own, "", formula)
			}
			lines = append(lines, own...)
			return err
		case name == "object-ole":
			lines = append(lines, "", "[embedded object]")
		case name == "frame" && d.fields != nil:
			own, err := d.frame(t, e)
			lines = append(lines, own...)
			return err
		case name == "notes" && e.Name.Space == "presentation":
			var err error
			d.speaker, err = d.blocks(t)
			return err
		case name == "tracked-changes":
			return t.each(func(e xml.StartElement) error {
				switch e.Name.Local {
				case "insertion":
					d.insertions++
				case "deletion":
					d.deletions++
				}
				return nil
			})
		case odfSkipped[name]:
			return t.skip()
		}
		return nil
	})
	return lines, err
}

// frame reads the frame of a slide whose start is e.
func (d *odf) frame(t *tokens, e xml.StartElement) (lines []string, err error) {
	class := attr(e, "class")
	if class == "date-time" || class == "page-number" {
		return nil, t.skip()
	}
	d.listed = nil
	lines, err = d.blocks(t)
	if class == "title" && d.title == "" {
		d.title, lines = strings.Join(strings.Fields(joined(lines)), " "), nil
	}
	return lines, err
}

// heading reads the heading whose start is e.
func (d *odf) heading(t *tokens, e xml.StartElement, level int) (lines []string, err error) {
	text, boxes, err := d.inline(t)
	if text = strings.Join(strings.Fields(text), " "); text != "" {
		label := ""
		if list := d.styles.lists[""]; list != nil && e.Name.Local == "h" && attr(e, "is-list-header") != "true" {
			label = list.label(level - 1)
		}
		lines = heading(level, label, text)
	}
	return append(lines, boxes...), err
}

// inline reads a paragraph. boxes holds the lines of text boxes in it.
func (d *odf) inline(t *tokens) (text string, boxes []string, err error) {
	var b strings.Builder
	beside := ""
	err = t.walk(func(e xml.StartElement) error {
		switch name := e.Name.Local; {
		case name == "s" && e.Name.Space == "text":
			n, err := strconv.Atoi(attr(e, "c"))
			if err != nil {
				n = 1
			}
			b.WriteString(strings.Repeat(" ", min(max(n, 1), 100)))
		case name == "tab":
			b.WriteString("\t")
		case name == "line-break":
			b.WriteString("\n")
		case name == "note":
			mark, err := d.note(t)
			b.WriteString(mark)
			return err
		case name == "annotation":
			return d.comment(t)
		case e.Name.Space == "presentation":
			b.WriteString(d.fields[name])
		case name == "page-number" && d.fields != nil:
			return t.skip()
		case name == "object" && e.Name.Space == "draw":
			formula, own, err := d.object(t, e)
			b.WriteString(formula)
			boxes = append(boxes, own...)
			return err
		case name == "object-ole":
			b.WriteString("[embedded object]")
		case name == "frame" && attr(e, "anchor-type") != "" && attr(e, "anchor-type") != "as-char":
			inner, more, err := d.inline(t) // its place is beside the text
			beside += inner
			boxes = append(boxes, more...)
			return err
		case name == "text-box":
			lines, err := d.blocks(t)
			boxes = append(boxes, lines...)
			return err
		case name == "a" && e.Name.Space == "text":
			inner, more, err := d.inline(t)
			boxes = append(boxes, more...)
			if href := attr(e, "href"); href != "" && !strings.HasPrefix(href, "#") && inner != "" && !strings.Contains(inner, href) {
				inner = "[" + inner + "](" + href + ")"
			}
			b.WriteString(inner)
			return err
		case e.Name.Space == "svg" && (name == "title" || name == "desc"):
			s, err := t.content()
			if s = strings.Join(strings.Fields(s), " "); s != "" {
				b.WriteString("[picture: " + s + "]")
			}
			return err
		case odfSkipped[name], name == "ruby-text", name == "hidden-text":
			return t.skip()
		}
		return nil
	}, func(s string) error {
		s = strings.NewReplacer("\n", " ", "\t", " ", "\r", "").Replace(s) // line breaks of the XML
		b.WriteString(s)
		return d.hold(len(s) + 8)
	})
	return strings.TrimSpace(strings.TrimSpace(clean(b.String())) + " " + beside), boxes, err
}

// note reads a footnote or endnote and returns its mark.
func (d *odf) note(t *tokens) (mark string, err error) {
	var body []string
	err = t.each(func(e xml.StartElement) (err error) {
		switch e.Name.Local {
		case "note-citation":
			mark, err = t.content()
		case "note-body":
			body, err = d.blocks(t)
		}
		return err
	})
	mark = "[^" + clean(mark) + "]"
	d.notes = append(d.notes, mark+": "+joined(body))
	return mark, err
}

func joined(lines []string) string {
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), " ")
}

func (d *odf) comment(t *tokens) error {
	author := "no author"
	var body []string
	err := t.each(func(e xml.StartElement) (err error) {
		switch e.Name.Local {
		case "creator":
			author, err = t.content()
		case "date", "date-string", "creator-initials":
			return t.skip()
		case "p", "list":
			var text string
			text, _, err = d.inline(t)
			body = append(body, text)
		}
		return err
	})
	d.comments = append(d.comments, "[comment by "+clean(author)+": "+joined(body)+"]")
	return err
}
