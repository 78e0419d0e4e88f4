package notebook

import (
	"strings"
	"testing"
)

// TestOutputs checks that each output becomes one text or one picture.
func TestOutputs(t *testing.T) {
	data := func(bundle string) string { return `{"output_type": "display_data", "data": {` + bundle + `}}` }
	stream := func(name, text string) string {
		return `{"output_type": "stream", "name": "` + name + `", "text": ` + text + `}`
	}
	const head = `4.5 | a code ""`
	for name, tc := range map[string]struct{ outputs, want string }{
		"a stream":                     {stream("stdout", `"a\u001b[1mb\n"`), ` -> "ab\n"`},
		"pieces of a stream":           {stream("stdout", `["a\n", "b"]`) + "," + stream("stdout", `"\rc"`), ` -> "a\nc"`},
		"two streams":                  {stream("stdout", `"a"`) + "," + stream("stderr", `"b"`) + "," + stream("stdout", `"c"`), ` -> "a" -> "b" -> "c"`},
		"a stream without a name":      {`{"output_type": "stream", "text": "a"}`, ` -> "a"`},
		"an empty stream":              {stream("stdout", `""`), ``},
		"a stream without text":        {`{"output_type": "stream"}`, ``},
		"a result":                     {`{"output_type": "execute_result", "execution_count": 1, "data": {"text/html": "<b>", "text/plain": ["x\n", "y"]}}`, ` -> "x\ny"`},
		"markdown before latex":        {data(`"text/latex": "L", "text/markdown": "M"`), ` -> "M"`},
		"latex before JSON":            {data(`"application/json": {}, "text/latex": "L"`), ` -> "L"`},
		"JSON before HTML":             {data(`"text/html": "<b>", "application/json": {"a b": [1,` + "\n" + `  NaN, "c \" d"]}`), ` -> "{\"a b\":[1,NaN,\"c \\\" d\"]}"`},
		"HTML when there is nothing":   {data(`"text/html": "<b>x</b>\r"`), ` -> "<b>x</b>\r"`},
		"a picture before its name":    {data(`"text/plain": "<Figure>", "image/png": "iVBORw==\n"`), ` -> image/png of 4 bytes`},
		"base64 in lines":              {data(`"image/jpeg": ["iVBO\n", "Rw==\n"]`), ` -> image/jpeg of 4 bytes`},
		"better than a name":           {data(`"text/plain": "<IPython.core.display.Markdown object>", "text/markdown": "**0.93**"`), ` -> "**0.93**"`},
		"a name with an address":       {data(`"text/plain": "<pandas.io.formats.style.Styler at 0x7f00>", "text/html": "<table>"`), ` -> "<table>"`},
		"a name and nothing else":      {data(`"text/plain": "<Thing at 0x7f00>"`), ` -> "<Thing at 0x7f00>"`},
		"text in brackets":             {data(`"text/plain": "<b>", "text/html": "<i>"`), ` -> "<b>"`},
		"SVG is text":                  {data(`"text/plain": "<SVG>", "image/svg+xml": ["<svg>", "</svg>"]`), ` -> "<svg></svg>"`},
		"base64 without its end":       {data(`"image/png": "iVBORw"`), ` -> "[a picture of type image/png cannot be shown: it is damaged: its base64 is not valid]"`},
		"base64 with loose bits":       {data(`"image/png": "iVBORx=="`), ` -> "[a picture of type image/png cannot be shown: it is damaged: its base64 is not valid]"`},
		"base64 for URLs":              {data(`"image/png": "-_-_"`), ` -> "[a picture of type image/png cannot be shown: it is damaged: its base64 is not valid]"`},
		"an empty picture":             {data(`"image/gif": ""`), ` -> "[a picture of type image/gif cannot be shown: it is empty]"`},
		"data of an unknown type":      {data(`"application/x\n]": {"a": 1}, "text/other": "x"`), ` -> "[an output of type application/x\\n] is not shown]"`},
		"no data":                      {data(``) + `,{"output_type": "display_data"}`, ``},
		"an unknown output":            {`{"output_type": "update\u001b"}`, ` -> "[an output of type update\\x1b is not shown]"`},
		"an error":                     {`{"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\u001b[0;31m---\u001b[0m", "line"]}`, ` -> "E: v\n---\nline"`},
		"an error without a traceback": {`{"output_type": "error", "ename": "E", "evalue": "v", "traceback": null}`, ` -> "E: v"`},
		"a traceback of one string":    {`{"output_type": "error", "ename": "E", "evalue": "v", "traceback": "t"}`, ` -> "E: v\nt"`},
	} {
		if got := answer(book(code("a", `, "outputs": [`+tc.outputs+`]`))); got != head+tc.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, head+tc.want)
		}
	}
}

func TestDamagedOutputs(t *testing.T) {
	for output, want := range map[string]string{
		`5`:                  "output 2 of cell 1 is a number, not an object",
		`{}`:                 "output 2 of cell 1 has no output_type",
		`{"output_type": 5}`: "output 2 of cell 1 has no output_type",
		`{"output_type": "display_data", "data": []}`:                                     "the data of output 2 of cell 1 is a list, not an object",
		`{"output_type": "display_data", "data": {"text/plain": {}}}`:                     "the text/plain of output 2 of cell 1 is an object, not text",
		`{"output_type": "display_data", "data": {"image/png": "", "image/png": ""}}`:     `output 2 of cell 1 has the key "image/png" twice`,
		`{"output_type": "stream", "text": 5}`:                                            "the text of output 2 of cell 1 is a number, not text",
		`{"output_type": "stream", "text": ["a", null]}`:                                  "the text of output 2 of cell 1 has a piece that is null, not a string",
		`{"output_type": "error", "ename": "E", "evalue": "v", "traceback": 5}`:           "the lines of the traceback in output 2 of cell 1 are a number, not a list",
		`{"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["a", true]}`: "the traceback of output 2 of cell 1 has a line that is true or false, not a string",
	} {
		got := answer(book(code("a", `, "outputs": [{"output_type": "x"},`+"\n"+output+`]`)))
		if want := "it is a damaged notebook: line 2: " + want + repair; got != want {
			t.Errorf("%s:\n got %s\nwant %s", output, got, want)
		}
	}
}

// TestManyPieces checks that a stream of many pieces is joined once.
func TestManyPieces(t *testing.T) {
	piece := `{"output_type": "stream", "name": "stdout", "text": "` + strings.Repeat("x", 50) + `"},`
	n, err := Parse([]byte(book(code("a", `, "outputs": [`+strings.TrimSuffix(strings.Repeat(piece, 100_000), ",")+`]`))))
	if err != nil || len(n.Cells[0].Outputs) != 1 || len(n.Cells[0].Outputs[0].Text) != 5_000_000 {
		t.Fatalf("%v, %d outputs", err, len(n.Cells[0].Outputs))
	}
}
