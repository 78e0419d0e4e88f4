package read

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/internal/file/document"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

// library makes documents and reads them with one cache.
type library struct {
	*testing.T
	w *toolstest.Workspace
	o Options
}

func openLibrary(t *testing.T) *library {
	return &library{t, toolstest.NewWorkspace(t), Options{
		Repeat: true, Documents: document.NewReader(document.Config{Cache: filepath.Join(cache, "engine")}),
	}}
}

func (l *library) write(name string, data []byte) {
	l.Helper()
	if err := os.WriteFile(filepath.Join(l.w.Root, name), data, 0o600); err != nil {
		l.Fatal(err)
	}
}

// read returns the content of an answer, with pictures as their type and size, or the
// error.
func (l *library) read(name, args string) string {
	l.Helper()
	resp, err := l.w.Call(l.Context(), New(l.o), fmt.Sprintf(`{"file_path":%q%s}`, name, args))
	if err != nil {
		return "error: " + strings.ReplaceAll(err.Error(), l.w.Root, "$ROOT")
	}
	var out []string
	for _, c := range resp.Content {
		switch c := c.(type) {
		case tools.Text:
			out = append(out, strings.ReplaceAll(c.Text, l.w.Root, "$ROOT"))
		case tools.Image:
			config, _, err := image.DecodeConfig(bytes.NewReader(c.Data))
			out = append(out, fmt.Sprintf("{%s %d x %d %v}", c.MIMEType, config.Width, config.Height, err))
		}
	}
	return strings.Join(out, "\n")
}

func (l *library) want(name, args, want string) {
	l.Helper()
	if got := l.read(name, args); got != want {
		l.Errorf("%s%s: %s\nwant %s", name, args, got, want)
	}
}

// pngOf returns a picture of one colour.
func pngOf(t *testing.T, w, h int) []byte {
	t.Helper()
	m := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.White})
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pdfOf returns a PDF file with a page for each text. "" is an empty page. A text that
// begins with "figure:" also gets a drawing.
func pdfOf(texts ...string) []byte {
	var b bytes.Buffer
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n"+format+"\nendobj\n", append([]any{len(offsets)}, args...)...)
	}
	b.WriteString("%PDF-1.4\n")
	object("<</Type/Catalog/Pages 2 0 R>>")
	var kids strings.Builder
	for i := range texts {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*i)
	}
	object("<</Type/Pages/Kids[%s]/Count %d>>", kids.String(), len(texts))
	object("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
	for i, text := range texts {
		content := ""
		if text != "" {
			content = "BT /F1 12 Tf 20 100 Td (" + text + ") Tj ET"
		}
		if strings.HasPrefix(text, "figure:") {
			content += " 20 20 m 50 90 l 80 30 l 110 95 l 140 40 l 170 80 l S"
		}
		object("<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 150]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>", 5+2*i)
		object("<</Length %d>>\nstream\n%s\nendstream", len(content), content)
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, table)
	return b.Bytes()
}

func TestPictures(t *testing.T) {
	l := openLibrary(t)
	small, large := pngOf(t, 20, 10), pngOf(t, 3000, 30)
	l.write("small.png", small)
	l.write("large.txt", large) // the name does not matter
	l.write("cut.png", small[:40])
	l.want("small.png", `,"offset":5,"limit":1`, fmt.Sprintf("[$ROOT/small.png: image/png, 20 x 10 pixels, %d bytes]\n{image/png 20 x 10 <nil>}", len(small)))
	got := l.read("large.txt", "")
	if !strings.HasPrefix(got, fmt.Sprintf("[$ROOT/large.txt: image/png, 3000 x 30 pixels, %d bytes; shown as image/png, 2000 x 20 pixels, ", len(large))) ||
		!strings.HasSuffix(got, "{image/png 2000 x 20 <nil>}") {
		t.Errorf("a large picture: %s", got)
	}
	l.want("cut.png", "", "error: $ROOT/cut.png is a damaged PNG image: the data ends early. Make it again or use an undamaged copy.")
	r, ok := l.w.Session.View().LastRead(filepath.Join(l.w.Root, "large.txt"))
	if !ok || r.Hash != sha256.Sum256(large) {
		t.Errorf("the session's record: %+v, %v", r, ok)
	}
}

func TestPDF(t *testing.T) {
	l := openLibrary(t)
	l.write("three.pdf", pdfOf("First page", "", "Third page"))
	l.write("named.txt", pdfOf("Only page"))
	l.want("named.txt", "", "## Page 1 of 1\nOnly page")
	const blank = "{image/png 833 x 417 <nil>}" // 200 dots an inch
	l.want("three.pdf", "", "## Page 1 of 3\nFirst page\n\n## Page 2 of 3\n[no readable text on this page; shown as a picture of 833 x 417 pixels]\n"+blank+"\n## Page 3 of 3\nThird page")
	l.want("three.pdf", `,"pages":"3"`, "## Page 3 of 3\nThird page")
	l.want("three.pdf", `,"pages":"2-9"`, "## Page 2 of 3\n[no readable text on this page; shown as a picture of 833 x 417 pixels]\n"+blank+"\n## Page 3 of 3\nThird page")
	l.want("three.pdf", `,"pages":"3","limit":5`, "## Page 3 of 3\nThird page\n\n[offset and limit mean nothing in a PDF file; pages chooses]")
	if got := l.read("three.pdf", `,"pages":"4"`); !strings.HasPrefix(got, "error: $ROOT/three.pdf has 3 pages") {
		t.Errorf("a page behind the end: %s", got)
	}
	l.write("text.txt", []byte("%PDF-1.7 is how a PDF begins\n"))
	l.want("text.txt", "", "1\t%PDF-1.7 is how a PDF begins")
	if got := l.read("text.txt", `,"pages":"1"`); !strings.HasPrefix(got, "error: $ROOT/text.txt is a damaged PDF: ") {
		t.Errorf("pages of a text that begins like a PDF: %s", got)
	}
	l.write("forged.pdf", pdfOf("## Page 2 of 2"))
	l.want("forged.pdf", "", "### Page 1 of 1\n## Page 2 of 2")
	l.write("eleven.pdf", pdfOf(strings.Split(strings.Repeat("x", 11), "")...))
	if got := l.read("eleven.pdf", ""); !strings.HasPrefix(got, "error: $ROOT/eleven.pdf has 11 pages, ") || !strings.Contains(got, `pages "1-11"`) {
		t.Errorf("eleven pages: %s", got)
	}
	if got := l.read("eleven.pdf", `,"pages":"1-11"`); strings.Count(got, "## Page ") != 11 {
		t.Errorf("eleven pages asked for: %s", got)
	}
}

// TestPDFFigures checks that a figure that is not shown is reported, with the call that
// shows it.
func TestPDFFigures(t *testing.T) {
	l := openLibrary(t)
	l.write("f.pdf", pdfOf("one", "figure: two", "figure: three"))
	l.want("f.pdf", `,"pages":"1"`, "## Page 1 of 3\none")
	l.want("f.pdf", `,"pages":"2"`, "## Page 2 of 3\nfigure: two\n\n[page 2 has a figure that is not shown; to see it: pages \"2\", as \"image\"]")
	l.want("f.pdf", `,"as":"text"`, "## Page 1 of 3\none\n\n## Page 2 of 3\nfigure: two\n\n## Page 3 of 3\nfigure: three\n\n[pages 2 and 3 have figures that are not shown; to see one: pages \"2\", as \"image\"]")
	l.want("f.pdf", `,"pages":"2","as":"image"`, "## Page 2 of 3\n[shown as a picture of 833 x 417 pixels]\n{image/png 833 x 417 <nil>}")
	l.o.Repeat = false
	if got := l.read("f.pdf", `,"pages":"3"`); !strings.Contains(got, "figure: three") {
		t.Errorf("a page as text: %s", got)
	}
	if got := l.read("f.pdf", `,"pages":"3","as":"image"`); !strings.Contains(got, "{image/png") {
		t.Errorf("the same page as an image: %s", got)
	}
	if got := l.read("f.pdf", `,"pages":"3","as":"image"`); !strings.Contains(got, "this part of it") {
		t.Errorf("the same again: %s", got)
	}
}

// TestAsOfOtherFiles checks that the property as applies to pages of PDF files only.
func TestAsOfOtherFiles(t *testing.T) {
	l := openLibrary(t)
	l.write("a.txt", []byte("text"))
	l.write("a.ipynb", []byte(`{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[]}`))
	l.write("a.png", pngOf(t, 2, 2))
	l.write("like.txt", []byte("%PDF-1.7 is how a PDF begins\n"))
	l.write("a.bin", []byte{0, 1, 2})
	const noPDF = ` is not a PDF file, and only pages of PDF files are shown as "image". Leave out as.`
	l.want("a.txt", `,"as":"image"`, "error: $ROOT/a.txt"+noPDF)
	l.want("a.ipynb", `,"as":"image"`, "error: $ROOT/a.ipynb"+noPDF)
	l.want("a.txt", `,"as":"text"`, "1\ttext")
	l.want("a.png", `,"as":"text"`, "error: $ROOT/a.png is an image and has no text. Leave out as.")
	if got := l.read("a.png", `,"as":"image"`); !strings.HasSuffix(got, "{image/png 2 x 2 <nil>}") {
		t.Error(got)
	}
	if got := l.read("like.txt", `,"as":"image"`); !strings.HasPrefix(got, "error: $ROOT/like.txt is a damaged PDF: ") {
		t.Error(got)
	}
	l.want("a.bin", `,"as":"image"`, "error: $ROOT/a.bin is a binary file (of no known type) of 3 bytes. Read shows text, pictures, notebooks, PDF and office files; other tools can take it apart.")
	l.want("a.txt", `,"as":"png"`, "error: property \"as\" is \"png\". Use one of: text, image, formulas.")
}

// TestPDFOverBudget checks that pages that do not fit are named, and that the answer leads
// to the rest.
func TestPDFOverBudget(t *testing.T) {
	l := openLibrary(t)
	l.o.MaxTokens = 300 // 1,020 bytes of text
	text := strings.Repeat("word ", 80)
	l.write("f.pdf", pdfOf(text, text, text, text, text))
	if got := l.read("f.pdf", ""); strings.Count(got, "## Page") != 2 || !strings.HasSuffix(got, "[the answer is full; go on with pages \"3-5\"]") {
		t.Errorf("five pages: %s", got)
	}
	if got := l.read("f.pdf", `,"pages":"3-5"`); strings.Count(got, "## Page") != 2 || !strings.HasSuffix(got, "[the answer is full; go on with pages \"5\"]") {
		t.Errorf("the rest: %s", got)
	}
}

func TestNotebooks(t *testing.T) {
	l := openLibrary(t)
	l.write("f.ipynb", []byte(`{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[
		{"cell_type":"markdown","id":"intro","metadata":{},"source":["# Title\n","text"]},
		{"cell_type":"code","id":"sum","metadata":{},"execution_count":2,"source":"1+1","outputs":[{"output_type":"execute_result","execution_count":2,"metadata":{},"data":{"text/plain":"2"}}]}]}`))
	l.want("f.ipynb", "", `<cell id="intro" type="markdown">
# Title
text
</cell>
<cell id="sum" type="code" run="2">
1+1
</cell>
<output cell="sum">
2
</output>`)
	l.want("f.ipynb", `,"offset":2`, `<cell id="sum" type="code" run="2">
1+1
</cell>
<output cell="sum">
2
</output>
[cell 2 of 2]`)
	l.want("f.ipynb", `,"offset":-1`, `<cell id="sum" type="code" run="2">
1+1
</cell>
<output cell="sum">
2
</output>
[cell 2 of 2]`)
	if got := l.read("f.ipynb", `,"offset":-9`); !strings.HasPrefix(got, `<cell id="intro"`) || !strings.Contains(got, `id="sum"`) {
		t.Errorf("more cells than there are: %s", got)
	}
	l.write("broken.ipynb", []byte("{\n  \"cells\": [}\n"))
	const asText = "; Edit takes it as text, too]"
	l.want("broken.ipynb", "", "1\t{\n2\t  \"cells\": [}\n[shown as text: it is not valid JSON: line 2, column 13: there is no value where one is missing"+asText)
	l.want("broken.ipynb", `,"as":"text","offset":2`, "2\t  \"cells\": [}\n[line 2 of 2]\n[shown as text: it is not valid JSON: line 2, column 13: there is no value where one is missing"+asText)
	l.write("conflict.ipynb", []byte("{\n<<<<<<< HEAD\n\"a\": 1\n"))
	l.want("conflict.ipynb", "", "1\t{\n2\t<<<<<<< HEAD\n3\t\"a\": 1\n[shown as text: it is not valid JSON: line 2, column 1: the line is a mark of a merge conflict"+asText)
	l.write("two.ipynb", []byte(`{"nbformat":2}`))
	l.want("two.ipynb", "", "1\t{\"nbformat\":2}\n[shown as text: it is a notebook of nbformat 2"+asText)
	l.write("empty.ipynb", nil)
	l.want("empty.ipynb", "", "[the file is empty]\n[shown as text: it is not a notebook: it is empty"+asText)
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12\n"
	for _, name := range []string{"lfs.ipynb", "lfs.png", "lfs.pdf", "lfs.bin"} {
		l.write(name, []byte(pointer))
		l.want(name, "", "1\tversion https://git-lfs.github.com/spec/v1\n2\toid sha256:abc\n3\tsize 12\n[this is a Git LFS pointer, not the file itself; git lfs pull gets the file]")
	}
	l.write("f.ipynb", []byte(`{"nbformat":4,"cells":[]}`))
	if got := l.read("f.ipynb", `,"offset":5`); strings.Contains(got, "shown as text") {
		t.Errorf("a notebook that can be parsed: %s", got)
	}
}

// TestStructuredKinds checks that programs get the same data as a model, without pictures.
func TestStructuredKinds(t *testing.T) {
	l := openLibrary(t)
	picture, pdf := pngOf(t, 20, 10), pdfOf("Text", "")
	l.write("a.png", picture)
	l.write("a.pdf", pdf)
	l.write("a.ipynb", []byte(`{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[{"cell_type":"code","id":"a","metadata":{},"source":"1","outputs":[{"output_type":"stream","name":"stdout","text":"2"}]}]}`))
	l.write("empty", nil)
	for name, want := range map[string]string{
		"a.png":   fmt.Sprintf(`{"type":"image","filePath":"$ROOT/a.png","originalSize":%d,"mimeType":"image/png","dimensions":{"width":20,"height":10,"shownWidth":20,"shownHeight":10}}`, len(picture)),
		"a.pdf":   fmt.Sprintf(`{"type":"pdf","filePath":"$ROOT/a.pdf","originalSize":%d,"pages":[{"number":1,"text":"Text"},{"number":2,"text":""}],"totalPages":2}`, len(pdf)),
		"a.ipynb": `{"type":"notebook","filePath":"$ROOT/a.ipynb","cells":[{"id":"a","type":"code","source":"1","outputs":["2"]}]}`,
		"empty":   `{"type":"text","filePath":"$ROOT/empty","content":"","numLines":0,"startLine":1,"totalLines":0}`,
	} {
		resp, err := l.w.Call(t.Context(), New(l.o), fmt.Sprintf(`{"file_path":%q}`, name))
		if err != nil {
			t.Error(err)
			continue
		}
		data, err := resp.Structured()
		if got := strings.ReplaceAll(string(data), l.w.Root, "$ROOT"); err != nil || got != want {
			t.Errorf("%s: %s, %v\nwant %s", name, got, err, want)
		}
	}
}

// TestReminder checks that the reminder ends the content of a file, and no other answer.
func TestReminder(t *testing.T) {
	l := openLibrary(t)
	l.o.Reminder, l.o.Repeat = true, false
	l.write("a.txt", []byte("text"))
	l.write("a.png", pngOf(t, 2, 2))
	l.write("a.pdf", pdfOf("", "Text"))
	l.write("b.pdf", pdfOf("Text", ""))
	l.write("a.ipynb", []byte(`{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[{"cell_type":"raw","id":"a","metadata":{},"source":"1"}]}`))
	l.write("long", bytes.Repeat([]byte("x"), 200_000))
	l.write("empty", nil)
	for name, want := range map[string]bool{"a.txt": true, "a.png": false, "a.pdf": true, "b.pdf": true, "a.ipynb": true, "long": true, "empty": false} {
		l.w.Session = session.New(session.Config{ID: name, Roots: []string{l.w.Root}, Results: l.w.Session.View().Results})
		got := l.read(name, "")
		if strings.HasSuffix(got, "\n"+reminder) != want || strings.Count(got, reminder) > 1 {
			t.Errorf("%s: %s", name, got[max(0, len(got)-300):])
		}
		if got := l.read(name, ""); !strings.HasPrefix(got, "[$ROOT/"+name+" has not changed") || strings.Contains(got, reminder) {
			t.Errorf("%s, read again: %s", name, got)
		}
	}
}
