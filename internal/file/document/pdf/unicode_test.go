package pdf

import (
	"bytes"
	"fmt"
	"io"
	"testing"
)

// mapHead and mapTail surround the sections of a map.
const (
	mapHead = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CIDSystemInfo <</Registry(Adobe)/Ordering(UCS)/Supplement 0>> def\n" +
		"/CMapName /Adobe-Identity-UCS def /CMapType 2 def 1 begincodespacerange <00> <FF> endcodespacerange\n"
	mapTail = "\nendcmap CMapName currentdict /CMap defineresource pop end end"
)

// TestMaps reads the text "AB" of a font whose map says that it means "XY" in a form that
// pdfium drops.
func TestMaps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, sections string }{
		{"right", "2 beginbfchar <41> <0058> <42> <0059> endbfchar"},
		{"too large a count", "3 beginbfchar <41> <0058> <42> <0059> endbfchar"},
		{"too small a count", "1 beginbfchar <41> <0058> <42> <0059> endbfchar"},
		{"no count", "beginbfchar <41> <0058> <42> <0059> endbfchar"},
		{"too large a count of ranges", "9 beginbfrange <41> <42> <0058> endbfrange"},
		{"a code of three bytes", "3 beginbfchar <41> <0058> <42> <0059> <E1A580> <1940> endbfchar"},
		{"a range of three bytes", "2 beginbfrange <E1A580> <E1A5BF> <1940> <41> <42> <0058> endbfrange"},
		{"a value of one byte", "2 beginbfchar <41> <58> <42> <59> endbfchar"},
		{"a range to values of one byte", "1 beginbfrange <41> <42> <58> endbfrange"},
		{"a blank in a value", "2 beginbfchar <41> <00 58> <42> <00\n59> endbfchar"},
		{"a range that runs backwards", "2 beginbfrange <46> <45> <0041> <41> <42> <0058> endbfrange"},
		{"a list that is too short", "2 beginbfrange <41> <42> [<0058> <0059>] <43> <45> [<0041>] endbfrange"},
		{"a list that is too long", "1 beginbfrange <41> <42> [<0058> <0059> <005A>] endbfrange"},
		{"a code without digits", "3 beginbfchar <> <0041> <41> <0058> <42> <0059> endbfchar"},
		{"a name", "3 beginbfchar <43> /Z <41> <0058> <42> <0059> endbfchar 1 beginbfchar <44> endbfchar"},
	} {
		for form, file := range map[string]func(w *writer) []byte{"table": (*writer).bytes, "packed": (*writer).packed} {
			for _, packed := range []bool{true, false} {
				w := newWriter()
				text := mapHead + c.sections + mapTail
				m := 0
				if packed {
					m = w.stream("", []byte(text))
				} else {
					m = w.add(fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(text), text))
				}
				font := w.add(fmt.Sprintf("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding/ToUnicode %d 0 R>>", m))
				w.page(fmt.Sprintf("%s/Resources<</Font<</F1 %d 0 R>>>>", letter, font), "BT /F1 12 Tf 72 720 Td (AB) Tj ET")
				if got := mustRead(t, file(w), Request{}).Pages[0].Text; got != "XY" {
					t.Errorf("%s, %s, packed %v: %q", c.name, form, packed, got)
				}
			}
		}
	}
}

func TestMendMap(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"1 beginbfchar <41> <0058> endbfchar", ""},
		{"1 beginbfrange <41> <42> [<0058> <0059>] endbfrange", ""},
		{"1 beginbfrange <00FF> <01FF> <0E0B> endbfrange", ""},
		{"9 beginbfrange <00FF> <01FF> <0E0B> endbfrange", "1 beginbfrange<00FF><00FF><0E0B>endbfrange "},
		{"1 beginbfrange <00F0> <0101> <0041> endbfrange", "2 beginbfrange<00F0><00FF><0041><0100><0101><0051>endbfrange "},
		{"1 beginbfrange <00F1> <0140> <00410042> endbfrange", "2 beginbfrange<00F1><00FF><00410042><0100><0140><00410051>endbfrange "},
		{"1 beginbfrange <FFFE> <10001> <0041> endbfrange", "1 beginbfrange<FFFE><FFFF><0041>endbfrange "},
		{"/Adobe-Japan1-UCS2 usecmap 2 beginbfchar <41> <D842DFB7> endbfchar", "/Adobe-Japan1-UCS2 1 beginbfchar<0041><D842DFB7>endbfchar "},
		{"beginbfchar", ""},
		{"5 beginbfchar <41", ""},
		{"1 beginbfrange <41> <42>", ""},
	} {
		mended, changed := mendMap([]byte(c.text))
		if !changed {
			mended = nil
		}
		if string(mended) != c.want {
			t.Errorf("%s: %q, want %q", c.text, mended, c.want)
		}
	}
}

// TestPatched reads every range of a file with patches.
func TestPatched(t *testing.T) {
	f := patched{bytes.NewReader([]byte("0123456789")), []patch{{0, []byte("ab")}, {4, []byte("cde")}, {9, []byte("f")}}}
	const want = "ab23cde78f"
	for from := range len(want) {
		for to := from; to <= len(want); to++ {
			got := make([]byte, to-from)
			if n, err := f.ReadAt(got, int64(from)); n != to-from || err != nil && err != io.EOF || string(got) != want[from:to] {
				t.Errorf("%d to %d: %q, %d, %v", from, to, got, n, err)
			}
		}
	}
}
