package office

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"
)

func TestWord(t *testing.T) {
	for _, tc := range []struct{ name, body, want string }{
		{"paragraphs", para("one") + para("") + para("two &amp; three"), "one\n\ntwo & three"},
		{"headings", `<w:p><w:pPr><w:pStyle w:val="H2"/></w:pPr><w:r><w:t>A</w:t></w:r></w:p><w:p><w:pPr><w:pStyle w:val="Mine"/></w:pPr><w:r><w:t>B</w:t></w:r></w:p><w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:r><w:t>C</w:t></w:r></w:p>`, "## A\n\n## B\n\n# C"},
		{"lists", `<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>A</w:t></w:r></w:p><w:p><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>B</w:t></w:r></w:p>` + para("end"), "1. A\n   - B\n\nend"},
		{"a table", `<w:tbl><w:tr><w:tc>` + para("a") + `</w:tc><w:tc>` + para("b|c") + para("d") + `</w:tc></w:tr><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>` + para("wide") + `</w:tc></w:tr></w:tbl>`, "| a | b\\|c<br>d |\n|---|---|\n| wide | |"},
		{"tracked changes", `<w:p><w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:moveFrom><w:r><w:t>old</w:t></w:r></w:moveFrom><w:moveTo><w:r><w:t> here</w:t></w:r></w:moveTo></w:p>`, "new here\n\n[tracked changes: insertions are shown as text (1), deletions are left out (1)]"},
		{"an end of a paragraph that is deleted", `<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>a</w:t></w:r></w:p>` + para("b") + para("c"), "ab\n\nc"},
		{"the last end is deleted", `<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>a</w:t></w:r></w:p>`, "a"},
		{"a row that begins later", `<w:tbl><w:tr><w:tc>` + para("a") + `</w:tc><w:tc>` + para("b") + `</w:tc></w:tr><w:tr><w:trPr><w:gridBefore w:val="1"/></w:trPr><w:tc>` + para("c") + `</w:tc></w:tr></w:tbl>`, "| a | b |\n|---|---|\n| | c |"},
		{"a link", `<w:p><w:hyperlink r:id="l"><w:r><w:t>site</w:t></w:r></w:hyperlink></w:p>`, "[site](https://example.com/a)"},
		{"a text box, once", `<w:p><w:r><mc:AlternateContent><mc:Choice><w:txbxContent>` + para("box") + `</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>` + para("box") + `</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r><w:r><w:t>text</w:t></w:r></w:p>`, "text\n\nbox"},
		{"breaks and tabs", `<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p>`, "a\tb\nc"},
		{"hidden text", `<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>no</w:t></w:r><w:r><w:t>yes</w:t></w:r></w:p>`, "yes"},
		{"a field", `<w:p><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:t>3</w:t></w:r></w:p>`, "3"},
		{"a line for a signature", `<w:p><w:r><w:pict><v:shape><v:imagedata r:id="i"/><o:signatureline issignatureline="t" o:suggestedsigner="Ann Lee" o:suggestedsigner2="Director"/></v:shape></w:pict></w:r></w:p>`, "[line for a signature: Ann Lee, Director]"},
		{"a symbol", `<w:p><w:r><w:t>a </w:t><w:sym w:font="Wingdings" w:char="F0FE"/><w:sym w:font="Symbol" w:char="F061"/><w:sym w:font="Odd" w:char="F041"/></w:r></w:p>`, "a ☑α[symbol 65 of Odd]"},
		{"check boxes and a list of a form", `<w:p><w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox></w:ffData></w:fldChar></w:r><w:r><w:fldChar w:fldCharType="end"/><w:t>a </w:t></w:r><w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="0"/></w:checkBox></w:ffData></w:fldChar><w:t>b </w:t></w:r><w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="x"/><w:listEntry w:val="y"/></w:ddList></w:ffData></w:fldChar></w:r></w:p>`, "☒a ☐b y"},
		{"a link as a field", `<w:p><w:r><w:fldChar w:fldCharType="begin"/><w:instrText> HYPERLINK "https://e.org" </w:instrText><w:fldChar w:fldCharType="separate"/><w:t>site</w:t><w:fldChar w:fldCharType="end"/><w:t> end</w:t></w:r></w:p>`, "[site](https://e.org) end"},
		{"hidden by a style", `<w:p><w:r><w:rPr><w:rStyle w:val="HidToo"/></w:rPr><w:t>no</w:t></w:r><w:r><w:rPr><w:rStyle w:val="HidToo"/><w:vanish w:val="0"/></w:rPr><w:t>yes</w:t></w:r></w:p>`, "yes"},
		{"formulas", `<w:p><m:oMath><m:f><m:num><m:r><m:t>a+1</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f><m:r><m:t>=</m:t></m:r><m:rad><m:deg/><m:e><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:e></m:rad></m:oMath></w:p>`, "(a+1)/b=√(x^2)"},
		{"an embedded object", `<w:p><w:r><w:object><o:OLEObject ProgID="Excel.Sheet.12"/></w:object></w:r></w:p>`, "[embedded object: Excel.Sheet.12]"},
		{"WordArt", `<w:p><w:r><w:pict><v:shape><v:textpath string="DRAFT"/></v:shape></w:pict></w:r></w:p>`, "DRAFT"},
		{"a document inside", `<w:altChunk r:id="h"/>`, "[the document word/header1.xml inside of the file belongs here and is not shown; unpack the file to read it]"},
		{"content controls", `<w:sdt><w:sdtPr><w:alias w:val="x"/></w:sdtPr><w:sdtContent>` + para("in") + `</w:sdtContent></w:sdt>`, "in"},
	} {
		if got := show(t, wordOf(tc.body), Request{}); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

func TestWordNotes(t *testing.T) {
	data := wordOf(`<w:p><w:r><w:t>text</w:t><w:footnoteReference w:id="2"/><w:commentReference w:id="0"/></w:r></w:p>`,
		"word/footnotes.xml", `<w:footnotes><w:footnote w:type="separator" w:id="0">`+para("---")+`</w:footnote><w:footnote w:id="2">`+para("below")+`</w:footnote></w:footnotes>`,
		"word/comments.xml", `<w:comments><w:comment w:id="0" w:author="Ann">`+para("why?")+`</w:comment></w:comments>`,
		"word/header1.xml", `<w:hdr>`+para("Letterhead")+`</w:hdr>`)
	want := "text[^2][comment 0]\n\n[^2]: below\n\n[comment 0 by Ann: why?]\n\n[header: Letterhead]"
	if got := show(t, data, Request{}); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestWordInParts(t *testing.T) {
	data := wordOf(strings.Repeat(para("0123456789"), 10)) // 19 lines
	for _, tc := range []struct {
		r    Request
		want string
	}{
		{Request{Budget: 30}, "0123456789\n\n0123456789\n[1-4 of 19, next 5]"},
		{Request{Offset: 19}, "0123456789"},
		{Request{Offset: 3, Limit: 1}, "0123456789"},
		{Request{Offset: 20}, "error: ends at line 19, so there is no line 20. Use an offset from 1 to 19."},
		{Request{Budget: 4}, "0123\n[line 1 has 10 bytes, of which the first 4 are shown]\n[1-1 of 19, next 2]"},
	} {
		if got := show(t, data, tc.r); got != tc.want {
			t.Errorf("%+v:\n%s\nwant\n%s", tc.r, got, tc.want)
		}
	}
}

const cells = `<sheetData><row r="2"><c r="B2" t="s"><v>0</v></c><c r="C2" t="s"><v>1</v></c></row>
	<row r="4"><c r="B4" s="1"><v>1234.5</v></c><c r="C4" s="2"><v>45292</v></c><c r="D4" s="3"><f>B4/10</f><v>0.5</v></c><c r="E4" t="b"><v>1</v></c></row>
	<row r="5"><c r="B5" t="inlineStr"><is><t>a|b</t></is></c><c r="C5" t="e"><f t="shared" ref="C5:C6" si="0">SUM(B$4:B5)&amp;"B4"</f><v>#N/A</v></c></row>
	<row r="6"><c r="C6" t="str"><f t="shared" si="0"/><v>x</v></c></row></sheetData><mergeCells><mergeCell ref="B2:C2"/></mergeCells>`

func TestWorkbook(t *testing.T) {
	const other = `<sheetData><row><c><v>1</v></c></row></sheetData>`
	data := bookOf(cells, other, other)
	first := "sheet 1/3 S1 (B2:E6)\n|  | B | C | D | E |\n|---|---|---|---|---|\n| 2 | name | rich text |  |  |\n| 4 | 1,234.50 € | 2024-01-01 | 50% | TRUE |\n| 5 | a\\|b | #N/A |  |  |\n| 6 |  | x |  |  |\n[merged cells: B2:C2]"
	for _, tc := range []struct {
		name string
		r    Request
		want string
	}{
		{"one sheet", Request{First: 1}, first},
		{"all sheets", Request{}, first + "\nsheet 2/3 S2 (A1:A1)\n|  | A |\n|---|---|\n| 1 | 1 |\nsheet 3/3 S3 (A1:A1, hidden)\n|  | A |\n|---|---|\n| 1 | 1 |"},
		{"no such sheet", Request{First: 4}, "error: has 3 sheets, so there is no sheet 4. Ask for pages from 1 to 3."},
		{"formulas", Request{First: 1, Offset: 4, Formulas: true}, "sheet 1/3 S1 (B4:E6)\n|  | B | C | D | E |\n|---|---|---|---|---|\n| 4 | 1,234.50 € | 2024-01-01 | =B4/10 | TRUE |\n| 5 | a\\|b | =SUM(B$4:B5)&\"B4\" |  |  |\n| 6 |  | =SUM(B$4:B6)&\"B4\" |  |  |\n[merged cells: B2:C2]"},
		{"rows", Request{First: 1, Offset: 2, Limit: 3}, "sheet 1/3 S1 (B2:E4)\n|  | B | C | D | E |\n|---|---|---|---|---|\n| 2 | name | rich text |  |  |\n| 4 | 1,234.50 € | 2024-01-01 | 50% | TRUE |\n[merged cells: B2:C2]"},
		{"a full answer", Request{Budget: 40}, "sheet 1/3 S1 (B2:C2)\n|  | B | C |\n|---|---|---|\n| 2 | name | rich text |\n[merged cells: B2:C2]\n[2-2 of 6, next 4]\n[next 2 [S2 S3]]"},
		{"past the end", Request{First: 1, Offset: 7}, "error: ends at row 6, so there is no row 7. Use an offset from 1 to 6."},
	} {
		if got := show(t, data, tc.r); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

func TestPresentation(t *testing.T) {
	text := func(place, s string) string {
		return `<p:sp><p:nvSpPr><p:nvPr><p:ph type="` + place + `"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>` + s + `</a:t></a:r></a:p></p:txBody></p:sp>`
	}
	data := archiveOf(
		"ppt/presentation.xml", `<p:presentation><p:sldIdLst><p:sldId id="256" r:id="b"/><p:sldId id="257" r:id="a"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", `<Relationships><Relationship Id="a" Type="x/slide" Target="slides/slide1.xml"/><Relationship Id="b" Type="x/slide" Target="slides/slide2.xml"/></Relationships>`,
		"ppt/slides/slide1.xml", `<p:sld show="0">`+text("title", "Second")+`<p:graphicFrame><a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>a</a:t></a:r></a:p></a:txBody></a:tc><a:tc><a:txBody><a:p><a:r><a:t>b</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl></p:graphicFrame></p:sld>`,
		"ppt/slides/slide2.xml", `<p:sld>`+text("ctrTitle", "First")+text("body", "point")+text("sldNum", "7")+`</p:sld>`,
		"ppt/slides/_rels/slide2.xml.rels", `<Relationships><Relationship Id="n" Type="x/notesSlide" Target="../notesSlides/notesSlide1.xml"/></Relationships>`,
		"ppt/notesSlides/notesSlide1.xml", `<p:notes>`+text("body", "say this")+text("sldNum", "1")+`</p:notes>`)
	want := "slide 1/2 First ()\n- point\n\nNotes:\n- say this\nslide 2/2 Second (hidden)\n| a | b |\n|---|---|"
	if got := show(t, data, Request{}); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got, want := show(t, data, Request{Budget: 10}), "[next 2 []]"; !strings.HasSuffix(got, want) {
		t.Errorf("%s does not end with %s", got, want)
	}
}

func TestSlideParts(t *testing.T) {
	shape := func(hidden, s string) string {
		return `<p:sp><p:nvSpPr><p:cNvPr id="1"` + hidden + `/></p:nvSpPr><p:txBody><a:p><a:r><a:t>` + s + `</a:t></a:r></a:p></p:txBody></p:sp>`
	}
	chart := `<c:chartSpace><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:barChart>`
	for _, name := range []string{"North", "South"} {
		chart += `<c:ser><c:tx><c:strRef><c:f>S!A1</c:f><c:strCache><c:pt idx="0"><c:v>` + name + `</c:v></c:pt></c:strCache></c:strRef></c:tx><c:cat><c:strRef><c:strCache><c:pt idx="0"><c:v>Q1</c:v></c:pt><c:pt idx="2"><c:v>Q3</c:v></c:pt></c:strCache></c:strRef></c:cat><c:val><c:numRef><c:numCache><c:formatCode>0</c:formatCode><c:pt idx="0"><c:v>4</c:v></c:pt><c:pt idx="2"><c:v>5</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser>`
	}
	chart += `</c:barChart></c:plotArea></c:chart></c:chartSpace>`
	data := archiveOf(
		"ppt/presentation.xml", `<p:presentation><p:sldIdLst><p:sldId id="256" r:id="a"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", `<Relationships><Relationship Id="a" Type="x/slide" Target="slides/slide1.xml"/></Relationships>`,
		"ppt/slides/slide1.xml", `<p:sld><p:spTree>`+shape("", "seen")+shape(` hidden="1"`, "not seen")+`<p:grpSp><p:nvGrpSpPr><p:cNvPr id="2" hidden="1"/></p:nvGrpSpPr>`+shape("", "in a hidden group")+`</p:grpSp>`+shape("", "last")+`</p:spTree></p:sld>`,
		"ppt/slides/_rels/slide1.xml.rels", `<Relationships><Relationship Id="c" Type="x/chart" Target="../charts/chart1.xml"/></Relationships>`,
		"ppt/charts/chart1.xml", chart)
	const shown = "[chart: Sales]\n\n| | North | South |\n|---|---|---|\n| Q1 | 4 | 4 |\n| | | |\n| Q3 | 5 | 5 |"
	if got, want := show(t, data, Request{}), "slide 1/1  ()\nseen\n\nlast\n\n"+shown; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	data = archiveOf("word/document.xml", `<w:document><w:body><w:p><w:r><w:t>text</w:t></w:r><w:r><w:drawing><c:chart r:id="c"/></w:drawing></w:r></w:p></w:body></w:document>`,
		"word/_rels/document.xml.rels", `<Relationships><Relationship Id="c" Type="x/chart" Target="charts/chart1.xml"/></Relationships>`, "word/charts/chart1.xml", chart)
	if got, want := show(t, data, Request{}), "text\n\n"+shown; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestOpenDocument(t *testing.T) {
	odf := func(kind, content string) []byte {
		return archiveOf("mimetype", "application/vnd.oasis.opendocument."+kind, "content.xml", `<office:document-content>`+content+`</office:document-content>`)
	}
	for _, tc := range []struct{ name, kind, content, want string }{
		{"text", "text", `<office:body><office:text><text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h text:outline-level="2">H</text:h><text:p>a<text:s text:c="2"/>b<text:line-break/>c <text:a xlink:href="https://x.org/">l</text:a></text:p>
			<text:list><text:list-item><text:p>i</text:p><text:list><text:list-item><text:p>j</text:p></text:list-item></text:list></text:list-item></text:list>
			<text:p>n<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>foot</text:p></text:note-body></text:note><office:annotation><dc:creator>Ann</dc:creator><dc:date>2024</dc:date><text:p>why</text:p></office:annotation></text:p>
			<table:table><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row></table:table></office:text></office:body>`,
			"## H\n\na  b\nc [l](https://x.org/)\n\n- i\n   - j\n\nn[^1]\n\n| x |\n|---|\n\n[^1]: foot\n\n[comment by Ann: why]"},
		{"sheets", "spreadsheet", `<table:table table:name="One"><table:table-row table:number-rows-repeated="2"><table:table-cell/></table:table-row><table:table-row table:number-rows-repeated="2"><table:table-cell/><table:table-cell table:number-columns-repeated="2" table:formula="of:=1+1"><text:p>2</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16000"/></table:table-row><table:table-row table:number-rows-repeated="1048000"><table:table-cell/></table:table-row></table:table><table:table table:name="Two"/>`,
			"sheet 1/2 One (B3:C4)\n|  | B | C |\n|---|---|---|\n| 3 | 2 | 2 |\n| 4 | 2 | 2 |\nsheet 2/2 Two ()"},
		{"slides", "presentation", `<draw:page><draw:frame><draw:text-box><text:p>hello</text:p></draw:text-box></draw:frame><presentation:notes><text:p>spoken</text:p></presentation:notes></draw:page>`,
			"slide 1/1  ()\nhello\n\nNotes:\nspoken"},
	} {
		if got := show(t, odf(tc.kind, tc.content), Request{}); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

func TestNumberFormats(t *testing.T) {
	for _, tc := range []struct {
		code string
		v    float64
		want string
	}{
		{"0", 2.5, "3"}, {"0.00", 1.005, "1.01"}, {"#,##0", 1234567, "1,234,567"}, {"#,##0.00", -1234.5, "-1,234.50"}, {"0.0#", 1.5, "1.5"},
		{"0%", 0.256, "26%"}, {"0.00E+00", 12345, "1.23E+04"}, {"##0.0E+0", 12345, "12.3E+3"}, {"# ?/?", 1.5, "1 1/2"}, {"# ?/?", 0.3333, "1/3"},
		{`"$"#,##0.00`, 5, "$5.00"}, {`#,##0.00\ [$€-407]`, 5, "5.00 €"}, {"#,##0;(#,##0)", -5, "(5)"}, {`0;-0;"zero"`, 0, "zero"}, {"[Red]0;[Blue]-0", -3, "-3"},
		{"[>=100]0;0.00", 5, "5.00"}, {"[>=100]0;0.00", 500, "500"}, {"0,", 12345, "12"}, {"0.0,,\"M\"", 1234567, "1.2M"}, {"000", 7, "007"}, {"General", 0.1 + 0.2, "0.3"}, {"General", 1234567890123456, "1234567890123456"}, {"General", 1e20, "1E+20"}, {"0", 1234567890123456, "1234567890123456"},
		{"yyyy-mm-dd", 45292, "2024-01-01"}, {"d mmm yyyy", 45292, "1 Jan 2024"}, {"dddd", 45292, "Monday"}, {"h:mm AM/PM", 0.75, "6:00 PM"}, {"[h]:mm", 1.5, "36:00"},
		{"mm:ss", 0.5 / 24, "30:00"}, {"hh:mm:ss.000", 0.5, "12:00:00.000"}, {"m/d/yy h:mm", 45292.5, "1/1/24 12:00"}, {"yyyy-mm-dd", 1, "1900-01-01"}, {"yyyy-mm-dd", -1, "-1"},
		{"#", 0, ""}, {"0.###", 2, "2"}, {`"n/a"`, 5, "n/a"}, {"@", 5, "5"}, {"[", 5, ""}, {`"`, 5, ""}, {`\`, 5, `\`},
	} {
		if got := parseFormat(tc.code).number(tc.v, false); got != tc.want {
			t.Errorf("%v as %q: %q, want %q", tc.v, tc.code, got, tc.want)
		}
	}
	if got := parseFormat("yyyy-mm-dd").number(0, true); got != "1904-01-01" {
		t.Errorf("the first day of 1904 is %s", got)
	}
	if got := parseFormat(`0;0;0;"<"@">"`).text("x"); got != "<x>" {
		t.Errorf("text is %s", got)
	}
}

func TestBesideText(t *testing.T) {
	diagram := wordOf(`<w:p><w:r><w:drawing><dgm:relIds r:dm="d"/></w:drawing></w:r></w:p>`,
		"word/_rels/document.xml.rels", `<Relationships><Relationship Id="d" Type="x/diagramData" Target="diagrams/data1.xml"/></Relationships>`,
		"word/diagrams/data1.xml", `<dgm:dataModel><dgm:pt><dgm:t><a:p><a:r><a:t>top</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:dataModel>`)
	sheet := archiveOf(
		"xl/workbook.xml", `<workbook><sheets><sheet name="S" sheetId="1" r:id="r"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="r" Type="x/worksheet" Target="worksheets/s.xml"/></Relationships>`,
		"xl/worksheets/s.xml", `<worksheet><sheetData><row r="1"><c r="A1"><v>1</v></c></row></sheetData><hyperlinks><hyperlink ref="A1" r:id="h"/></hyperlinks></worksheet>`,
		"xl/worksheets/_rels/s.xml.rels", `<Relationships><Relationship Id="h" Type="x/hyperlink" Target="https://e.org/" TargetMode="External"/><Relationship Id="c" Type="x/comments" Target="../c.xml"/><Relationship Id="d" Type="x/drawing" Target="../d.xml"/></Relationships>`,
		"xl/c.xml", `<comments><authors><author>Bob</author></authors><commentList><comment ref="A1" authorId="0"><text><r><t>net</t></r></text></comment></commentList></comments>`,
		"xl/d.xml", `<xdr:wsDr><xdr:sp><xdr:txBody><a:p><a:r><a:t>box</a:t></a:r></a:p></xdr:txBody></xdr:sp></xdr:wsDr>`)
	slide := archiveOf(
		"ppt/presentation.xml", `<p:presentation><p:sldIdLst><p:sldId r:id="a"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", `<Relationships><Relationship Id="a" Type="x/slide" Target="slides/s.xml"/><Relationship Id="b" Type="x/authors" Target="authors.xml"/></Relationships>`,
		"ppt/authors.xml", `<p188:authorLst><p188:author id="{1}" name="Ann"/><p188:author id="{2}" name="Bob"/></p188:authorLst>`,
		"ppt/slides/s.xml", `<p:sld><p:pic><p:cNvPr descr="A bicycle"/></p:pic><p:graphicFrame><p:oleObj name="Budget" progId="Excel"/></p:graphicFrame><p:sp><p:txBody><a:p><a:pPr><a:buAutoNum startAt="3"/></a:pPr><a:r><a:t>c</a:t></a:r></a:p><a:p><a:pPr><a:buAutoNum startAt="3"/></a:pPr><a:r><a:t>d</a:t></a:r></a:p></p:txBody></p:sp><p:sp><p:txBody><a:p><a:r><a:rPr><a:hlinkClick r:id="h"/></a:rPr><a:t>site</a:t></a:r></a:p></p:txBody></p:sp></p:sld>`,
		"ppt/slides/_rels/s.xml.rels", `<Relationships><Relationship Id="h" Type="x/hyperlink" Target="https://e.org/" TargetMode="External"/><Relationship Id="c" Type="x/comments" Target="c.xml"/></Relationships>`,
		"ppt/slides/c.xml", `<p188:cmLst><p188:cm authorId="{1}"><p188:replyLst><p188:reply authorId="{2}"><p188:txBody><a:t>yes</a:t></p188:txBody></p188:reply></p188:replyLst><p188:txBody><a:t>sure?</a:t></p188:txBody></p188:cm></p188:cmLst>`)
	odf := func(kind, styles, body, more string) []byte {
		return archiveOf("mimetype", "application/vnd.oasis.opendocument."+kind, "styles.xml", more,
			"content.xml", `<office:document-content><office:automatic-styles>`+styles+`</office:automatic-styles><office:body>`+body+`</office:body></office:document-content>`)
	}
	for _, tc := range []struct {
		name string
		data []byte
		want string
	}{
		{"a diagram", diagram, "top"},
		{"a sheet", sheet, "sheet 1/1 S (A1:A1)\n|  | A |\n|---|---|\n| 1 | 1 |\n[link of A1: https://e.org/]\n[comment on A1 by Bob: net]\n[on the sheet: box]"},
		{"a slide", slide, "slide 1/1  ()\n[picture: A bicycle]\n\n[embedded object: Budget Excel]\n\n3. c\n4. d\n\n[site](https://e.org/)\n\n[comment by Ann: sure?]\n[comment by Bob: yes]"},
		{"no sheets", bookOf(), "error: is damaged: it lists no sheets. Get the file again from where it came from."},
		{"hidden rows and columns", bookOf(`<cols><col min="2" max="3" hidden="1"/></cols><sheetData><row r="1" hidden="1"><c r="A1"><v>1</v></c></row></sheetData>`), "sheet 1/1 S1 (A1:A1)\n|  | A |\n|---|---|\n| 1 | 1 |\n[hidden rows and columns, which are shown here: B, C, 1]"},
		{"a picture", odf("text", "", `<text:p>x <draw:frame><svg:desc>Map</svg:desc></draw:frame></text:p>`, ""), "x [picture: Map]"},
		{"a picture beside a text", odf("text", "", `<text:p>ipsu<draw:frame text:anchor-type="char"><svg:title>Map</svg:title></draw:frame>m</text:p>`, ""), "ipsum [picture: Map]"},
		{"a table as a header", odf("text", "", `<text:p>a</text:p>`, `<s><style:master-page><style:header><table:table><table:table-row><table:table-cell><text:p>left | a</text:p></table:table-cell><table:table-cell/><table:table-cell><text:p>right</text:p></table:table-cell></table:table-row></table:table></style:header><style:footer><table:table><table:table-row><table:table-cell/></table:table-row></table:table></style:footer></style:master-page></s>`), "a\n\n[header: left | a right]"},
		{"a link within the file", archiveOf(
			"ppt/presentation.xml", `<p:presentation><p:sldIdLst><p:sldId r:id="a"/></p:sldIdLst></p:presentation>`,
			"ppt/_rels/presentation.xml.rels", `<Relationships><Relationship Id="a" Type="x/slide" Target="slides/s.xml"/></Relationships>`,
			"ppt/slides/s.xml", `<p:sld><p:txBody><a:p><a:r><a:rPr><a:hlinkClick r:id="h"/></a:rPr><a:t>[1]</a:t></a:r></a:p></p:txBody></p:sld>`,
			"ppt/slides/_rels/s.xml.rels", `<Relationships><Relationship Id="h" Type="x/hyperlink" Target="#_ftn1"/></Relationships>`), "slide 1/1  ()\n[1]"},
		{"headers", odf("text", "", `<text:p>a</text:p>`, `<s><style:master-page><style:header><text:p>top</text:p></style:header><style:footer><text:p>end</text:p></style:footer></style:master-page></s>`), "a\n\n[header: top]\n[footer: end]"},
		{"a hidden slide", odf("presentation", `<style:style style:name="h"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>`, `<draw:page draw:style-name="h"><text:p>a</text:p></draw:page>`, ""), "slide 1/1  (hidden)\na"},
		{"a comment on a cell", odf("spreadsheet", "", `<table:table table:name="T"><table:table-row><table:table-cell><office:annotation><dc:creator>Eve</dc:creator><text:p>odd</text:p></office:annotation><text:p>9</text:p></table:table-cell></table:table-row></table:table>`, ""), "sheet 1/1 T (A1:A1)\n|  | A |\n|---|---|\n| 1 | 9 |\n[A1, comment by Eve: odd]"},
	} {
		if got := show(t, tc.data, Request{}); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
	if got := parseFormat("(###) ###-####").number(5551234567, false); got != "(555) 123-4567" {
		t.Errorf("a telephone number: %s", got)
	}
}

// utf16Of returns a text in UTF-16.
func utf16Of(s string, order unicode.Endianness, bom unicode.BOMPolicy) string {
	out, err := unicode.UTF16(order, bom).NewEncoder().String(s)
	if err != nil {
		panic(err)
	}
	return out
}

func TestEncodings(t *testing.T) {
	doc := `<w:document><w:body>` + para("naïve 漢") + `</w:body></w:document>`
	latin := strings.ReplaceAll(`<?xml version="1.0" encoding="ISO-8859-1"?>`+doc, "naïve 漢", "na\xefve")
	for _, tc := range []struct{ name, document, want string }{
		{"little endian with a mark", utf16Of(`<?xml version="1.0" encoding="UTF-16"?>`+doc, unicode.LittleEndian, unicode.UseBOM), "naïve 漢"},
		{"big endian with a mark", utf16Of(doc, unicode.BigEndian, unicode.UseBOM), "naïve 漢"},
		{"little endian", utf16Of(`<?xml version="1.0" encoding="utf-16le"?>`+doc, unicode.LittleEndian, unicode.IgnoreBOM), "naïve 漢"},
		{"big endian", utf16Of(`<?xml version="1.0" encoding="utf-16"?>`+doc, unicode.BigEndian, unicode.IgnoreBOM), "naïve 漢"},
		{"UTF-8 with a mark", "\ufeff" + doc, "naïve 漢"},
		{"Latin-1", latin, "naïve"},
		{"of no known name", `<?xml version="1.0" encoding="x-none"?>` + doc, "error: is damaged: its part document.xml is not valid XML. Get the file again from where it came from."},
	} {
		if got := show(t, wordOf("", "word/document.xml", tc.document), Request{}); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

func TestChartValues(t *testing.T) {
	series := func(code string, values ...string) string {
		s := `<c:chartSpace><c:chart><c:barChart><c:ser><c:cat><c:numRef><c:numCache><c:formatCode>m/d/yyyy</c:formatCode><c:pt idx="0"><c:v>45292</c:v></c:pt></c:numCache></c:numRef></c:cat><c:val><c:numRef><c:numCache>` + code
		for i, v := range values {
			s += fmt.Sprintf(`<c:pt idx="%d"><c:v>%s</c:v></c:pt>`, i, v)
		}
		return s + `</c:numCache></c:numRef></c:val></c:ser></c:barChart></c:chart></c:chartSpace>`
	}
	for _, tc := range []struct{ chart, want string }{
		{series(`<c:formatCode>General</c:formatCode>`, "4.4000000000000004", "#N/A"), "| 2024-01-01 | 4.4 |\n| | #N/A |"},
		{series(`<c:formatCode>$#,##0</c:formatCode>`, "15.53"), "| 2024-01-01 | 15.53 |"},
		{series("", "12"), "| 2024-01-01 | 12 |"},
	} {
		data := wordOf(`<w:p><w:r><w:drawing><c:chart r:id="c"/></w:drawing></w:r></w:p>`, "word/charts/chart1.xml", tc.chart,
			"word/_rels/document.xml.rels", `<Relationships><Relationship Id="c" Type="x/chart" Target="charts/chart1.xml"/></Relationships>`)
		if got, want := show(t, data, Request{}), "[chart]\n\n| | |\n|---|---|\n"+tc.want; got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}
