package office

import (
	"encoding/xml"
	"maps"
	"strings"
)

// fieldSign stands for the field of a master slide that each slide fills, until it does.
var fieldSign = map[string]string{"header": "\uE000", "footer": "\uE001"}

// slidePage is the look of a slide: the parts of its master slide that it shows.
type slidePage struct{ hidden, bare, header, footer bool }

// presentation reads the slides of a presentation, or the pages of a drawing.
func (d *odf) presentation(t *tokens, r Request) (*Document, error) {
	if err := d.readStyles(); err != nil {
		return nil, err
	}
	masters, err := d.masters()
	if err != nil {
		return nil, err
	}
	var slides []Part
	looks, style := map[string]slidePage{}, ""
	texts := map[string]string{} // of headers and footers, by kind and name
	err = t.each(func(e xml.StartElement) error {
		switch {
		case e.Name.Local == "automatic-styles":
			return nil
		case e.Name.Local == "style":
			style = attr(e, "name")
			return nil
		case e.Name.Local == "drawing-page-properties":
			looks[style] = slidePage{
				hidden: attr(e, "visibility") == "hidden", bare: attr(e, "background-objects-visible") == "false",
				header: attr(e, "display-header") == "true", footer: attr(e, "display-footer") == "true",
			}
			return nil
		case e.Name.Local == "header-decl", e.Name.Local == "footer-decl":
			s, err := t.content()
			texts[strings.TrimSuffix(e.Name.Local, "-decl")+attr(e, "name")] = clean(s)
			return err
		case odfSkipped[e.Name.Local]:
			return t.skip()
		case e.Name.Local != "page":
			return nil
		}
		look := looks[attr(e, "style-name")]
		d.speaker, d.title = nil, ""
		d.fields = map[string]string{}
		for _, kind := range []string{"header", "footer"} {
			d.fields[kind] = texts[kind+attr(e, "use-"+kind+"-name")]
		}
		lines, err := d.blocks(t)
		part := Part{Name: d.title, Text: slideText(append(lines, d.comments...), d.speaker)}
		if look.hidden {
			part.Detail = "hidden"
		}
		if m := masters[attr(e, "master-page-name")]; !look.bare {
			part.master = strings.NewReplacer(fieldSign["header"], d.fields["header"], fieldSign["footer"], d.fields["footer"]).Replace(m.text(look))
		}
		slides = append(slides, part)
		d.comments = nil
		return err
	})
	if err != nil {
		return nil, err
	}
	return fillSlides(len(slides), r, func(n int) (Part, error) { return slides[n-1], nil })
}

// master holds the texts of a master slide by their kind: "", "header" or "footer".
type master map[string][]string

// text returns the texts that a slide shows.
func (m master) text(look slidePage) string {
	lines := m[""]
	if look.header {
		lines = append(lines[:len(lines):len(lines)], m["header"]...)
	}
	if look.footer {
		lines = append(lines[:len(lines):len(lines)], m["footer"]...)
	}
	return masterText(lines)
}

// masters reads the texts of the master slides, by their names. Those of placeholders are
// only for who writes a slide.
func (d *odf) masters() (map[string]master, error) {
	out := map[string]master{}
	t, err := d.open("styles.xml")
	if err != nil {
		return nil, err
	}
	defer t.close()
	d.fields = maps.Clone(fieldSign)
	err = t.each(func(e xml.StartElement) error {
		if e.Name.Local != "master-page" {
			return nil
		}
		m := master{}
		out[attr(e, "name")] = m
		return t.each(func(e xml.StartElement) error {
			kind := attr(e, "class")
			switch {
			case e.Name.Local == "notes", e.Name.Local == "forms", kind != "" && fieldSign[kind] == "":
				return t.skip()
			case e.Name.Space != "draw":
				return nil
			}
			lines, err := d.blocks(t)
			m[kind] = append(m[kind], lines...)
			return err
		})
	})
	return out, err
}
