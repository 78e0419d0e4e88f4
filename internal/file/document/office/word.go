package office

import (
	"encoding/xml"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// word is an open .docx file.
type word struct {
	*archive
	rels     map[string]relation
	headings map[string]int     // level of a heading, by id of its style
	lists    map[string]listRef // list of paragraphs, by id of their style
	hidden   map[string]bool    // character styles of hidden text
	numbers  *numbering

	insertions, deletions int // tracked changes
}

// listRef refers to a level of a list.
type listRef struct {
	num   string
	level int
}

func readWord(a *archive, main string, r Request) (*Document, error) {
	w := &word{archive: a, headings: map[string]int{}, lists: map[string]listRef{}, hidden: map[string]bool{}}
	var err error
	if w.rels, err = a.relations(main); err != nil {
		return nil, err
	}
	if err := w.styles(related(w.rels, "styles")); err != nil {
		return nil, err
	}
	if w.numbers, err = a.readNumbering(related(w.rels, "numbering")); err != nil {
		return nil, err
	}
	lines, err := w.part(main)
	if err != nil {
		return nil, err
	}
	for _, extra := range []struct{ kind, element, name string }{
		{"footnotes", "footnote", "[^%s]: "}, {"endnotes", "endnote", "[^e%s]: "}, {"comments", "comment", "[comment %s by %s: "},
	} {
		notes, err := w.notes(related(w.rels, extra.kind), extra.element, extra.name)
		if err != nil {
			return nil, err
		}
		lines = append(lines, notes...)
	}
	if w.insertions+w.deletions > 0 {
		lines = append(lines, "", fmt.Sprintf("[tracked changes: insertions are shown as text (%d), deletions are left out (%d)]", w.insertions, w.deletions))
	}
	for _, kind := range []string{"header", "footer"} {
		running, err := w.running(kind)
		if err != nil {
			return nil, err
		}
		lines = append(lines, running...)
	}
	p, err := r.lines(tidy(lines))
	if err != nil {
		return nil, err
	}
	return &Document{Kind: Text, Total: 1, Parts: []Part{p}}, nil
}

// tidy removes blank lines at the ends, and all but one of several.
func tidy(lines []string) []string {
	lines = slices.CompactFunc(lines, func(a, b string) bool { return a == "" && b == "" })
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for n := len(lines); n > 0 && lines[n-1] == ""; n-- {
		lines = lines[:n-1]
	}
	return lines
}

// part reads the paragraphs of a part as lines of Markdown.
func (w *word) part(name string) (lines []string, err error) {
	t, err := w.open(name)
	if err != nil {
		return nil, err
	}
	defer t.close()
	return w.blocks(t)
}

// styles finds the styles of headings and lists.
func (w *word) styles(part string) error {
	t, err := w.open(part)
	if err != nil {
		return err
	}
	defer t.close()
	based := map[string]string{}
	var pages []string
	err = t.each(func(e xml.StartElement) error {
		if e.Name.Local != "style" {
			return nil
		}
		id := attr(e, "styleId")
		var list listRef
		return t.each(func(e xml.StartElement) error {
			switch e.Name.Local {
			case "name":
				name := strings.ToLower(attr(e, "val"))
				if level, is := strings.CutPrefix(name, "heading "); is {
					if n, err := strconv.Atoi(level); err == nil {
						w.headings[id] = n
					}
				} else if name == "title" {
					w.headings[id] = 1
				} else if name == "heading" { // of Apple Pages; LibreOffice bases other styles on it
					pages = append(pages, id)
				}
			case "basedOn":
				based[id] = attr(e, "val")
			case "outlineLvl":
				if n, err := strconv.Atoi(attr(e, "val")); err == nil && n < 9 && w.headings[id] == 0 {
					w.headings[id] = n + 1
				}
			case "vanish":
				w.hidden[id] = isOn(e)
			case "numId":
				list.num = attr(e, "val")
				w.lists[id] = list
			case "ilvl":
				list.level, _ = strconv.Atoi(attr(e, "val"))
			}
			return nil
		})
	})
	for id := range based {
		for from, steps := based[id], 0; from != "" && steps < 10; from, steps = based[from], steps+1 {
			if _, own := w.headings[id]; !own && w.headings[from] > 0 {
				w.headings[id] = w.headings[from]
			}
			if _, own := w.hidden[id]; !own && w.hidden[from] {
				w.hidden[id] = true
			}
			if _, own := w.lists[id]; !own && w.lists[from].num != "" {
				w.lists[id] = w.lists[from]
			}
		}
	}
	for _, id := range pages {
		w.headings[id] = max(w.headings[id], 1)
	}
	return err
}

// skipped are the elements whose content is not text of the document: properties, deleted
// text, and the copy of a text box for old readers.
var skipped = map[string]bool{
	"del": true, "moveFrom": true, "Fallback": true, "sectPr": true, "tblPr": true, "tblGrid": true, "trPr": true,
	"sdtPr": true, "instrText": true, "delText": true, "delInstrText": true, "rubyPr": true, "rt": true,
}

// blocks reads the paragraphs and tables in the element whose start was read last.
func (w *word) blocks(t *tokens) (lines []string, err error) {
	item, joined := false, "" // joined is the text of paragraphs that a tracked change joins to the next
	err = t.each(func(e xml.StartElement) error {
		switch name := e.Name.Local; {
		case name == "p":
			p := &paragraph{word: w}
			p.text.WriteString(joined)
			if err := p.read(t); err != nil {
				return err
			}
			if joined = ""; p.joins {
				joined = p.text.String()
				lines = append(lines, p.boxes...)
				return w.hold(p.text.Len())
			}
			var own []string
			own, item = p.lines(item)
			lines = append(lines, own...)
			return w.hold(p.text.Len() + 16)
		case name == "tbl":
			item = false
			rows, err := w.table(t)
			if err != nil {
				return err
			}
			lines = append(append(append(lines, ""), table(rows)...), "")
		case name == "altChunk":
			lines = append(lines, "", "[the document "+clean(w.rels[prefixed(e, "id")].target)+" inside of the file belongs here and is not shown; unpack the file to read it]")
		default:
			return w.leave(t, name)
		}
		return nil
	})
	if joined != "" {
		lines = append(lines, "", joined)
	}
	return lines, err
}

// leave skips an element whose content is not text of the document, and counts tracked changes.
func (w *word) leave(t *tokens, name string) error {
	switch name {
	case "ins":
		w.insertions++
	case "del":
		w.deletions++
	}
	if skipped[name] {
		return t.skip()
	}
	return nil
}

// table reads the rows of a table. Each cell that spans several has the text once.
func (w *word) table(t *tokens) (rows [][]string, err error) {
	err = t.each(func(e xml.StartElement) error {
		switch name := e.Name.Local; {
		case name == "tr":
			deleted := false
			var cells []string
			err := t.each(func(e xml.StartElement) error {
				switch name := e.Name.Local; {
				case name == "trPr":
					return t.each(func(e xml.StartElement) error {
						switch n, _ := strconv.Atoi(attr(e, "val")); e.Name.Local {
						case "del":
							deleted = true
							w.deletions++
						case "gridBefore":
							cells = append(cells, make([]string, min(max(n, 0), 64))...)
						}
						return nil
					})
				case name == "tc":
					text, span, err := w.tableCell(t)
					cells = append(cells, text)
					for range min(span, 64) - 1 {
						cells = append(cells, "")
					}
					return err
				case skipped[name]:
					return t.skip()
				}
				return nil
			})
			if !deleted {
				rows = append(rows, cells)
			}
			return err
		case skipped[name]:
			return t.skip()
		}
		return nil
	})
	return rows, err
}

func (w *word) tableCell(t *tokens) (text string, span int, err error) {
	span = 1
	var lines []string
	err = t.each(func(e xml.StartElement) error {
		switch name := e.Name.Local; {
		case name == "gridSpan":
			if n, err := strconv.Atoi(attr(e, "val")); err == nil {
				span = n
			}
		case name == "p":
			p := &paragraph{word: w}
			if err := p.read(t); err != nil {
				return err
			}
			own, _ := p.lines(false)
			lines = append(lines, own...)
			return w.hold(p.text.Len() + 8)
		case name == "tbl":
			rows, err := w.table(t)
			for _, r := range rows {
				lines = append(lines, strings.Join(r, "; "))
			}
			return err
		case skipped[name]:
			return t.skip()
		}
		return nil
	})
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" })
	return strings.Join(lines, "\n"), span, err
}

// notes reads footnotes, endnotes or comments. format has the id, and for comments the
// author.
func (w *word) notes(part, element, format string) (lines []string, err error) {
	t, err := w.open(part)
	if err != nil {
		return nil, err
	}
	defer t.close()
	err = t.each(func(e xml.StartElement) error {
		if e.Name.Local != element {
			return nil
		}
		kind, id := attr(e, "type"), attr(e, "id")
		own, err := w.blocks(t)
		own = slices.DeleteFunc(own, func(l string) bool { return l == "" })
		if err != nil || len(own) == 0 || kind == "separator" || kind == "continuationSeparator" || kind == "continuationNotice" {
			return err
		}
		text := strings.TrimSpace(strings.Join(own, " "))
		if element == "comment" {
			text = fmt.Sprintf(format, id, clean(firstOf(attr(e, "author"), "no author"))) + text + "]"
		} else {
			text = fmt.Sprintf(format, id) + text
		}
		lines = append(lines, text)
		return nil
	})
	if len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	return lines, err
}

// running reads headers or footers, each text once.
func (w *word) running(kind string) (lines []string, err error) {
	var parts []string
	for _, r := range w.rels {
		if r.kind == kind {
			parts = append(parts, r.target)
		}
	}
	slices.SortFunc(parts, func(a, b string) int { return strings.Compare(path.Base(a), path.Base(b)) })
	for _, part := range slices.Compact(parts) {
		own, err := w.part(part)
		if err != nil {
			return nil, err
		}
		text := oneLine(own)
		line := "[" + kind + ": " + text + "]"
		if text != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	return lines, nil
}
