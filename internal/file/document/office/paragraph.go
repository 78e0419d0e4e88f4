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
		case name == "t": // of a formula
			s, err := t.content()
			p.text.WriteString(s)
			return err
		case skipped[name]:
			return t.skip()
		}
		return nil
	})
}

// link makes the text from an offset on a link, if it does not show its target.
func (p *paragraph) link(from int, r relation) {
	all := p.text.String()
	text := all[from:]
	if r.target == "" || r.kind != "hyperlink" || text == "" || strings.Contains(text, r.target) {
		return
	}
	p.text.Reset()
	p.text.WriteString(all[:from] + "[" + text + "](" + r.target + ")")
}

func (p *paragraph) properties(t *tokens) error {
	return t.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "pStyle":
			p.heading = p.headings[attr(e, "val")]
			p.list = p.lists[attr(e, "val")]
		case "outlineLvl":
			if n, err := strconv.Atoi(attr(e, "val")); err == nil && n < 9 {
				p.heading = n + 1
			}
		case "ilvl":
			p.list.level, _ = strconv.Atoi(attr(e, "val"))
		case "numId":
			p.list.num = attr(e, "val")
		case "rPr", "sectPr", "pPrChange":
			return t.skip()
		}
		return nil
	})
}

// run reads a run of text with the same properties.
func (p *paragraph) run(t *tokens) error {
	hidden := false
	return t.each(func(e xml.StartElement) error {
		switch name := e.Name.Local; {
		case name == "rPr":
			return t.each(func(e xml.StartElement) error {
				hidden = hidden || e.Name.Local == "vanish" && (attr(e, "val") == "" || isTrue(attr(e, "val")))
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
		case name == "docPr":
			if d := attr(e, "descr"); d != "" {
				p.text.WriteString("[picture: " + d + "]")
			}
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

// lines returns the paragraph as lines of Markdown, to be put after others.
func (p *paragraph) lines(after []string) []string {
	text := strings.TrimRight(clean(p.text.String()), " \t\n")
	inList := len(after) > 0 && isItem(after[len(after)-1])
	var out []string
	switch {
	case text == "":
	case p.heading > 0:
		out = []string{"", strings.Repeat("#", min(p.heading, 6)) + " " + strings.ReplaceAll(text, "\n", " "), ""}
	case p.list.num != "" && p.list.num != "0":
		mark := "- "
		if p.ordered[p.list.num+"/"+strconv.Itoa(p.list.level)] {
			mark = "1. "
		}
		indent := strings.Repeat("   ", min(max(p.list.level, 0), 9))
		out = []string{indent + mark + strings.ReplaceAll(text, "\n", "\n"+indent+"   ")}
		if !inList {
			out = append([]string{""}, out...)
		}
	default:
		out = append([]string{""}, strings.Split(text, "\n")...)
	}
	if len(p.boxes) > 0 {
		out = append(append(out, ""), p.boxes...)
	}
	return out
}

func isItem(line string) bool {
	line = strings.TrimLeft(line, " ")
	return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "1. ")
}
