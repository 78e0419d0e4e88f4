package office

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// list reads the items of the list whose start is e. Its style is that of the list it is
// in, unless it has its own.
func (d *odf) list(t *tokens, e xml.StartElement, style *listStyle, level int) (lines []string, err error) {
	if own := d.styles.lists[attr(e, "style-name")]; own != nil && attr(e, "style-name") != "" && own != style {
		if style != nil {
			own.used = [maxLevels]bool{} // a list of its own in an item of another
		}
		style = own
	}
	if style == nil {
		style = &listStyle{}
		for n := range style.levels {
			style.levels[n] = listLevel{format: "bullet", text: "-"}
		}
	}
	switch {
	case level > 0 || attr(e, "continue-numbering") == "true" || attr(e, "continue-list") != "":
	case d.fields != nil && d.listed != nil && d.listed.levels == style.levels:
		style.numbers, style.used = d.listed.numbers, d.listed.used // lists of one item each
	default:
		style.used = [maxLevels]bool{}
	}
	if level == 0 {
		d.listed = style
	}
	err = t.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "list-item", "list-header":
			items, err := d.item(t, e, style, level)
			lines = append(lines, items...)
			return err
		}
		return nil
	})
	return lines, err
}

// item reads the item of a list whose start is e.
func (d *odf) item(t *tokens, e xml.StartElement, style *listStyle, level int) (lines []string, err error) {
	counted, first := e.Name.Local == "list-header", true
	if start, err := strconv.Atoi(attr(e, "start-value")); err == nil && level < maxLevels {
		style.set(level, start-1)
	}
	err = t.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "list":
			items, err := d.list(t, e, style, level+1)
			lines = append(lines, items...)
			return err
		case "p", "h":
			label := ""
			if !counted {
				label, counted = style.label(level), true
			}
			text, boxes, err := d.inline(t)
			outline, _ := strconv.Atoi(attr(e, "outline-level"))
			outline = max(outline, d.styles.heading(attr(e, "style-name")))
			switch {
			case text == "":
			case e.Name.Local == "h" || outline > 0:
				lines = append(lines, heading(outline, label, text)...)
			case label == "" && first && level == 0:
				lines = append(lines, strings.Split(text, "\n")...)
			default:
				lines = append(lines, listItem(label, level, text)...)
			}
			first = false
			lines = append(lines, boxes...)
			return err
		case "table":
			rows, err := d.table(t)
			lines = append(lines, table(rows)...)
			return err
		}
		return nil
	})
	return lines, err
}
