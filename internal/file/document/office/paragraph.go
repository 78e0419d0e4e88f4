package office

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// paragraph is a paragraph that is being read.
type paragraph struct {
	*word
	text    strings.Builder
	heading int
	list    listRef
	boxes   []string // lines of text boxes
	joins   bool     // a tracked change removes its end
	fields  []field  // those that have begun
}

// read reads the paragraph whose start was read last.
func (p *paragraph) read(t *tokens) error {
	return t.each(func(e xml.StartElement) error {
		switch name := e.Name.Local; {
		case name == "pPr":
			return p.properties(t)
		case name == "r":
			return p.run(t)
		case name == "hyperlink":
			from := p.text.Len()
			if err := p.read(t); err != nil {
				return err
			}
			p.link(from, p.rels[prefixed(e, "id")])
		case name == "oMath":
			s, err := p.formula(t)
			p.text.WriteString(s)
			return err
		default:
			return p.leave(t, name)
		}
		return nil
	})
}

// link makes the text from an offset on a link, if it does not show its target.
func (p *paragraph) link(from int, r relation) {
	all := p.text.String()
	text := all[from:]
	if r.target == "" || r.kind != "hyperlink" || strings.HasPrefix(r.target, "#") || text == "" || strings.Contains(text, r.target) {
		return
	}
	p.text.Reset()
	p.text.WriteString(all[:from] + "[" + text + "](" + r.target + ")")
}

func (p *paragraph) properties(t *tokens) error {
	style, outline, level, num := "", "", "", ""
	err := t.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "pStyle":
			style = attr(e, "val")
		case "outlineLvl":
			outline = attr(e, "val")
		case "ilvl":
			level = attr(e, "val")
		case "numId":
			num = attr(e, "val")
		case "rPr":
			return t.each(func(e xml.StartElement) error {
				p.joins = p.joins || e.Name.Local == "del"
				return nil
			})
		case "sectPr", "pPrChange":
			return t.skip()
		}
		return nil
	})
	// What the paragraph says itself precedes its style, in whatever order.
	p.heading = p.headings[style]
	if n, err := strconv.Atoi(outline); err == nil && n < 9 {
		p.heading = n + 1
	}
	p.list = p.numbers.level(p.lists[style], style)
	if n, err := strconv.Atoi(level); err == nil {
		p.list.level = n
	}
	if num != "" {
		p.list.num = num
	}
	return err
}

// run reads a run of text with the same properties.
func (p *paragraph) run(t *tokens) error {
	hidden := false
	return t.each(func(e xml.StartElement) error {
		switch name := e.Name.Local; {
		case name == "rPr":
			return t.each(func(e xml.StartElement) error {
				switch e.Name.Local {
				case "rStyle":
					hidden = hidden || p.hidden[attr(e, "val")]
				case "vanish":
					hidden = isOn(e)
				}
				return nil
			})
		case name == "t":
			s, err := t.content()
			if !hidden {
				p.text.WriteString(s)
			}
			return err
		case name == "tab", name == "ptab":
			p.text.WriteString("\t")
		case name == "br", name == "cr":
			p.text.WriteString("\n")
		case name == "noBreakHyphen":
			p.text.WriteString("-")
		case name == "footnoteReference":
			p.text.WriteString("[^" + attr(e, "id") + "]")
		case name == "endnoteReference":
			p.text.WriteString("[^e" + attr(e, "id") + "]")
		case name == "commentReference":
			p.text.WriteString("[comment " + attr(e, "id") + "]")
		case name == "sym":
			p.text.WriteString(symbol(attr(e, "font"), attr(e, "char")))
		case name == "fldChar":
			p.mark(attr(e, "fldCharType"))
			return p.formField(t)
		case name == "instrText" && len(p.fields) > 0:
			s, err := t.content()
			p.fields[len(p.fields)-1].code += s
			return err
		case name == "OLEObject":
			p.text.WriteString("[embedded object: " + firstOf(attr(e, "ProgID"), "no program is named") + "]")
		case name == "textpath": // WordArt
			p.text.WriteString(attr(e, "string"))
		case name == "relIds":
			_, _, lines, err := (&presentation{archive: p.archive}).shapes(p.rels[prefixed(e, "dm")].target, "")
			p.boxes = append(p.boxes, lines...)
			return err
		case name == "docPr":
			if d := attr(e, "descr"); d != "" {
				p.text.WriteString("[picture: " + d + "]")
			}
		case name == "signatureline": // Office VML, 8.4.2.1
			var who []string
			for _, a := range []string{"suggestedsigner", "suggestedsigner2", "suggestedsigneremail"} {
				if v := attr(e, a); v != "" {
					who = append(who, v)
				}
			}
			p.text.WriteString("[line for a signature: " + firstOf(strings.Join(who, ", "), "nobody is named") + "]")
		case name == "chart" && p.rels[prefixed(e, "id")].kind == "chart":
			lines, err := p.chart(p.rels[prefixed(e, "id")].target)
			p.boxes = append(p.boxes, lines...)
			return err
		case name == "txbxContent":
			lines, err := p.blocks(t)
			p.boxes = append(p.boxes, lines...)
			return err
		case skipped[name]:
			return t.skip()
		}
		return nil
	})
}

// lines returns the paragraph as lines of Markdown. afterItem reports whether it follows
// an item of a list, item whether it is one.
func (p *paragraph) lines(afterItem bool) (out []string, item bool) {
	text := strings.TrimRight(clean(p.text.String()), " \t\n")
	label := p.numbers.label(p.list)
	switch {
	case text == "":
		item = afterItem
	case p.heading > 0:
		out = heading(p.heading, label, text)
	case label != "":
		out, item = listItem(label, p.list.level, text), true
		if !afterItem {
			out = append([]string{""}, out...)
		}
	default:
		out = append([]string{""}, strings.Split(text, "\n")...)
	}
	if len(p.boxes) > 0 {
		out = append(append(out, ""), p.boxes...)
	}
	return out, item
}

// heading returns the lines of a heading. A bullet is no label of a heading.
func heading(level int, label, text string) []string {
	if label = strings.TrimPrefix(label, "-"); label != "" {
		label += " "
	}
	return []string{"", strings.Repeat("#", min(max(level, 1), 6)) + " " + label + strings.ReplaceAll(text, "\n", " "), ""}
}

// listItem returns the lines of an item of a list. One without a label goes on with the
// item before it.
func listItem(label string, level int, text string) []string {
	indent := strings.Repeat("   ", min(max(level, 0), 9))
	if label != "" {
		label += " "
	} else {
		label = "   "
	}
	return strings.Split(indent+label+strings.ReplaceAll(text, "\n", "\n"+indent+"   "), "\n")
}
