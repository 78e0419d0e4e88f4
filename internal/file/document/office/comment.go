package office

import (
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// names reads a list of people by their ids.
func (a *archive) names(part string) (map[string]string, error) {
	t, err := a.open(part)
	if err != nil {
		return nil, err
	}
	defer t.close()
	out := map[string]string{}
	err = t.each(func(e xml.StartElement) error {
		if name := firstOf(attr(e, "name"), attr(e, "displayName")); name != "" {
			out[attr(e, "id")] = name
		}
		return a.hold(32)
	})
	return out, err
}

// comments reads the comments of a slide.
func (p *presentation) comments(part string) (lines []string, err error) {
	t, err := p.open(part)
	if err != nil {
		return nil, err
	}
	defer t.close()
	err = t.each(func(e xml.StartElement) error {
		if e.Name.Local != "cm" {
			return nil
		}
		own, err := p.comment(t, e)
		lines = append(lines, own...)
		return err
	})
	return lines, err
}

// comment reads the comment whose start is e, with the replies in it.
func (p *presentation) comment(t *tokens, e xml.StartElement) (lines []string, err error) {
	author, text := p.authors[attr(e, "authorId")], ""
	err = t.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "reply":
			own, err := p.comment(t, e)
			lines = append(lines, own...)
			return err
		case "text", "t":
			s, err := t.content()
			text += s
			if err == nil {
				err = p.hold(len(s))
			}
			return err
		}
		return nil
	})
	return append([]string{"[" + commentText("", author, text) + "]"}, lines...), err
}

// commentText words a comment. place may be empty.
func commentText(place, author, text string) string {
	if place != "" {
		place = " on " + place
	}
	return "comment" + clean(place) + " by " + clean(firstOf(author, "no author")) + ": " + strings.Join(strings.Fields(clean(text)), " ")
}

// mostNotes is the limit of comments, links and text boxes in the notes of a sheet.
const mostNotes = 200

// beside returns what a sheet has beside its cells: links, by the place of the cell,
// comments, and the texts of drawings and titles of charts on it.
func (w *workbook) beside(part string, links [][2]string) (notes []string, err error) {
	rels, err := w.relations(part)
	if err != nil {
		return nil, err
	}
	for _, l := range links {
		if r := rels[l[1]]; r.kind == "hyperlink" {
			notes = append(notes, clean("link of "+l[0]+": "+r.target))
		}
	}
	threads := related(rels, "threadedComment") != ""
	for _, id := range slices.Sorted(maps.Keys(rels)) {
		var own []string
		switch r := rels[id]; {
		case r.kind == "threadedComment", r.kind == "comments" && !threads:
			own, err = w.comments(r.target)
		case r.kind == "drawing":
			own, err = w.drawing(r.target)
		}
		if err != nil {
			return nil, err
		}
		notes = append(notes, own...)
	}
	if n := len(notes); n > mostNotes {
		notes = append(notes[:mostNotes], fmt.Sprintf("%d more comments, links and drawings", n-mostNotes))
	}
	return notes, nil
}

// comments reads the comments of a sheet.
func (w *workbook) comments(part string) (notes []string, err error) {
	t, err := w.open(part)
	if err != nil {
		return nil, err
	}
	defer t.close()
	var authors []string
	err = t.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "author":
			s, err := t.content()
			authors = append(authors, s)
			return err
		case "comment", "threadedComment":
			author := w.people[attr(e, "personId")]
			if n, err := strconv.Atoi(attr(e, "authorId")); err == nil && n >= 0 && n < len(authors) {
				author = authors[n]
			}
			s, err := commentBody(t)
			notes = append(notes, commentText(attr(e, "ref"), author, s))
			if err == nil {
				err = w.hold(len(s) + 16)
			}
			return err
		}
		return nil
	})
	return notes, err
}

// commentBody returns the text of a comment: t elements, or the text element of a thread.
func commentBody(t *tokens) (string, error) {
	var b strings.Builder
	err := t.walk(func(e xml.StartElement) error {
		if e.Name.Local == "rPh" || e.Name.Local == "mentions" {
			return t.skip()
		}
		return nil
	}, func(s string) error {
		b.WriteString(s)
		return nil
	})
	return b.String(), err
}

// drawing returns the texts of the shapes on a sheet, and the titles of its charts.
func (w *workbook) drawing(part string) (notes []string, err error) {
	p := &presentation{archive: w.archive}
	_, _, lines, err := p.shapes(part, "")
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		if l != "" {
			notes = append(notes, "on the sheet: "+l)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.rels)) {
		if r := p.rels[id]; r.kind == "chart" {
			lines, err := w.chart(r.target)
			if err != nil {
				return nil, err
			}
			notes = append(notes, "on the sheet: "+strings.Trim(lines[1], "[]"))
		}
	}
	return notes, nil
}
