package office

import (
	"encoding/xml"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// presentation is an open .pptx file.
type presentation struct {
	*archive
	rels    map[string]relation // of the part that is read
	authors map[string]string   // of comments, by id
	bare    bool                // the part that was read last shows nothing of its master
	masters map[string]string   // texts of layouts and their masters, by part
}

func readPresentation(a *archive, main string, r Request) (*Document, error) {
	rels, err := a.relations(main)
	if err != nil {
		return nil, err
	}
	t, err := a.open(main)
	if err != nil {
		return nil, err
	}
	defer t.close()
	var slides []string
	err = t.each(func(e xml.StartElement) error {
		if e.Name.Local == "sldId" {
			slides = append(slides, rels[prefixed(e, "id")].target)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	p := &presentation{archive: a, masters: map[string]string{}}
	if p.authors, err = a.names(firstOf(related(rels, "commentAuthors"), related(rels, "authors"))); err != nil {
		return nil, err
	}
	return fillSlides(len(slides), r, func(n int) (Part, error) { return p.slide(slides[n-1]) })
}

// fillSlides reads slides while the budget lasts.
func fillSlides(total int, r Request, read func(n int) (Part, error)) (*Document, error) {
	first, last, err := r.span(Slide, total)
	if err != nil {
		return nil, err
	}
	doc := &Document{Kind: Slide, Total: total}
	used, shown := 0, "" // the text of the master slide that was shown last
	for n := first; n <= last; n++ {
		part, err := read(n)
		if err != nil {
			return nil, err
		}
		if part.master != shown {
			part.Text = strings.TrimSpace(part.Text + "\n\n[from the master slide, from here on: " + firstOf(part.master, "nothing") + "]")
		}
		shown = part.master
		if used += len(part.Text) + len(part.Name); used > r.Budget && n > first {
			doc.Next = n
			break
		}
		if len(part.Text) > r.Budget {
			part.Text = strings.ToValidUTF8(part.Text[:r.Budget], "")
			part.Notes = append(part.Notes, "the rest of the slide does not fit")
		}
		part.Number = n
		doc.Parts = append(doc.Parts, part)
	}
	return doc, nil
}

// slide reads a slide with its notes.
func (p *presentation) slide(name string) (Part, error) {
	var part Part
	title, hidden, lines, err := p.shapes(name, "")
	if err != nil {
		return part, err
	}
	part.Name = title
	if hidden {
		part.Detail = "hidden"
	}
	bare := p.bare
	rels, err := p.relations(name)
	if err != nil {
		return part, err
	}
	if !bare {
		if part.master, err = p.master(related(rels, "slideLayout")); err != nil {
			return part, err
		}
	}
	var notes []string
	for _, id := range slices.Sorted(maps.Keys(rels)) {
		switch r := rels[id]; r.kind {
		case "diagramData":
			_, _, more, err := p.shapes(r.target, "")
			if err != nil {
				return part, err
			}
			lines = append(lines, more...)
		case "comments":
			more, err := p.comments(r.target)
			if err != nil {
				return part, err
			}
			lines = append(append(lines, ""), more...)
		case "chart":
			more, err := p.chart(r.target)
			if err != nil {
				return part, err
			}
			lines = append(lines, more...)
		case "notesSlide":
			if _, _, notes, err = p.shapes(r.target, "notes"); err != nil {
				return part, err
			}
		}
	}
	part.Text = slideText(lines, notes)
	return part, nil
}

// master returns the texts that a layout and its master slide add to a slide.
func (p *presentation) master(layout string) (string, error) {
	text, known := p.masters[layout]
	if known || layout == "" {
		return text, nil
	}
	_, _, lines, err := p.shapes(layout, "master")
	if err == nil && !p.bare {
		_, _, more, failed := p.shapes(related(p.rels, "slideMaster"), "master")
		lines, err = append(lines, more...), failed
	}
	p.masters[layout] = masterText(lines)
	return p.masters[layout], err
}

// masterText joins the texts of a master slide, up to a limit, without numbers of slides.
func masterText(lines []string) string {
	const most = 400 // bytes; footers are shorter, and some masters have a manual beside the slide
	s := strings.Join(strings.Fields(strings.ReplaceAll(oneLine(lines), "‹#›", "")), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + " ..."
	}
	return s
}

// slideText returns the text of a slide, followed by its notes.
func slideText(lines, notes []string) string {
	text := strings.Join(tidy(lines), "\n")
	if notes = tidy(notes); len(notes) > 0 {
		text += "\n\nNotes:\n" + strings.Join(notes, "\n")
	}
	return strings.TrimSpace(text)
}

// shapes reads the texts of a slide. only is "notes" to leave out the picture, date and
// number of a page of notes, or "master" for texts that a slide shows of its master slide.
func (p *presentation) shapes(name, only string) (title string, hidden bool, lines []string, err error) {
	t, err := p.open(name)
	if err != nil {
		return "", false, nil, err
	}
	defer t.close()
	if p.rels, err = p.relations(name); err != nil {
		return "", false, nil, err
	}
	picture := false
	place := "" // the placeholder that the present shape fills
	unseen := 0 // depth of a shape that is hidden
	err = t.each(func(e xml.StartElement) error {
		if unseen > 0 && t.depth > unseen {
			return nil
		}
		unseen = 0
		switch e.Name.Local {
		case "cNvPr":
			if isTrue(attr(e, "hidden")) {
				unseen = max(t.depth-2, 1) // p:sp, p:nvSpPr, p:cNvPr
			} else if d := attr(e, "descr"); picture && d != "" && only == "" {
				lines = append(lines, "", "[picture: "+strings.Join(strings.Fields(clean(d)), " ")+"]")
			}
		case "sld", "sldLayout":
			hidden = attr(e, "show") == "0" || attr(e, "show") == "false"
			p.bare = attr(e, "showMasterSp") == "0" || attr(e, "showMasterSp") == "false"
		case "sp", "pic", "graphicFrame", "cxnSp":
			place, picture = "", e.Name.Local == "pic"
		case "ph":
			place = firstOf(attr(e, "type"), "body")
		case "txBody", "t": // t: of a diagram
			paragraphs, err := p.paragraphs(t, e.Name.Local == "t", place == "body")
			switch {
			case err != nil || only == "notes" && place != "body" || only == "master" && place != "", place == "sldNum", place == "dt":
			case title == "" && (place == "title" || place == "ctrTitle"):
				title = clean(strings.Join(strings.Fields(strings.Join(paragraphs, " ")), " "))
			default:
				lines = append(append(lines, ""), paragraphs...)
			}
			return err
		case "tbl":
			rows, err := p.table(t)
			lines = append(append(append(lines, ""), table(rows)...), "")
			return err
		case "oleObj":
			if only == "master" {
				return t.skip()
			}
			lines = append(lines, "", "[embedded object: "+clean(strings.TrimSpace(attr(e, "name")+" "+attr(e, "progId")))+"]")
		case "Fallback":
			return t.skip()
		}
		return nil
	})
	return title, hidden, lines, err
}

// paragraphs reads the paragraphs of the element whose start was read last. items makes
// them items of a list.
func (p *presentation) paragraphs(t *tokens, one, items bool) (lines []string, err error) {
	var b strings.Builder
	level, link, label := 0, "", ""
	var counts [10]int // of the numbered paragraphs of each level
	flush := func() {
		text := strings.TrimSpace(clean(b.String()))
		b.Reset()
		if text == "" {
			return
		}
		indent := strings.Repeat("  ", min(max(level, 0), 9))
		if items || level > 0 || label != "" {
			text = indent + firstOf(label, "-") + " " + strings.ReplaceAll(text, "\n", "\n"+indent+"  ")
		}
		lines = append(lines, strings.Split(text, "\n")...)
	}
	err = t.walk(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "p":
			flush()
			level, label = 0, ""
		case "pPr":
			level, _ = strconv.Atoi(attr(e, "lvl"))
		case "buAutoNum":
			if level >= 0 && level < len(counts) {
				if start, err := strconv.Atoi(attr(e, "startAt")); err == nil && counts[level] == 0 {
					counts[level] = start - 1
				}
				counts[level]++
				clear(counts[level+1:])
				label = strconv.Itoa(counts[level]) + "."
			}
		case "r", "fld":
			link = ""
		case "hlinkClick":
			if r := p.rels[prefixed(e, "id")]; r.kind == "hyperlink" && !strings.HasPrefix(r.target, "#") {
				link = r.target
			}
		case "oMath":
			s, err := p.formula(t)
			b.WriteString(s)
			return err
		case "br":
			b.WriteString("\n")
		case "tab":
			b.WriteString("\t")
		case "t":
			s, err := t.content()
			if link != "" && s != "" && !strings.Contains(s, link) {
				s = "[" + s + "](" + link + ")"
			}
			b.WriteString(s)
			if err == nil {
				err = p.hold(len(s) + 8)
			}
			return err
		}
		return nil
	}, func(s string) error {
		if one {
			b.WriteString(s)
		}
		return nil
	})
	flush()
	return lines, err
}

func (p *presentation) table(t *tokens) (rows [][]string, err error) {
	err = t.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "tr":
			rows = append(rows, nil)
		case "tc":
			lines, err := p.paragraphs(t, false, false)
			if n := len(rows) - 1; n >= 0 {
				rows[n] = append(rows[n], strings.Join(lines, "\n"))
			}
			return err
		}
		return nil
	})
	return rows, err
}
