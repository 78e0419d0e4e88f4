package notebook

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/text/fault"
)

// answer returns a summary of the notebook that Parse returns, or its error.
func answer(data string) string {
	n, err := Parse([]byte(data))
	if err != nil {
		var f *fault.Fault
		if !errors.As(err, &f) {
			return "not a fault: " + err.Error()
		}
		return "it " + err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d.%d", n.Format, n.Minor)
	if n.Language != "" {
		b.WriteString(" " + n.Language)
	}
	for i, c := range n.Cells {
		if i == 3 {
			fmt.Fprintf(&b, " and %d more", len(n.Cells)-i)
			break
		}
		fmt.Fprintf(&b, " | %s %s %q", c.ID, c.Type, c.Source)
		if c.Count != 0 {
			fmt.Fprintf(&b, " run %d", c.Count)
		}
		for _, o := range c.Outputs {
			switch {
			case o.Picture != nil:
				fmt.Fprintf(&b, " -> %s of %d bytes", o.PictureType, len(o.Picture))
			case len(o.Text) > 200:
				fmt.Fprintf(&b, " -> %d bytes", len(o.Text))
			default:
				fmt.Fprintf(&b, " -> %q", o.Text)
			}
		}
	}
	return b.String()
}

// book returns a notebook of format 4.5 with the given cells.
func book(cells string) string {
	return `{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [` + cells + `]}`
}

// code returns a code cell with an id and more keys.
func code(id, more string) string {
	return `{"cell_type": "code", "id": "` + id + `", "metadata": {}, "execution_count": null` + more + `}`
}

const repair = ". Repair the file there, then read it again."

// TestMalformed covers kinds of notebooks on which programs have been seen to fail.
func TestMalformed(t *testing.T) {
	const x1 = `, "source": "x=1", "outputs": []`
	ok := book(code("a", x1))
	many := strings.TrimSuffix(strings.Repeat(code("a", x1)+",", 20_000), ",")
	indented := &strings.Builder{}
	if err := encode(indented, ok); err != nil {
		t.Fatal(err)
	}
	const empty = "it is not a notebook: it is empty. A notebook is a JSON object with nbformat and cells."
	for name, tc := range map[string]struct{ data, want string }{
		"ok":           {book(code("a", x1) + "," + code("b", x1)), `4.5 | a code "x=1" | b code "x=1"`},
		"dup ids":      {book(code("a", x1) + "," + code("a", x1)), `4.5 | a code "x=1" | cell-1 code "x=1"`},
		"no ids":       {book(`{"cell_type": "code", "metadata": {}, "source": "x", "outputs": []}`), `4.5 | cell-0 code "x"`},
		"v3":           {`{"nbformat": 3, "worksheets": [{"cells": []}]}`, "3.0"},
		"cells null":   {`{"nbformat": 4, "cells": null}`, "it is a damaged notebook: line 1: its cells are null, not a list" + repair},
		"cells object": {`{"nbformat": 4,` + "\n" + `"cells": {}}`, "it is a damaged notebook: line 2: its cells are an object, not a list" + repair},
		"no cells key": {`{"nbformat": 4}`, "it is a damaged notebook: its cells are missing. Repair the file, then read it again."},
		"cell null":    {book("null"), "it is a damaged notebook: line 1: cell 1 is null, not an object" + repair},
		"cell string":  {book(code("a", x1) + ",\n\"x\""), "it is a damaged notebook: line 2: cell 2 is a string, not an object" + repair},
		"source number": {book(code("a", `, "source": 5`)),
			"it is a damaged notebook: line 1: the source of cell 1 is a number, not text" + repair},
		"source list mixed": {book(code("a", `, "source": ["x\n", 5, null]`)),
			"it is a damaged notebook: line 1: the source of cell 1 has a piece that is a number, not a string" + repair},
		"unknown type":   {book(`{"cell_type": "evil", "id": "a", "source": ""}`), `4.5 | a evil ""`},
		"no type":        {book(`{"id": "a", "source": ""}`), "it is a damaged notebook: line 1: cell 1 has no cell_type" + repair},
		"empty":          {"", empty},
		"space":          {"\ufeff \r\n\t", empty},
		"null":           {"null", "it is not a notebook: it is null. A notebook is a JSON object with nbformat and cells."},
		"array":          {"[]", "it is not a notebook: it is a list. A notebook is a JSON object with nbformat and cells."},
		"another object": {`{"name": "x"}`, "it is not a notebook: it has no nbformat. A notebook is a JSON object with nbformat and cells."},
		"truncated":      {ok[:len(ok)-5], "it is not valid JSON: line 1, column 166: the file ends in the middle of the notebook" + repair},
		"BOM":            {"\ufeff" + ok, `4.5 | a code "x=1"`},
		"UTF-16":         {"\xff\xfe{\x00}\x00", "it is a notebook in UTF-16. Notebooks are UTF-8: convert a copy of it."},
		"dup keys": {`{"cells":[],"cells":[{"cell_type":"code","source":"x"}],"nbformat":4}`,
			`it is a damaged notebook: line 1: the notebook has the key "cells" twice` + repair},
		"dup key in a cell": {book(code("a", `, "source": "x", "s\u006furce": "y"`)),
			`it is a damaged notebook: line 1: cell 1 has the key "source" twice` + repair},
		"dup key in an output": {book(code("a", `, "outputs": [{"output_type": "stream", "text": "x", "text": "y"}]`)),
			`it is a damaged notebook: line 1: output 1 of cell 1 has the key "text" twice` + repair},
		"dup key that nobody reads": {`{"cells":[],"metadata":{"x":1,"x":2},"nbformat":4}`, "4.0"},
		"NaN":                       {`{"cells":[],"metadata":{"x":NaN,"y":[Infinity,-Infinity]},"nbformat":4}`, "4.0"},
		"big numbers":               {`{"cells":[],"metadata":{"x":123456789012345678901234567890,"y":1e400},"nbformat":4}`, "4.0"},
		"deep": {`{"cells":[],"metadata":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `,"nbformat":4}`,
			"it is not valid JSON: line 1, column 10023: values are nested more than 10000 deep" + repair},
		"huge output": {book(code("a", `, "outputs": [{"output_type": "stream", "name": "stdout", "text": "`+strings.Repeat("x", 5_000_000)+`"}]`)),
			`4.5 | a code "" -> 5000000 bytes`},
		"huge png output": {book(code("a", `, "outputs": [{"output_type": "display_data", "data": {"image/png": "`+strings.Repeat("A", 8_000_000)+`"}}]`)),
			`4.5 | a code "" -> image/png of 6000000 bytes`},
		"many cells":     {book(many), `4.5 | a code "x=1" | cell-1 code "x=1" | cell-2 code "x=1" and 19997 more`},
		"key order":      {`{"nbformat_minor":5,"nbformat":4,"metadata":{"b":1,"a":2},"cells":[]}`, "4.5"},
		"lone surrogate": {book(`{"cell_type":"markdown","id":"a","source":"\ud800"}`), "4.5 | a markdown \"\uFFFD\""},
		"bad escape":     {book(`{"cell_type":"markdown","id":"a","source":"\xff"}`), "it is not valid JSON: line 1, column 107: a string holds a backslash that escapes nothing" + repair},
		"raw bytes":      {book("{\"cell_type\":\"markdown\",\"id\":\"a\",\"source\":\"\xff\xc3é\"}"), "4.5 | a markdown \"\uFFFD\uFFFDé\""},
		"html":           {book(code("a", `, "source": "<a>&\u2028</a>"`)), "4.5 | a code \"<a>&\\u2028</a>\""},
		"CRLF":           {strings.ReplaceAll(ok, ",", ",\r\n"), `4.5 | a code "x=1"`},
		"indented":       {indented.String(), `4.5 | a code "x=1"`},
	} {
		if got := answer(tc.data); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tc.want)
		}
	}
}

// encode writes JSON again, indented by tabs.
func encode(b *strings.Builder, data string) error {
	var v any
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		return err
	}
	e := json.NewEncoder(b)
	e.SetIndent("", "\t")
	return e.Encode(v)
}

func TestFormats(t *testing.T) {
	for data, want := range map[string]string{
		`{"nbformat":4.0,"nbformat_minor":"x","cells":[]}`: "4.0",
		`{"nbformat":5,"cells":[]}`:                        "it is a notebook of nbformat 5. Formats 3 and 4 can be read; Jupyter can convert others.",
		`{"nbformat":2,"worksheets":[]}`:                   "it is a notebook of nbformat 2. Formats 3 and 4 can be read; Jupyter can convert others.",
		`{"nbformat":NaN,"cells":[]}`:                      "it is a notebook of nbformat NaN. Formats 3 and 4 can be read; Jupyter can convert others.",
		`{"nbformat":` + strings.Repeat("1", 5000) + `}`:   "it is a notebook of nbformat 11111111111111111111. Formats 3 and 4 can be read; Jupyter can convert others.",
		`{"nbformat":"4","cells":[]}`:                      "it is not a notebook: its nbformat is a string, not a number. A notebook is a JSON object with nbformat and cells.",
		`{"nbformat":null}`:                                "it is not a notebook: its nbformat is null, not a number. A notebook is a JSON object with nbformat and cells.",
		`{"nbformat":3,"cells":[]}`:                        "it is a damaged notebook: its worksheets are missing. Repair the file, then read it again.",
		`{"nbformat":3,"worksheets":[3]}`:                  "it is a damaged notebook: line 1: worksheet 1 is a number, not an object" + repair,
		`{"nbformat":3,"worksheets":[{"cells":[]},{}]}`:    "it is a damaged notebook: the cells of worksheet 2 are missing. Repair the file, then read it again.",
		`{"nbformat":3,"worksheets":[{"cells":true}]}`:     "it is a damaged notebook: line 1: the cells of worksheet 1 are true or false, not a list" + repair,
		`{"nbformat":4,"cells":[],"metadata":{"language_info":{"name":"julia"},"kernelspec":{"language":"x"}}}`:          "4.0 julia",
		`{"nbformat":4,"cells":[],"metadata":{"language_info":{"name":5},"kernelspec":{"language":"R"}}}`:                "4.0 R",
		`{"nbformat":4,"cells":[],"metadata":{"language_info":{"name":"a\nb"},"kernelspec":[]}}`:                         "4.0",
		`{"nbformat":4,"cells":[],"metadata":null}`:                                                                      "4.0",
		`{"nbformat":4,"cells":[{"cell_type":"code","execution_count":7,"source":["a\n","b"],"input":"x"}]}`:             `4.0 | cell-0 code "a\nb" run 7`,
		`{"nbformat":4,"cells":[{"cell_type":"code","execution_count":-7},{"cell_type":"code","execution_count":1e99}]}`: `4.0 | cell-0 code "" | cell-1 code ""`,
		`{"nbformat":4,"cells":[{"cell_type":5}]}`:                                                                       "it is a damaged notebook: line 1: cell 1 has no cell_type" + repair,
		`{"nbformat":4,"cells":[{"cell_type":"code","outputs":"x"}]}`:                                                    "it is a damaged notebook: line 1: the outputs of cell 1 are a string, not a list" + repair,
		`{"nbformat":4,"cells":[{"cell_type":"code","source":null}]}`:                                                    "it is a damaged notebook: line 1: the source of cell 1 is null, not text" + repair,
		`{"nbformat":4,"cells":[{"cell_type":"code","outputs":null}]}`:                                                   `4.0 | cell-0 code ""`,
	} {
		if got := answer(data); got != want {
			t.Errorf("%s:\n got %s\nwant %s", data[:min(len(data), 200)], got, want)
		}
	}
}

// TestFormat3 reads what nbformat 3 stores in other places.
func TestFormat3(t *testing.T) {
	got := answer(`{"nbformat":3,"nbformat_minor":0,"metadata":{"name":"x"},"worksheets":[
		{"cells":[
			{"cell_type":"heading","level":2,"source":["Two\n","lines"]},
			{"cell_type":"code","language":"python","input":["1+1\n","2"],"source":"no","prompt_number":4,"id":"ignored","outputs":[
				{"output_type":"stream","stream":"stdout","text":["a\n","b"]},
				{"output_type":"pyout","prompt_number":4,"text":"2","html":"<b>2</b>"},
				{"output_type":"display_data","png":"iVBORw==","text":"figure"},
				{"output_type":"display_data","metadata":{},"javascript":"alert(1)"},
				{"output_type":"display_data","metadata":{},"json":"{\"a\": 1}"},
				{"output_type":"pyerr","ename":"E","evalue":"v","traceback":["t1","t2"]}]}]},
		{"cells":[{"cell_type":"markdown","source":"second sheet"}]}]}`)
	want := `3.0 python | cell-0 markdown "## Two lines"` +
		` | cell-1 code "1+1\n2" run 4 -> "a\nb" -> "2" -> image/png of 4 bytes -> "[an output of type javascript is not shown]" -> "{\"a\": 1}" -> "E: v\nt1\nt2"` +
		` | cell-2 markdown "second sheet"`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestIdentity checks that ids are unique, whatever the file contains.
func TestIdentity(t *testing.T) {
	long := strings.Repeat("x", 65)
	for _, tc := range []struct {
		ids  []string // JSON; "" for none
		want string
	}{
		{[]string{`"a"`, `"b"`}, "a b"},
		{[]string{`"a"`, `"a"`, `"a"`}, "a cell-1 cell-2"},
		{[]string{`""`, "", "null", "5"}, "cell-0 cell-1 cell-2 cell-3"},
		{[]string{`"cell-1"`, ""}, "cell-1 cell-1-"},
		{[]string{"", `"cell-0"`}, "cell-0- cell-0"},
		{[]string{`"cell-2"`, `"cell-2-"`, ""}, "cell-2 cell-2- cell-2--"},
		{[]string{`"a\"b"`, `"a b"`, `"é"`, `"` + long + `"`, `"` + long[1:] + `"`}, "cell-0 cell-1 cell-2 cell-3 " + long[1:]},
	} {
		var cells []string
		for _, id := range tc.ids {
			if id != "" {
				id = `, "id": ` + id
			}
			cells = append(cells, `{"cell_type": "raw"`+id+`}`)
		}
		n, err := Parse([]byte(book(strings.Join(cells, ","))))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range n.Cells {
			got = append(got, c.ID)
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %s, want %s", tc.ids, got, tc.want)
		}
	}
}
