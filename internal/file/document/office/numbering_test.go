package office

import (
	"strconv"
	"strings"
	"testing"
)

// level is a level of a list in a Word file.
func level(n int, format, text, more string) string {
	return `<w:lvl w:ilvl="` + strconv.Itoa(n) + `"><w:start w:val="1"/><w:numFmt w:val="` + format + `"/>` + more + `<w:lvlText w:val="` + text + `"/></w:lvl>`
}

// entry is a paragraph of a list in a Word file.
func entry(num, level int, text string) string {
	return `<w:p><w:pPr><w:numPr><w:ilvl w:val="` + strconv.Itoa(level) + `"/><w:numId w:val="` + strconv.Itoa(num) + `"/></w:numPr><w:pStyle w:val="Plain"/></w:pPr><w:r><w:t>` + text + `</w:t></w:r></w:p>`
}

func styled(style, text string) string {
	return `<w:p><w:pPr><w:pStyle w:val="` + style + `"/></w:pPr><w:r><w:t>` + text + `</w:t></w:r></w:p>`
}

func TestNumbering(t *testing.T) {
	const one, two = `<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>`, `<w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>`
	list := func(levels, nums string) string {
		return `<w:numbering><w:abstractNum w:abstractNumId="0">` + levels + `</w:abstractNum>` + nums + `</w:numbering>`
	}
	const styles = `<w:styles><w:style w:styleId="H1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>` +
		`<w:style w:styleId="H2"><w:name w:val="heading 2"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style><w:style w:styleId="Top"><w:name w:val="Heading"/></w:style></w:styles>`
	decimal := level(0, "decimal", "%1.", "") + level(1, "lowerLetter", "%2)", "")
	for _, tc := range []struct{ name, numbering, body, want string }{
		{"counted", list(decimal, one), entry(1, 0, "a") + entry(1, 1, "b") + entry(1, 1, "c") + entry(1, 0, "d") + entry(1, 1, "e"), "1. a\n   a) b\n   b) c\n2. d\n   a) e"},
		{"going on after a paragraph", list(decimal, one), entry(1, 0, "a") + para("text") + entry(1, 0, "b"), "1. a\n\ntext\n\n2. b"},
		{"restarted", list(decimal, one+two), entry(1, 0, "a") + entry(2, 0, "b") + entry(2, 0, "c"), "1. a\n5. b\n6. c"},
		{"words", list(level(0, "decimal", "Proposal %1: ", ""), one), entry(1, 0, "a") + entry(1, 0, "b"), "Proposal 1: a\nProposal 2: b"},
		{"headings", list(level(0, "decimal", "%1", `<w:pStyle w:val="H1"/>`)+level(1, "decimal", "%1.%2.", `<w:pStyle w:val="H2"/>`), one), styled("H1", "a") + styled("H2", "b") + styled("H2", "c") + styled("H1", "d") + styled("H2", "e"),
			"# 1 a\n\n## 1.1. b\n\n## 1.2. c\n\n# 2 d\n\n## 2.1. e"},
		{"legal", list(level(0, "upperRoman", "%1", "")+level(1, "decimal", "%1.%2", "<w:isLgl/>"), one), entry(1, 0, "a") + entry(1, 1, "b"), "I a\n   1.1 b"},
		{"a lower level first", list(decimal+level(2, "decimal", "%1.%2.%3", ""), one), entry(1, 2, "a"), "1.a.1 a"},
		{"bullets", list(level(0, "bullet", "\uf0b7", ""), one), entry(1, 0, "a") + entry(1, 0, "b"), "- a\n- b"},
		{"no bullet", list(level(0, "bullet", " ", ""), one), entry(1, 0, "a"), "a"},
		{"none", list(level(0, "none", "", ""), one), entry(1, 0, "a"), "a"},
		{"a bullet of a heading", list(level(0, "bullet", "o", ""), one), styled("H1", "a"), "# a"},
		{"Chinese", list(level(0, "chineseCountingThousand", "第%1章", ""), one), entry(1, 0, "a") + entry(1, 0, "b"), "第一章 a\n第二章 b"},
		{"not defined", "", entry(7, 0, "a"), "- a"},
		{"switched off", list(decimal, one), entry(0, 0, "a"), "a"},
		{"a linked style", `<w:numbering><w:abstractNum w:abstractNumId="0"><w:styleLink w:val="L"/>` + decimal + `</w:abstractNum><w:abstractNum w:abstractNumId="1"><w:numStyleLink w:val="L"/></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num></w:numbering>`, entry(1, 0, "a"), "1. a"},
		{"a heading of Pages", "", styled("Top", "a"), "# a"},
	} {
		if got := show(t, wordOf(tc.body, "word/numbering.xml", tc.numbering, "word/styles.xml", styles), Request{}); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

func TestNumeral(t *testing.T) {
	for _, tc := range []struct {
		format string
		want   string // of 1, 4, 9, 10, 11, 12, 27, 105, 2024, 0, 10000
	}{
		{"upperRoman", "I IV IX X XI XII XXVII CV MMXXIV 0 10000"},
		{"lowerLetter", "a d i j k l aa aaaaa " + strings.Repeat("v", 78) + " 0 10000"},
		{"ordinal", "1st 4th 9th 10th 11th 12th 27th 105th 2024th 0 10000"},
		{"decimalZero", "01 04 09 10 11 12 27 105 2024 0 10000"},
		{"decimalEnclosedCircle", "① ④ ⑨ ⑩ ⑪ ⑫ 27 105 2024 0 10000"},
		{"chineseCounting", "一 四 九 十 十一 十二 二十七 一百零五 二千零二十四 0 10000"},
		{"japaneseCounting", "一 四 九 十 十一 十二 二十七 百五 二千二十四 0 10000"},
		{"someday", "1 4 9 10 11 12 27 105 2024 0 10000"},
	} {
		var got []string
		for _, n := range []int{1, 4, 9, 10, 11, 12, 27, 105, 2024, 0, 10000} {
			got = append(got, numeral(n, tc.format))
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%s: %s, want %s", tc.format, s, tc.want)
		}
	}
}

func TestOpenDocumentLists(t *testing.T) {
	const styles = `<office:document-styles><style:style style:name="Heading_20_1" style:default-outline-level="1"/><text:outline-style><text:outline-level-style text:level="1" style:num-format="1"/><text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/></text:outline-style></office:document-styles>`
	const automatic = `<office:automatic-styles><style:style style:name="P1" style:parent-style-name="Heading_20_1"/><style:style style:name="P2" style:parent-style-name="Standard"/>` +
		`<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")"/></text:list-style>` +
		`<text:list-style style:name="L2"><text:list-level-style-bullet text:level="1" text:bullet-char="•"/></text:list-style></office:automatic-styles>`
	li := func(s string) string { return `<text:list-item><text:p>` + s + `</text:p></text:list-item>` }
	for _, tc := range []struct{ name, body, want string }{
		{"numbers", `<text:list text:style-name="L1">` + li("a") + li("b") + `</text:list>`, "1. a\n2. b"},
		{"levels", `<text:list text:style-name="L1"><text:list-item><text:p>a</text:p><text:p>more</text:p><text:list>` + li("b") + li("c") + `</text:list></text:list-item>` + li("d") + `</text:list>`, "1. a\n   more\n   a) b\n   b) c\n2. d"},
		{"a new list", `<text:list text:style-name="L1">` + li("a") + `</text:list><text:p>x</text:p><text:list text:style-name="L1">` + li("b") + `</text:list>`, "1. a\n\nx\n\n1. b"},
		{"going on", `<text:list text:style-name="L1">` + li("a") + `</text:list><text:p>x</text:p><text:list text:style-name="L1" text:continue-numbering="true">` + li("b") + `</text:list>`, "1. a\n\nx\n\n2. b"},
		{"a start", `<text:list text:style-name="L1"><text:list-item text:start-value="4"><text:p>a</text:p></text:list-item></text:list>`, "4. a"},
		{"a header", `<text:list text:style-name="L1"><text:list-header><text:p>h</text:p></text:list-header>` + li("a") + `</text:list>`, "h\n1. a"},
		{"bullets", `<text:list text:style-name="L2">` + li("a") + `</text:list>`, "- a"},
		{"headings by style", `<text:p text:style-name="P1">a</text:p><text:p text:style-name="P2">b</text:p><text:p text:style-name="Heading_20_2">c</text:p><text:p text:style-name="Title">d</text:p>`, "# a\n\nb\n\n## c\n\n# d"},
		{"numbered headings", `<text:h text:outline-level="1">a</text:h><text:h text:outline-level="2">b</text:h><text:h text:outline-level="1" text:is-list-header="true">c</text:h>`, "# 1 a\n\n## 1.1 b\n\n# c"},
	} {
		data := archiveOf("mimetype", "application/vnd.oasis.opendocument.text", "styles.xml", styles, "content.xml", `<office:document-content>`+automatic+`<office:body><office:text>`+tc.body+`</office:text></office:body></office:document-content>`)
		if got := show(t, data, Request{}); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}
