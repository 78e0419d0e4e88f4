package office

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// archiveOf returns a ZIP archive with pairs of a name and a content.
func archiveOf(pairs ...string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i+1 < len(pairs); i += 2 {
		w, err := z.Create(pairs[i])
		if err != nil {
			panic(err)
		}
		if _, err := w.Write([]byte(pairs[i+1])); err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// wordOf returns a .docx file with the given body; more are further parts.
func wordOf(body string, more ...string) []byte {
	return archiveOf(append(more, []string{ // of parts with the same name the first counts
		"word/document.xml", `<w:document><w:body>` + body + `</w:body></w:document>`,
		"word/_rels/document.xml.rels", `<Relationships>
			<Relationship Id="s" Type="x/styles" Target="styles.xml"/><Relationship Id="n" Type="x/numbering" Target="numbering.xml"/>
			<Relationship Id="f" Type="x/footnotes" Target="footnotes.xml"/><Relationship Id="c" Type="x/comments" Target="comments.xml"/>
			<Relationship Id="h" Type="x/header" Target="header1.xml"/>
			<Relationship Id="l" Type="x/hyperlink" Target="https://example.com/a" TargetMode="External"/></Relationships>`,
		"word/styles.xml", `<w:styles><w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style><w:style w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="H2"/></w:style><w:style w:styleId="Hid"><w:rPr><w:vanish/></w:rPr></w:style><w:style w:styleId="HidToo"><w:basedOn w:val="Hid"/></w:style></w:styles>`,
		"word/numbering.xml", `<w:numbering><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>
			<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>`,
	}...)...)
}

// para returns a paragraph.
func para(text string) string {
	return `<w:p><w:r><w:t xml:space="preserve">` + text + `</w:t></w:r></w:p>`
}

// bookOf returns a .xlsx file with a sheet for each content of sheetData.
func bookOf(sheets ...string) []byte {
	var list, rels strings.Builder
	pairs := []string{}
	for i, s := range sheets {
		state := ""
		if i == 2 {
			state = ` state="hidden"`
		}
		fmt.Fprintf(&list, `<sheet name="S%d" sheetId="%d" r:id="r%d"%s/>`, i+1, i+1, i+1, state)
		fmt.Fprintf(&rels, `<Relationship Id="r%d" Type="x/worksheet" Target="worksheets/sheet%d.xml"/>`, i+1, i+1)
		pairs = append(pairs, fmt.Sprintf("xl/worksheets/sheet%d.xml", i+1), `<worksheet>`+s+`</worksheet>`)
	}
	return archiveOf(append(pairs,
		"xl/workbook.xml", `<workbook><sheets>`+list.String()+`</sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", `<Relationships>`+rels.String()+`<Relationship Id="a" Type="x/sharedStrings" Target="/xl/sharedStrings.xml"/><Relationship Id="b" Type="x/styles" Target="styles.xml"/></Relationships>`,
		"xl/sharedStrings.xml", `<sst><si><t>name</t></si><si><r><t>rich </t></r><r><t>text</t></r><rPh><t>no</t></rPh></si></sst>`,
		"xl/styles.xml", `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="#,##0.00\ [$€-407]"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="14"/><xf numFmtId="9"/></cellXfs></styleSheet>`,
	)...)
}

// show reads a file and formats the result for comparison.
func show(t *testing.T, data []byte, r Request) string {
	t.Helper()
	d, err := Read(bytes.NewReader(data), int64(len(data)), r)
	if err != nil {
		return "error: " + err.Error()
	}
	var b strings.Builder
	for _, p := range d.Parts {
		if d.Kind != Text {
			fmt.Fprintf(&b, "%s %d/%d %s (%s)\n", d.Kind, p.Number, d.Total, p.Name, p.Detail)
		}
		b.WriteString(p.Text + "\n")
		for _, n := range p.Notes {
			b.WriteString("[" + n + "]\n")
		}
		if p.Next > 0 {
			fmt.Fprintf(&b, "[%d-%d of %d, next %d]\n", p.First, p.Last, p.Total, p.Next)
		}
	}
	if d.Next > 0 {
		fmt.Fprintf(&b, "[next %d %v]\n", d.Next, d.Left)
	}
	return strings.TrimSpace(b.String())
}
