package office

import (
	"bytes"
	"strings"
	"testing"
)

// TestHostile checks that files made to break a reader are refused, or harmless.
func TestHostile(t *testing.T) {
	unpackLimit = 41 << 20
	defer func() { unpackLimit = maxUnpacked }()
	bomb := func(before, after string) []byte { // 1,000 times its size
		var data strings.Builder
		data.WriteString(before)
		data.WriteString(strings.Repeat("<x> </x>", int(unpackLimit)/8))
		data.WriteString(after)
		return archiveOf("word/document.xml", data.String())
	}
	for _, tc := range []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "is damaged: it is no ZIP archive, or its end is missing. "},
		{"no ZIP", []byte("PK\x03\x04 and no more"), "is damaged: it is no ZIP archive, or its end is missing. "},
		{"another ZIP", archiveOf("a.txt", "x"), "is a ZIP archive and no document of a kind that can be read. "},
		{"a zip bomb", bomb("<w:document><w:body>", "</w:body></w:document>"), "unpacks to more than 41 MB. "},
		{"deep nesting", wordOf(strings.Repeat("<w:sdt>", 10_000)), "is damaged: its part document.xml is nested more than 400 deep. "},
		{"deep tables", wordOf(strings.Repeat("<w:tbl><w:tr><w:tc>", 10_000)), "is damaged: its part document.xml is nested more than 400 deep. "},
		{"an external entity", archiveOf("word/document.xml", `<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/passwd">]><w:document><w:p><w:r><w:t>&e;</w:t></w:r></w:p></w:document>`), "is damaged: its part document.xml is not valid XML. "},
		{"a billion laughs", archiveOf("word/document.xml", `<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><w:document><w:p><w:r><w:t>&b;</w:t></w:r></w:p></w:document>`), "is damaged: its part document.xml is not valid XML. "},
		{"no end", archiveOf("word/document.xml", `<w:document><w:body><w:p>`), "is damaged: "},
		{"huge shared strings", archiveOf("xl/workbook.xml", `<workbook><sheets><sheet name="a" r:id="a"/></sheets></workbook>`, "xl/_rels/workbook.xml.rels", `<r><Relationship Id="s" Type="x/sharedStrings" Target="s.xml"/></r>`,
			"xl/s.xml", "<sst>"+strings.Repeat("<si><t>"+strings.Repeat("x", 1000)+"</t></si>", 40_000)+"</sst>"), "has more than 32 MiB of text. "},
		{"xlsb", archiveOf("xl/workbook.bin", "x"), "is a workbook in the binary format of .xlsb. "},
		{"an encrypted OpenDocument file", archiveOf("mimetype", "application/vnd.oasis.opendocument.text", "content.xml", "x", "META-INF/manifest.xml", "<m><encryption-data/></m>"), "is encrypted and needs a password. "},
	} {
		_, err := Read(bytes.NewReader(tc.data), int64(len(tc.data)), Request{})
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
		}
	}
}

// TestManyRows checks that a sheet of 100,000 rows is shown in parts.
func TestManyRows(t *testing.T) {
	const rows = 100_000
	data := bookOf(`<dimension ref="A1:B100000"/><sheetData>` + strings.Repeat(`<row><c><v>1</v></c><c><v>2</v></c></row>`, rows) + `</sheetData>`)
	got := show(t, data, Request{Budget: 1000})
	if !strings.Contains(got, "of 100000, next ") || len(got) > 2000 {
		t.Errorf("%.3000s", got)
	}
}

// TestPlacesOutside checks references to cells that no sheet has.
func TestPlacesOutside(t *testing.T) {
	for _, row := range []string{
		`<row r="99999999999"><c r="A1"><v>1</v></c></row>`, `<row r="-5"><c r="ZZZ1"><v>1</v></c></row>`, `<row><c r=""><v>1</v></c><c r="$"><v>x</v></c></row>`,
		`<row><c t="s"><v>99</v></c><c t="s"><v>-1</v></c><c s="99"><v>1e999</v></c><c s="-1"><v>NaN</v></c></row>`,
	} {
		if got := show(t, bookOf(`<sheetData>`+row+`</sheetData>`), Request{}); strings.HasPrefix(got, "error") || len(got) > 500 {
			t.Errorf("%s: %.500s", row, got)
		}
	}
}
