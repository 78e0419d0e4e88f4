package office

import (
	"encoding/xml"
	"io"
	"strconv"
)

// odfStyles is what an OpenDocument text says of headings and lists.
type odfStyles struct {
	headings map[string]int        // level of a heading, by paragraph style
	parents  map[string]string     // of paragraph styles
	lists    map[string]*listStyle // by name; "" is the numbering of headings
}

// readStyles reads the styles of a text.
func (d *odf) readStyles() error {
	d.styles = odfStyles{map[string]int{"Title": 1}, map[string]string{}, map[string]*listStyle{"": {}}}
	for n := range maxLevels {
		d.styles.headings["Heading_20_"+strconv.Itoa(n+1)] = n + 1
	}
	for _, part := range []string{"styles.xml", "content.xml"} {
		if err := d.readStylesOf(part); err != nil {
			return err
		}
	}
	return nil
}

func (d *odf) readStylesOf(part string) error {
	t, err := d.open(part)
	if err != nil {
		return err
	}
	defer t.close()
	var list *listStyle
	err = t.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "style":
			name := attr(e, "name")
			if parent := attr(e, "parent-style-name"); parent != "" {
				d.styles.parents[name] = parent
			}
			if level, err := strconv.Atoi(attr(e, "default-outline-level")); err == nil && level > 0 {
				d.styles.headings[name] = level
			}
		case "list-style":
			list = &listStyle{}
			d.styles.lists[attr(e, "name")] = list
		case "outline-style":
			list = d.styles.lists[""]
		case "list-level-style-number", "outline-level-style", "list-level-style-bullet", "list-level-style-image":
			if list != nil {
				list.readODFLevel(e)
			}
		case "body":
			return io.EOF
		}
		return nil
	})
	if err == io.EOF {
		err = nil
	}
	return err
}

// readODFLevel reads the definition of a level.
func (l *listStyle) readODFLevel(e xml.StartElement) {
	level, err := strconv.Atoi(attr(e, "level"))
	if err != nil || level < 1 || level > maxLevels {
		return
	}
	at := &l.levels[level-1]
	*at = listLevel{format: "bullet", text: "-"}
	if name := e.Name.Local; name == "list-level-style-bullet" || name == "list-level-style-image" {
		return
	}
	at.format = map[string]string{"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman", "": "none",
		"一, 二, 三, ...": "chineseCounting", "①, ②, ③, ...": "decimalEnclosedCircle", "１, ２, ３, ...": "decimalFullWidth"}[attr(e, "num-format")]
	if at.format == "" {
		at.format = "decimal"
	}
	if at.start, err = strconv.Atoi(attr(e, "start-value")); err != nil {
		at.start = 1
	}
	shown, err := strconv.Atoi(attr(e, "display-levels"))
	if err != nil {
		shown = 1
	}
	at.text = ""
	for n := max(level-shown, 0); at.format != "none" && n < level; n++ {
		if at.text != "" {
			at.text += "."
		}
		at.text += "%" + strconv.Itoa(n+1)
	}
	at.text = attr(e, "num-prefix") + at.text + attr(e, "num-suffix")
}

// heading returns the level of the headings of a paragraph style, or 0.
func (s *odfStyles) heading(style string) int {
	for range 10 {
		if level := s.headings[style]; level > 0 {
			return level
		}
		style = s.parents[style]
	}
	return 0
}
