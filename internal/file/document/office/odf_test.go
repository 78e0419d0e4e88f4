package office

import (
	"strings"
	"testing"
)

// odfOf returns an OpenDocument file with a styles part, the content of its body and more
// parts.
func odfOf(kind, styles, automatic, body string, more ...string) []byte {
	return archiveOf(append([]string{
		"mimetype", "application/vnd.oasis.opendocument." + kind, "styles.xml", `<office:document-styles>` + styles + `</office:document-styles>`,
		"content.xml", `<office:document-content><office:automatic-styles>` + automatic + `</office:automatic-styles><office:body>` + body + `</office:body></office:document-content>`,
	}, more...)...)
}

func TestOpenDocumentObjects(t *testing.T) {
	chart := `<office:document-content><office:body><office:chart><chart:chart><chart:title><text:p>Sales</text:p></chart:title><table:table><table:table-header-rows><table:table-row><table:table-cell><text:p/></table:table-cell><table:table-cell office:value-type="string"><text:p>North</text:p></table:table-cell></table:table-row></table:table-header-rows>
		<table:table-row><table:table-cell><text:p>Q1</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="4.4"/></table:table-row></table:table></chart:chart></office:chart></office:body></office:document-content>`
	math := `<math><semantics><mrow><mfrac><mi>π</mi><mn>2</mn></mfrac><mo>+</mo><msqrt><mi>a</mi><mi>b</mi></msqrt><mo>=</mo><msubsup><mi>x</mi><mn>1</mn><mrow><mi>n</mi><mo>+</mo><mn>1</mn></mrow></msubsup></mrow><annotation encoding="StarMath 5.0">π over 2</annotation></semantics></math>`
	object := func(href string) string {
		return `<draw:frame text:anchor-type="as-char"><draw:object xlink:href="` + href + `"/><draw:image xlink:href="./ObjectReplacements/Object 1"/></draw:frame>`
	}
	const shown = "[chart: Sales]\n\n| | North |\n|---|---|\n| Q1 | 4.4 |"
	for _, tc := range []struct{ name, kind, body, want string }{
		{"a chart in a text", "text", `<office:text><text:p>a` + object("./Object 1") + `b</text:p></office:text>`, "ab\n\n" + shown},
		{"a formula in a text", "text", `<office:text><text:p>so ` + object("Object 2/") + ` it is</text:p></office:text>`, "so π/2+√(ab)=x_1^(n+1) it is"},
		{"a formula in the file", "text", `<office:text><text:p><draw:frame><draw:object>` + math + `</draw:object></draw:frame></text:p></office:text>`, "π/2+√(ab)=x_1^(n+1)"},
		{"a sheet in a text", "text", `<office:text><text:p>a` + object("./Object 3") + `</text:p></office:text>`, "a\n\n[embedded object: spreadsheet]\n\n| x |\n|---|"},
		{"a drawing in a text", "text", `<office:text><text:p>a` + object("./Object 5") + `</text:p></office:text>`, "a\n\n[embedded object: drawing]"},
		{"an object of another program", "text", `<office:text><text:p>a <draw:frame><draw:object-ole xlink:href="./Object 4"/></draw:frame></text:p></office:text>`, "a [embedded object]"},
		{"an object that is not there", "text", `<office:text><text:p>a` + object("./Object 9") + `</text:p></office:text>`, "a"},
		{"a chart on a slide", "presentation", `<draw:page>` + object("./Object 1") + `</draw:page>`, "slide 1/1  ()\n" + shown},
		{"a chart in a cell", "spreadsheet", `<table:table table:name="T"><table:table-row><table:table-cell><text:p>1</text:p>` + object("./Object 1") + `</table:table-cell></table:table-row></table:table>`, "sheet 1/1 T (A1:A1)\n|  | A |\n|---|---|\n| 1 | 1 |\n[A1, chart: Sales]"},
		{"a chart and a text on a sheet", "spreadsheet", `<table:table table:name="T"><table:shapes>` + object("./Object 1") + `<draw:frame><draw:text-box><text:p>box</text:p></draw:text-box></draw:frame></table:shapes><table:table-row><table:table-cell><text:p>1</text:p></table:table-cell></table:table-row></table:table>`, "sheet 1/1 T (A1:A1)\n|  | A |\n|---|---|\n| 1 | 1 |\n[on the sheet: box]\n[on the sheet: chart: Sales]"},
	} {
		data := odfOf(tc.kind, "", "", tc.body, "Object 1/content.xml", chart, "Object 2/content.xml", math,
			"Object 3/content.xml", `<office:document-content><office:body><office:spreadsheet><table:table><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row></table:table><table:table><table:table-row><table:table-cell><text:p>second</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet></office:body></office:document-content>`,
			"Object 5/content.xml", `<office:document-content><office:body><office:drawing><draw:page><text:p>x</text:p></draw:page></office:drawing></office:body></office:document-content>`)
		if got := show(t, data, Request{}); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
	for _, tc := range []struct{ math, want string }{
		{`<mi>A</mi><mi>classic</mi><mi>:</mi><mi>a</mi><mi>b</mi><mi>sin</mi><mi>x</mi>`, "A classic:ab sin x"}, {`<msup><mi>sin</mi><mi>n</mi></msup>`, "(sin)^n"},
		{`<msup><mi>x</mi><mn>2</mn></msup>`, "x^2"}, {`<munderover><mo>∑</mo><mn>0</mn><mi>n</mi></munderover><mi>i</mi>`, "∑_0^ni"},
		{`<mroot><mi>a</mi><mn>3</mn></mroot>`, "3√a"}, {`<mfenced open="[" close="]"><mi>a</mi><mi>b</mi></mfenced>`, "[a,b]"}, {`<mfenced><mi>a</mi></mfenced>`, "(a)"},
		{`<mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr><mtr><mtd><mi>c</mi></mtd></mtr></mtable>`, "a, b; c"}, {`<mfrac><mi>a</mi></mfrac>`, "a/"}, {`<mphantom><mi>a</mi></mphantom><mi>b</mi>`, "b"},
	} {
		data := odfOf("text", "", "", `<office:text><text:p><draw:frame><draw:object><math>`+tc.math+`</math></draw:object></draw:frame></text:p></office:text>`)
		if got := show(t, data, Request{}); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.math, got, tc.want)
		}
	}
}

func TestMasterSlides(t *testing.T) {
	frame := func(class, text string) string {
		return `<draw:frame presentation:class="` + class + `"><draw:text-box><text:p>` + text + `</text:p></draw:text-box></draw:frame>`
	}
	styles := `<office:master-styles><style:master-page style:name="M">` + frame("title", "Click here") + frame("footer", "<presentation:footer/>") + frame("header", "<presentation:header/>") + frame("date-time", "today") +
		`<draw:custom-shape><text:p>Draft<text:page-number>1</text:page-number></text:p></draw:custom-shape><presentation:notes>` + frame("footer", "no") + `</presentation:notes></style:master-page></office:master-styles>`
	look := func(name, more string) string {
		return `<style:style style:name="` + name + `"><style:drawing-page-properties ` + more + `/></style:style>`
	}
	page := func(more, text string) string {
		return `<draw:page draw:master-page-name="M" ` + more + `>` + frame("outline", text) + `</draw:page>`
	}
	data := odfOf("presentation", styles, look("on", `presentation:display-footer="true"`)+look("off", `presentation:background-objects-visible="false"`),
		`<presentation:footer-decl presentation:name="f">© Ann</presentation:footer-decl>`+
			page(`draw:style-name="on" presentation:use-footer-name="f"`, "a")+page(`draw:style-name="on" presentation:use-footer-name="f"`, "b")+page("", "c")+page(`draw:style-name="off"`, "d")+
			`<draw:page>`+frame("outline", "first")+frame("title", "The title")+frame("page-number", "5")+`</draw:page>`)
	want := "slide 1/5  ()\na\n\n[from the master slide, from here on: Draft © Ann]\nslide 2/5  ()\nb\nslide 3/5  ()\nc\n\n[from the master slide, from here on: Draft]\n" +
		"slide 4/5  ()\nd\n\n[from the master slide, from here on: nothing]\nslide 5/5 The title ()\nfirst"
	if got := show(t, data, Request{}); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got, want := show(t, data, Request{First: 2, Last: 2}), "slide 2/5  ()\nb\n\n[from the master slide, from here on: Draft © Ann]"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}

	shape := func(place, s string) string {
		return `<p:sp><p:nvSpPr><p:nvPr>` + place + `</p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>` + s + `</a:t></a:r></a:p></p:txBody></p:sp>`
	}
	rels := func(kind, target string) string {
		return `<Relationships><Relationship Id="a" Type="x/` + kind + `" Target="` + target + `"/></Relationships>`
	}
	pptx := func(slide, layout string) []byte {
		return archiveOf(
			"ppt/presentation.xml", `<p:presentation><p:sldIdLst><p:sldId id="256" r:id="a"/></p:sldIdLst></p:presentation>`,
			"ppt/_rels/presentation.xml.rels", rels("slide", "slides/slide1.xml"),
			"ppt/slides/slide1.xml", `<p:sld`+slide+`>`+shape("", "own")+`</p:sld>`, "ppt/slides/_rels/slide1.xml.rels", rels("slideLayout", "../slideLayouts/l.xml"),
			"ppt/slideLayouts/l.xml", `<p:sldLayout`+layout+`>`+shape(`<p:ph type="title"/>`, "Click")+shape("", "layout")+`</p:sldLayout>`, "ppt/slideLayouts/_rels/l.xml.rels", rels("slideMaster", "../slideMasters/m.xml"),
			"ppt/slideMasters/m.xml", `<p:sldMaster>`+shape(`<p:ph/>`, "Click")+shape("", "Company ‹#›")+`<p:oleObj progId="Image"/>`+`</p:sldMaster>`)
	}
	for _, tc := range []struct{ slide, layout, want string }{
		{"", "", "\n\n[from the master slide, from here on: layout Company]"},
		{"", ` showMasterSp="0"`, "\n\n[from the master slide, from here on: layout]"},
		{` showMasterSp="0"`, "", ""},
		{"", ` showMasterSp="1"`, "\n\n[from the master slide, from here on: layout Company]"},
	} {
		if got, want := show(t, pptx(tc.slide, tc.layout), Request{}), "slide 1/1  ()\nown"+tc.want; got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

func TestListsOfSlides(t *testing.T) {
	list := func(style, text string) string {
		return `<text:list text:style-name="` + style + `"><text:list-item><text:p>` + text + `</text:p></text:list-item></text:list>`
	}
	number := func(name, format string) string {
		return `<text:list-style style:name="` + name + `"><text:list-level-style-number text:level="1" style:num-format="` + format + `" style:num-suffix="."/></text:list-style>`
	}
	body := `<draw:page><draw:frame><draw:text-box>` + list("p", "Head") + list("a", "one") + list("b", "two") + `<text:p>between</text:p>` + list("a", "new") + list("i", "x") + list("none", "y") +
		`</draw:text-box></draw:frame><draw:frame><draw:text-box>` + list("b", "other frame") + `</draw:text-box></draw:frame></draw:page>`
	data := odfOf("presentation", "", number("a", "1")+number("b", "1")+number("i", "i")+strings.ReplaceAll(number("p", ""), `style:num-suffix="."`, ""), body)
	want := "slide 1/1  ()\nHead\n1. one\n2. two\n\nbetween\n\n1. new\ni. x\n- y\n\n1. other frame"
	if got := show(t, data, Request{}); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestNestedLists(t *testing.T) {
	item := func(text, more string) string {
		return `<text:list-item><text:p>` + text + `</text:p>` + more + `</text:list-item>`
	}
	list := func(style string, items ...string) string {
		return `<text:list text:style-name="` + style + `">` + strings.Join(items, "") + `</text:list>`
	}
	styles := ""
	for _, name := range []string{"A", "B"} {
		styles += `<text:list-style style:name="` + name + `"><text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="1" style:num-suffix="."/></text:list-style>`
	}
	for _, inner := range []string{"A", "B", ""} {
		data := odfOf("text", "", styles, `<office:text>`+list("A", item("a", list(inner, item("b", ""), item("c", ""))), item("d", list(inner, item("e", ""))))+`</office:text>`)
		if got, want := show(t, data, Request{}), "1. a\n   1. b\n   2. c\n2. d\n   1. e"; got != want {
			t.Errorf("%q:\n%s\nwant\n%s", inner, got, want)
		}
	}
}

func TestWithoutValues(t *testing.T) {
	book := bookOf(`<sheetData><row r="1"><c r="A1"><f>SUM(B1)</f><v></v></c><c r="B1"><f>1+1</f><v>2</v></c><c r="C1" t="str"><f>""</f><v></v></c><c r="D1"><f>NOW()</f></c></row></sheetData>` +
		`<oleObjects><mc:AlternateContent><mc:Choice><oleObject progId="Acrobat Document"/></mc:Choice><mc:Fallback><oleObject progId="Acrobat Document"/></mc:Fallback></mc:AlternateContent></oleObjects>`)
	if got, want := show(t, book, Request{}), "sheet 1/1 S1 (A1:D1)\n|  | A | B | C | D |\n|---|---|---|---|---|\n| 1 | =SUM(B1) | 2 |  | =NOW() |\n[embedded objects: Acrobat Document]\n[shown as formulas, because the file has no values of them: 2]"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	cells := ""
	for _, c := range []string{`table:formula="of:=[.B1]*2"`, `table:formula="of:=1" office:value-type="string" office:string-value=""`, `office:value-type="float" office:value="0.30000000000000004"`, `office:value-type="percentage" office:value="0.25"`,
		`office:value-type="date" office:date-value="2024-01-31"`, `office:value-type="boolean" office:boolean-value="true"`, `office:value-type="string" office:string-value="s"`} {
		cells += `<table:table-cell ` + c + `/>`
	}
	ods := odfOf("spreadsheet", "", "", `<table:table table:name="T"><table:table-row>`+cells+`</table:table-row></table:table>`)
	if got, want := show(t, ods, Request{}), "sheet 1/1 T (A1:G1)\n|  | A | B | C | D | E | F | G |\n|---|---|---|---|---|---|---|---|\n| 1 | =[.B1]*2 |  | 0.3 | 25% | 2024-01-31 | TRUE | s |\n[shown as formulas, because the file has no values of them: 1]"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
