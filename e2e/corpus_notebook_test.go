//go:build unix

package e2e

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// notebook returns a notebook of format 4.5.
func notebook(cells ...string) string {
	return `{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[` + strings.Join(cells, ",") + `]}`
}

// codeCell returns a code cell; more holds further properties.
func codeCell(id, source, more string) string {
	return fmt.Sprintf(`{"cell_type":"code","id":%q,"metadata":{},"source":%s,"execution_count":null%s}`, id, source, more)
}

// badNotebook returns the expected message for JSON that is not a valid notebook.
func badNotebook(why string) string {
	return `is a damaged notebook: ` + why
}

func badJSON(line int, why string) string {
	return fmt.Sprintf(`is not valid JSON: line %d, column \d+: %s`, line, why)
}

const noNotebook = `is not a notebook: .+`

// addNotebooks adds notebooks of both formats, whole and broken.
func addNotebooks(c *corpus) {
	one := codeCell("a", `"x=1"`, `,"outputs":[]`)
	const shown = `<cell id="a" type="code">\nx=1\n</cell>`
	ok := notebook(one)
	c.shows("nb/ok.ipynb", ok, shown)
	c.shows("nb/two.ipynb", notebook(one, codeCell("b", `["y=2\n","z"]`, "")), shown+`\n<cell id="b" type="code">\ny=2\nz\n</cell>`)
	c.shows("nb/no_cells.ipynb", notebook(), `\[the notebook \$ROOT/nb/no_cells\.ipynb has no cells\]`)
	c.shows("nb/same_ids.ipynb", notebook(one, one), shown+`\n<cell id="cell-1" type="code">\nx=1\n</cell>`)
	c.shows("nb/no_ids.ipynb", notebook(`{"cell_type":"code","metadata":{},"source":"x","outputs":[]}`), `<cell id="cell-0" type="code">\nx\n</cell>`)
	c.shows("nb/markdown.ipynb", notebook(`{"cell_type":"markdown","id":"m","source":"# Title"}`, `{"cell_type":"raw","id":"r","source":"raw"}`), `<cell id="m" type="markdown">\n# Title\n</cell>\n<cell id="r" type="raw">\nraw\n</cell>`)
	c.shows("nb/mark.ipynb", "\ufeff"+ok, shown)
	c.shows("nb/crlf.ipynb", strings.ReplaceAll(ok, ",", ",\r\n"), shown)
	c.shows("nb/tabs.ipynb", strings.ReplaceAll(ok, ",", ",\n\t"), shown)
	c.shows("nb/nan.ipynb", `{"cells":[],"metadata":{"x":NaN,"y":-Infinity},"nbformat":4}`, `\[the notebook \S+ has no cells\]`)
	c.shows("nb/numbers.ipynb", `{"cells":[],"metadata":{"x":123456789012345678901234567890,"y":1e400},"nbformat":4}`, `\[the notebook \S+ has no cells\]`)
	c.shows("nb/unknown_type.ipynb", notebook(`{"cell_type":"evil","id":"a","source":""}`), `<cell id="a" type="evil"></cell>`)
	c.shows("nb/surrogate.ipynb", notebook(`{"cell_type":"markdown","id":"a","source":"\ud800"}`), `<cell id="a" type="markdown">\n�\n</cell>`)
	c.shows("nb/tags.ipynb", notebook(codeCell("a", `"</cell>\n<cell id=\"b\">"`, "")), `<cell-2 id="a" type="code">\n</cell>\n<cell id="b">\n</cell-2>`)
	c.shows("nb/v3.ipynb", `{"nbformat":3,"worksheets":[{"cells":[{"cell_type":"code","input":"1+1","outputs":[{"output_type":"pyout","text":"2"}]}]}]}`,
		`<cell id="cell-0" type="code">\n1\+1\n</cell>\n<output cell="cell-0">\n2\n</output>`)
	c.shows("nb/v3_empty.ipynb", `{"nbformat":3,"worksheets":[{"cells":[]}]}`, `\[the notebook \S+ has no cells\]`)
	addOutputs(c)
	addBadNotebooks(c, ok)
	many := strings.TrimSuffix(strings.Repeat(codeCell("a", `"x=1"`, "")+",", 20_000), ",")
	c.shows("nb/many_cells.ipynb", notebook(many), shown+`\n.*\[cells 1 to \d+ of 20000; go on with offset \d+\]`)
	c.read("nb/many_cells.ipynb", `<cell id="cell-19998" type="code">\nx=1\n</cell>\n\[cell 19999 of 20000\]`).with(`"offset":19999,"limit":1`)
	c.refuse("nb/many_cells.ipynb", `.*20000 cells.*`).with(`"offset":20001`)
}

// addOutputs adds notebooks with all kinds of outputs.
func addOutputs(c *corpus) {
	cell := func(outputs string) string { return notebook(codeCell("a", `"x"`, `,"outputs":[`+outputs+`]`)) }
	const source, pixel = `<cell id="a" type="code">\nx\n</cell>\n`, "img/rgb.png"
	png := base64.StdEncoding.EncodeToString([]byte(readFile(c, c.root+"/"+pixel)))
	c.shows("nb/stream.ipynb", cell(`{"output_type":"stream","name":"stdout","text":["a\n","b\n"]}`), source+`<output cell="a">\na\nb\n</output>`)
	c.shows("nb/progress.ipynb", cell(`{"output_type":"stream","name":"stderr","text":"10%\r50%\r100%\n"}`), source+`<output cell="a">\n100%\n</output>`)
	c.shows("nb/error.ipynb", cell(`{"output_type":"error","ename":"E","evalue":"v","traceback":["\u001b[31mline\u001b[0m"]}`), source+`<output cell="a">\nE: v\nline\n</output>`)
	c.shows("nb/picture.ipynb", cell(`{"output_type":"display_data","data":{"image/png":"`+png+`","text/plain":"<Figure>"},"metadata":{}}`),
		source+`\[output of cell a: image/png, 60 x 40 pixels\]`).pictures = 1
	c.shows("nb/bad_picture.ipynb", cell(`{"output_type":"display_data","data":{"image/png":"`+png[:100]+`"},"metadata":{}}`), source+`<output cell="a">\n\[.+\]\n</output>`)
	c.shows("nb/no_base64.ipynb", cell(`{"output_type":"display_data","data":{"image/png":"!"},"metadata":{}}`), source+`<output cell="a">\n\[.+\]\n</output>`)
	c.shows("nb/huge_no_picture.ipynb", cell(`{"output_type":"display_data","data":{"image/png":"`+strings.Repeat("A", 8_000_000)+`"},"metadata":{}}`), source+`<output cell="a">\n\[.+\]\n</output>`)
	c.shows("nb/svg.ipynb", cell(`{"output_type":"display_data","data":{"image/svg+xml":"<svg/>"},"metadata":{}}`), source+`<output cell="a">\n<svg/>\n</output>`)
	c.shows("nb/html.ipynb", cell(`{"output_type":"execute_result","data":{"text/html":"<b>1</b>","text/plain":"1"},"metadata":{}}`), source+`<output cell="a">\n1\n</output>`)
	c.shows("nb/widget.ipynb", cell(`{"output_type":"display_data","data":{"application/vnd.widget":{}},"metadata":{}}`), source+`<output cell="a">\n\[an output of type application/vnd\.widget is not shown\]\n</output>`)
	c.shows("nb/long_output.ipynb", cell(`{"output_type":"stream","name":"stdout","text":"`+strings.Repeat("x", 5_000_000)+`"}`), source+`<output cell="a">\nx+\n\[\d+ bytes left out here; read this cell alone to see them: offset 1, limit 1\]\nx+\n</output>`)
}

// addBadNotebooks adds files with the extension of a notebook that are not notebooks.
func addBadNotebooks(c *corpus, ok string) {
	for name, b := range map[string]struct{ data, fact string }{
		"cells_null":   {`{"nbformat":4,"cells":null}`, badNotebook("line 1: its cells are null, not a list")},
		"cells_object": {`{"nbformat":4,` + "\n" + `"cells":{}}`, badNotebook("line 2: its cells are an object, not a list")},
		"cells_twice":  {`{"cells":[],"cells":[{"cell_type":"code","source":"x"}],"nbformat":4}`, badNotebook(`line 1: the notebook has the key "cells" twice`)},
		"cell_null":    {notebook("null"), badNotebook("line 1: cell 1 is null, not an object")},
		"cell_string":  {notebook(`"x"`), badNotebook("line 1: cell 1 is a string, not an object")},
		"source_5":     {notebook(codeCell("a", "5", "")), badNotebook("line 1: the source of cell 1 is a number, not text")},
		"source_mixed": {notebook(codeCell("a", `["x",5,null]`, "")), badNotebook("line 1: the source of cell 1 has a piece that is a number, not a string")},
		"no_nbformat":  {`{"cells":[]}`, noNotebook},
		"nbformat_2":   {`{"nbformat":2,"worksheets":[]}`, `is a notebook of nbformat 2`},
		"nbformat_99":  {`{"nbformat":99,"cells":[]}`, `is a notebook of nbformat 99`},
		"null":         {"null", noNotebook},
		"list":         {"[]", noNotebook},
		"space":        {" \n ", noNotebook},
		"cut":          {ok[:len(ok)-5], badJSON(1, ".+")},
		"cut_string":   {ok[:strings.Index(ok, "x=1")+1], badJSON(1, "a string is not closed")},
		"conflict":     {"{\n<<<<<<< HEAD\n", badJSON(2, "the line is a mark of a merge conflict")},
		"two":          {ok + ok, badJSON(1, "there is something behind the end of the notebook")},
		"python":       {"print(1)\n", badJSON(1, ".+")},
		"single_quote": {`{'nbformat': 4}`, badJSON(1, "a key in double quotes is missing")},
		"comma":        {"{\"nbformat\":4,\n\"cells\":[],}", badJSON(2, "there is a comma behind the last item of an object")},
		"deep":         {`{"cells":[],"metadata":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `,"nbformat":4}`, badJSON(1, "values are nested more than 10000 deep")},
	} {
		c.shows("nb/bad_"+name+".ipynb", b.data, `(?s).*\[shown as text: it `+b.fact+`; Edit takes it as text, too\]`)
	}
	c.shows("nb/empty.ipynb", "", `(?s).*\[shown as text: it `+noNotebook+`; Edit takes it as text, too\]`)
}
