package read

import (
	"fmt"
	"html"
	"strconv"
	"strings"

	"mcp-toolset/internal/file/notebook"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// NotebookCell describes a cell of a notebook.
type NotebookCell struct {
	ID      string   `json:"id" jsonschema:"Id of the cell; cell-N, counted from 0, if it has none of its own"`
	Type    string   `json:"type" jsonschema:"code, markdown, raw, or another type of the notebook"`
	Source  string   `json:"source" jsonschema:"The text of the cell"`
	Outputs []string `json:"outputs" jsonschema:"Its outputs as text; a picture is described in brackets"`
}

// cellsOf returns the cells for programs.
func cellsOf(v *notebook.View) []NotebookCell {
	cells := make([]NotebookCell, 0, len(v.Cells))
	for _, c := range v.Cells {
		outputs := make([]string, 0, len(c.Outputs))
		for _, o := range c.Outputs {
			if o.Picture != nil {
				o.Text = "[" + describe(o.Picture, 0) + "]"
			}
			outputs = append(outputs, o.Text)
		}
		cells = append(cells, NotebookCell{ID: c.ID, Type: c.Type, Source: c.Source, Outputs: outputs})
	}
	return cells
}

// showNotebook formats a notebook for a model. path must be safe to show. Sources and
// outputs are enclosed in tags that none of them contains, one line break away. Text
// outside of tags is our own.
func showNotebook(path string, v *notebook.View) []tools.Content {
	w := notebookWriter{view: v, mark: unusedMark(v)}
	for _, c := range v.Cells {
		w.cell(c)
	}
	switch {
	case v.Total == 0:
		w.text.WriteString("[the notebook " + path + " has no cells]\n")
	case v.Next > 0:
		fmt.Fprintf(&w.text, "[%s of %d; go on with offset %d]\n", cellRange(v), v.Total, v.Next)
	case len(v.Cells) < v.Total:
		fmt.Fprintf(&w.text, "[%s of %d]\n", cellRange(v), v.Total)
	}
	w.flush()
	return w.out
}

// cellRange returns the numbers of the cells shown.
func cellRange(v *notebook.View) string {
	if len(v.Cells) == 1 {
		return fmt.Sprintf("cell %d", v.First)
	}
	return fmt.Sprintf("cells %d to %d", v.First, v.First+len(v.Cells)-1)
}

// notebookWriter collects the content for a model: text, separated by pictures.
type notebookWriter struct {
	view *notebook.View
	mark string // suffix of all tag names
	text strings.Builder
	out  []tools.Content
}

func (w *notebookWriter) cell(c notebook.Shown) {
	attributes := ` type="` + attribute(c.Type) + `"`
	if language := w.view.Language; c.Type == "code" && language != "" && !strings.EqualFold(language, "python") {
		attributes += ` language="` + attribute(language) + `"`
	}
	if c.Count > 0 {
		attributes += ` run="` + strconv.Itoa(c.Count) + `"`
	}
	w.tag("cell", `id="`+attribute(c.ID)+`"`+attributes, c.Source)
	for _, o := range c.Outputs {
		if o.Picture == nil {
			w.tag("output", `cell="`+attribute(c.ID)+`"`, strings.TrimRight(o.Text, "\n"))
			continue
		}
		fmt.Fprintf(&w.text, "[output of cell %s: %s]\n", attribute(c.ID), describe(o.Picture, 0))
		w.flush()
		w.out = append(w.out, shownPicture(o.Picture))
	}
}

// tag writes text between tags. An empty text has no line of its own.
func (w *notebookWriter) tag(name, attributes, text string) {
	name += w.mark
	w.text.WriteString("<" + name + " " + attributes + ">")
	if text != "" {
		w.text.WriteString("\n" + text + "\n")
	}
	w.text.WriteString("</" + name + ">\n")
}

// flush ends a block of text.
func (w *notebookWriter) flush() {
	if w.text.Len() > 0 {
		w.out = append(w.out, tools.Text{Text: strings.TrimSuffix(w.text.String(), "\n")})
		w.text = strings.Builder{}
	}
}

// attribute returns s as the value of an attribute.
func attribute(s string) string { return html.EscapeString(plain.Line(s)) }

// unusedMark returns a suffix for tag names, so that no text shown contains such a tag: ""
// for nearly all notebooks, otherwise -2, -3 and so on.
func unusedMark(v *notebook.View) string {
	used := map[string]bool{}
	for _, c := range v.Cells {
		noteMarks(used, c.Source)
		for _, o := range c.Outputs {
			noteMarks(used, o.Text)
		}
	}
	if len(used) == 0 {
		return ""
	}
	n := 2
	for used["-"+strconv.Itoa(n)] {
		n++
	}
	return "-" + strconv.Itoa(n)
}

// noteMarks records the suffixes of tag names in text, including the empty one.
func noteMarks(used map[string]bool, text string) {
	const longest = 10 // in bytes: a hyphen, and more digits than a suffix can need
	for _, tag := range []string{"<cell", "</cell", "<output", "</output"} {
		for _, rest, found := strings.Cut(text, tag); found; _, rest, found = strings.Cut(rest, tag) {
			n := 0
			if strings.HasPrefix(rest, "-") {
				n++
			}
			for n > 0 && n < min(len(rest), longest) && rest[n] >= '0' && rest[n] <= '9' {
				n++
			}
			used[rest[:n]] = true
		}
	}
}
