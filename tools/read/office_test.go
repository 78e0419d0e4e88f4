package read

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"
)

// zipOf returns a ZIP archive with pairs of a name and a content.
func zipOf(t *testing.T, pairs ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i+1 < len(pairs); i += 2 {
		w, err := z.Create(pairs[i])
		if err == nil {
			_, err = w.Write([]byte(pairs[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// compound returns the beginning of a file of the format before 2007 with a stream.
func compound(stream string) []byte {
	data := make([]byte, 1024)
	copy(data, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
	data[30] = 9 // sectors of 512 bytes; the directory is the first
	for i, c := range []byte(stream) {
		data[512+2*i] = c
	}
	return data
}

func TestOffice(t *testing.T) {
	l := openLibrary(t)
	doc := zipOf(t, "[Content_Types].xml", "<Types/>", "word/document.xml", `<w:document><w:body><w:p><w:r><w:t>one</w:t></w:r></w:p><w:p><w:r><w:t>two</w:t></w:r></w:p></w:body></w:document>`)
	book := zipOf(t, "[Content_Types].xml", "<Types/>", "xl/workbook.xml", `<workbook><sheets><sheet name="A" r:id="a"/><sheet name="B" state="hidden" r:id="b"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", `<r><Relationship Id="a" Type="worksheet" Target="worksheets/a.xml"/><Relationship Id="b" Type="worksheet" Target="worksheets/b.xml"/></r>`,
		"xl/worksheets/a.xml", `<worksheet><sheetData><row r="1"><c r="A1"><v>1</v></c></row><row r="2"><c r="A2"><f>A1+1</f><v>2</v></c></row></sheetData></worksheet>`,
		"xl/worksheets/b.xml", `<worksheet><sheetData/></worksheet>`)
	deck := zipOf(t, "[Content_Types].xml", "<Types/>", "ppt/presentation.xml", `<p:presentation><p:sldId r:id="a"/></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", `<r><Relationship Id="a" Type="slide" Target="slides/s.xml"/></r>`, "ppt/slides/s.xml", `<p:sld><p:sp><p:txBody><a:p><a:t>hello</a:t></a:p></p:txBody></p:sp></p:sld>`)
	for name, data := range map[string][]byte{
		"a.docx": doc, "b.xlsx": book, "c.pptx": deck, "none.pptx": zipOf(t, "[Content_Types].xml", "<Types/>", "ppt/presentation.xml", `<p:presentation/>`), "noname": doc, "zip.docx": zipOf(t, "a.txt", "x"), "bad.xlsx": []byte("PK\x03\x04\x00\x00\x00"),
		"old.doc": compound("WordDocument"), "old.xls": compound("Workbook"), "old.ppt": compound("PowerPoint Document"), "locked.docx": compound("EncryptedPackage"),
		"text.docx": []byte("only text"),
	} {
		l.write(name, data)
	}
	for _, tc := range []struct{ name, args, want string }{
		{"a.docx", "", "one\n\ntwo"},
		{"noname", "", "one\n\ntwo"},
		{"text.docx", "", "1\tonly text"},
		{"a.docx", `,"limit":1`, "one\n[line 1 of 3]"},
		{"a.docx", `,"offset":3`, "two\n[line 3 of 3]"},
		{"a.docx", `,"offset":4`, "error: $ROOT/a.docx ends at line 3, so there is no line 4. Use an offset from 1 to 3."},
		{"a.docx", `,"pages":"2"`, "one\n\ntwo\n\n[pages means nothing in a document; offset and limit choose lines]"},
		{"a.docx", `,"as":"image"`, `error: $ROOT/a.docx is not a PDF file, and only pages of PDF files are shown as "image". Leave out as.`},
		{"a.docx", `,"as":"formulas"`, "one\n\ntwo\n\n[only sheets are shown as \"formulas\"]"},
		{"text.docx", `,"as":"formulas"`, `error: $ROOT/text.docx is not a workbook, and only sheets are shown as "formulas". Leave out as.`},
		{"b.xlsx", "", "## Sheet 1 of 2: A (A1:A2)\n|  | A |\n|---|---|\n| 1 | 1 |\n| 2 | 2 |\n\n## Sheet 2 of 2: B (hidden)\n[no cells with content here]"},
		{"b.xlsx", `,"pages":"1","as":"formulas"`, "## Sheet 1 of 2: A (A1:A2)\n|  | A |\n|---|---|\n| 1 | 1 |\n| 2 | =A1+1 |"},
		{"b.xlsx", `,"pages":"1","offset":2`, "## Sheet 1 of 2: A (A2:A2)\n|  | A |\n|---|---|\n| 2 | 2 |\n[row 2 of 2]"},
		{"b.xlsx", `,"pages":"3"`, "error: $ROOT/b.xlsx has 2 sheets, so there is no sheet 3. Ask for pages from 1 to 2."},
		{"c.pptx", "", "## Slide 1 of 1\nhello"},
		{"none.pptx", "", "[there are no slides]"},
		{"none.pptx", `,"pages":"1"`, "error: $ROOT/none.pptx has 0 slides, so there is no slide 1. Ask for pages from 1 to 1."},
		{"c.pptx", `,"offset":2`, "## Slide 1 of 1\nhello\n\n[offset and limit mean nothing in a presentation; pages chooses slides]"},
		{"zip.docx", "", "error: $ROOT/zip.docx is a ZIP archive and no document of a kind that can be read. List it with a command such as unzip -l."},
		{"bad.xlsx", "", "error: $ROOT/bad.xlsx is damaged: it is no ZIP archive, or its end is missing. Get the file again from where it came from."},
		{"old.doc", "", "error: $ROOT/old.doc is a Word file of the format before 2007 (.doc). Convert a copy, as with soffice --headless --convert-to docx, and read that."},
		{"old.xls", "", "error: $ROOT/old.xls is an Excel file of the format before 2007 (.xls). Convert a copy, as with soffice --headless --convert-to xlsx, and read that."},
		{"old.ppt", "", "error: $ROOT/old.ppt is a PowerPoint file of the format before 2007 (.ppt). Convert a copy, as with soffice --headless --convert-to pptx, and read that."},
		{"locked.docx", "", "error: $ROOT/locked.docx is an Office file that is encrypted and needs a password. Ask the user for a copy without a password."},
		{"locked.docx", `,"pages":"1"`, "error: $ROOT/locked.docx is an Office file that is encrypted and needs a password. Ask the user for a copy without a password."},
	} {
		l.want(tc.name, tc.args, tc.want)
	}
}

// TestSheetInParts checks that a sheet that is too long for an answer says how to go on.
func TestSheetInParts(t *testing.T) {
	l := openLibrary(t)
	l.o.MaxTokens = 300
	var rows strings.Builder
	for range 1000 {
		rows.WriteString(`<row><c><v>123456789</v></c></row>`)
	}
	l.write("a.xlsx", zipOf(t, "[Content_Types].xml", "<Types/>", "xl/workbook.xml", `<workbook><sheets><sheet name="A" r:id="a"/><sheet name="B" r:id="a"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", `<r><Relationship Id="a" Type="worksheet" Target="worksheets/a.xml"/></r>`, "xl/worksheets/a.xml", `<worksheet><sheetData>`+rows.String()+`</sheetData></worksheet>`))
	got := l.read("a.xlsx", "")
	_, notes, _ := strings.Cut(got, "[")
	if want := "rows 1 to 51 of 1000; go on with pages \"1\" and offset 52]\n\n[the answer is full; not shown: B; go on with pages \"2\"]"; notes != want {
		t.Errorf("%s, want %s", notes, want)
	}
}
