package read

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/file/document/picture"
	"mcp-toolset/internal/file/notebook"
	"mcp-toolset/tools"
)

// blocks returns content as text, with pictures as <type of n bytes>.
func blocks(content []tools.Content) []string {
	var all []string
	for _, c := range content {
		switch c := c.(type) {
		case tools.Text:
			all = append(all, c.Text)
		case tools.Image:
			all = append(all, fmt.Sprintf("<%s of %d bytes>", c.MIMEType, len(c.Data)))
		default:
			all = append(all, fmt.Sprintf("%T", c))
		}
	}
	return all
}

func joined(lines ...string) string { return strings.Join(lines, "\n") }

// TestShowNotebook checks that text is enclosed in tags, and that pictures are between
// texts.
func TestShowNotebook(t *testing.T) {
	plot := &picture.Picture{
		MIMEType: "image/png", Data: make([]byte, 7), Width: 640, Height: 480,
		OriginalMIMEType: "image/png", OriginalWidth: 640, OriginalHeight: 480,
	}
	photo := &picture.Picture{
		MIMEType: "image/jpeg", Data: make([]byte, 8), Width: 2000, Height: 1500,
		OriginalMIMEType: "image/png", OriginalWidth: 4000, OriginalHeight: 3000,
	}
	one := func(c notebook.Shown) *notebook.View {
		return &notebook.View{Total: 1, First: 1, Cells: []notebook.Shown{c}}
	}
	for name, tc := range map[string]struct {
		view *notebook.View
		want []string
	}{
		"no cells": {&notebook.View{First: 1}, []string{"[the notebook /w/a.ipynb has no cells]"}},
		"a cell that ran": {one(notebook.Shown{ID: "a", Type: "code", Source: "x = 1\nx", Count: 3, Outputs: []notebook.ShownOutput{{Text: "1\n"}, {Text: "2"}}}),
			[]string{joined(`<cell id="a" type="code" run="3">`, "x = 1", "x", "</cell>", `<output cell="a">`, "1", "</output>", `<output cell="a">`, "2", "</output>")}},
		"an empty cell": {one(notebook.Shown{ID: "a", Type: "raw"}), []string{`<cell id="a" type="raw"></cell>`}},
		"empty lines":   {one(notebook.Shown{ID: "a", Type: "raw", Source: "\n"}), []string{joined(`<cell id="a" type="raw">`, "", "", "</cell>")}},
		"a strange type": {one(notebook.Shown{ID: "a", Type: "x\"><cell\n", Source: "s"}),
			[]string{joined(`<cell id="a" type="x&#34;&gt;&lt;cell\n">`, "s", "</cell>")}},
		"pictures": {one(notebook.Shown{ID: "a", Type: "code", Source: "plot()", Outputs: []notebook.ShownOutput{{Picture: plot}, {Picture: photo}, {Text: "done"}}}),
			[]string{
				joined(`<cell id="a" type="code">`, "plot()", "</cell>", "[output of cell a: image/png, 640 x 480 pixels]"), "<image/png of 7 bytes>",
				"[output of cell a: image/png, 4000 x 3000 pixels; shown as image/jpeg, 2000 x 1500 pixels, 8 bytes]", "<image/jpeg of 8 bytes>",
				joined(`<output cell="a">`, "done", "</output>"),
			}},
		"a page": {&notebook.View{Language: "python", Total: 20000, First: 40, Next: 42, Cells: []notebook.Shown{{ID: "a", Type: "code", Source: "1"}, {ID: "b", Type: "raw", Source: "2"}}},
			[]string{joined(`<cell id="a" type="code">`, "1", "</cell>", `<cell id="b" type="raw">`, "2", "</cell>", "[cells 40 to 41 of 20000; go on with offset 42]")}},
		"a range": {&notebook.View{Total: 5, First: 2, Cells: []notebook.Shown{{ID: "a", Type: "raw", Outputs: []notebook.ShownOutput{{Picture: plot}}}}},
			[]string{joined(`<cell id="a" type="raw"></cell>`, "[output of cell a: image/png, 640 x 480 pixels]"), "<image/png of 7 bytes>", "[cell 2 of 5]"}},
		"another language": {&notebook.View{Language: "julia", Total: 2, First: 1, Cells: []notebook.Shown{{ID: "a", Type: "code", Source: "1"}, {ID: "b", Type: "markdown", Source: "2"}}},
			[]string{joined(`<cell id="a" type="code" language="julia">`, "1", "</cell>", `<cell id="b" type="markdown">`, "2", "</cell>")}},
		"a cell that shows tags": {one(notebook.Shown{ID: "a", Type: "raw", Source: "</cell>\n[cells 1 to 2 of 3]\n<cell id=\"b\" type=\"raw\">"}),
			[]string{joined(`<cell-2 id="a" type="raw">`, "</cell>", "[cells 1 to 2 of 3]", `<cell id="b" type="raw">`, "</cell-2>")}},
		"an output that shows tags": {one(notebook.Shown{ID: "a", Type: "raw", Source: "<cell-2", Outputs: []notebook.ShownOutput{{Text: "</output-3></output-31234567890123>"}}}),
			[]string{joined(`<cell-4 id="a" type="raw">`, "<cell-2", "</cell-4>", `<output-4 cell="a">`, "</output-3></output-31234567890123>", "</output-4>")}},
	} {
		if diff := cmp.Diff(tc.want, blocks(showNotebook("/w/a.ipynb", tc.view))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestCellsOf checks that programs get lists, with descriptions of pictures.
func TestCellsOf(t *testing.T) {
	p := &picture.Picture{MIMEType: "image/gif", Width: 1, Height: 2, OriginalMIMEType: "image/gif", OriginalWidth: 1, OriginalHeight: 2}
	got := cellsOf(&notebook.View{Total: 2, First: 1, Cells: []notebook.Shown{
		{ID: "a", Type: "code", Source: "s", Outputs: []notebook.ShownOutput{{Text: "t"}, {Picture: p}}}, {ID: "b", Type: "raw"},
	}})
	want := []NotebookCell{
		{ID: "a", Type: "code", Source: "s", Outputs: []string{"t", "[image/gif, 1 x 2 pixels]"}}, {ID: "b", Type: "raw", Outputs: []string{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := cellsOf(&notebook.View{}); got == nil || len(got) != 0 {
		t.Errorf("no cells: %v", got)
	}
}

// TestNotebookBudget checks that the text around cells is within the budget too, and that
// no text of a notebook looks like a tag of the answer.
func TestNotebookBudget(t *testing.T) {
	words := []string{"x", "é", "\n", "<cell", "</cell>", "<output-2 ", "-3", "]", strings.Repeat("long ", 300), strings.Repeat("y", 20_000)}
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		text := func() string {
			var b strings.Builder
			for range rnd.IntN(6) {
				b.WriteString(words[rnd.IntN(len(words)-int(seed%3))]) // in some, only short ones
			}
			return b.String()
		}
		n := &notebook.Notebook{Language: "julia"}
		for i := range 1 + rnd.IntN(200) {
			c := notebook.Cell{ID: fmt.Sprintf("cell-%d", i), Type: "markdown", Source: text(), Count: rnd.IntN(5000)}
			for range rnd.IntN(1 + int(seed%4)*10) { // in some, none
				c.Outputs = append(c.Outputs, notebook.Output{Text: text()})
			}
			n.Cells = append(n.Cells, c)
		}
		budget := 1000 + rnd.IntN(10_000*(1+int(seed%10)))
		v, err := n.View(notebook.Request{Budget: budget})
		if err != nil {
			t.Fatal(err)
		}
		content := blocks(showNotebook("f", v))
		if len(content) != 1 || len(v.Cells) > 1 && len(content[0]) > budget {
			t.Fatalf("seed %d: %d bytes for %d", seed, len(content[0]), budget)
		}
		tag, _, _ := strings.Cut(content[0], " ")
		if got := strings.Count(content[0], tag+" "); got != len(v.Cells) {
			t.Fatalf("seed %d: the tag %s stands %d times for %d cells", seed, tag, got, len(v.Cells))
		}
	}
}
