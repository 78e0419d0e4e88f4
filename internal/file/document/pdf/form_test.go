package pdf

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// formOf returns a file with one page that says "Name:" and has the given annotations. An
// appearance is a text after a bar. acroform is added to the form; "-": a form without a
// font.
func formOf(acroform string, annotations ...string) []byte {
	w := newWriter()
	font := w.add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
	var refs, fields strings.Builder
	for _, a := range annotations {
		dict, appearance, has := strings.Cut(a, "|")
		if has {
			form := w.stream(fmt.Sprintf("/Type/XObject/Subtype/Form/BBox[0 0 200 20]/Resources<</Font<</Helv %d 0 R>>>>", font),
				[]byte("/Tx BMC BT /Helv 12 Tf 0 g 2 5 Td ("+appearance+") Tj ET EMC"))
			if strings.Contains(dict, "/AS") {
				dict += fmt.Sprintf("/AP<</N<</Yes %d 0 R>>>>", form)
			} else {
				dict += fmt.Sprintf("/AP<</N %d 0 R>>", form)
			}
		}
		n := w.add("<</Type/Annot/Rect[100 700 300 720]" + dict + ">>")
		fmt.Fprintf(&refs, "%d 0 R ", n)
		if strings.Contains(dict, "/Widget") {
			fmt.Fprintf(&fields, "%d 0 R ", n)
		}
	}
	w.page(fmt.Sprintf("%s/Annots[%s]/Resources<</Font<</F1 %d 0 R>>>>", letter, refs.String(), font), "BT /F1 12 Tf 20 705 Td (Name:) Tj ET")
	if acroform == "-" {
		w.finish(fmt.Sprintf("/AcroForm<</Fields[%s]>>", fields.String()))
		return w.table("")
	}
	w.finish(fmt.Sprintf("/AcroForm<</Fields[%s]/DA(/Helv 12 Tf 0 g)/DR<</Font<</Helv %d 0 R>>>>%s>>", fields.String(), font, acroform))
	return w.table("")
}

const widget = "/Subtype/Widget/FT"

func TestFormsAndAnnotations(t *testing.T) {
	for _, tc := range []struct {
		name        string
		acroform    string
		annotations []string
		text, notes string
	}{
		{"a text field", "", []string{widget + "/Tx/T(f1)/V(Alice Smith)/F 4|Alice Smith"}, "Name: Alice Smith", "[the page has 1 form field]"},
		{"a text field without an appearance", "", []string{widget + "/Tx/T(f1)/V(Alice Smith)/F 4"}, "Name: Alice Smith", "[the page has 1 form field]"},
		{"a text field that has no font", "-", []string{widget + "/Tx/T(f1)/V(Alice Smith)/F 4"}, "Name: Alice Smith", "[the page has 1 form field]"},
		{"an appearance without text", "", []string{widget + "/Tx/T(f1)/V(Alice Smith)/F 4|"}, "Name:", "[the page has 1 form field]\n[form: f1 = Alice Smith]"},
		{"a stale appearance", "", []string{widget + "/Tx/T(f1)/V(new value)/F 4|old"}, "Name: old", "[the page has 1 form field]\n[form: f1 = new value]"},
		{"an empty field", "", []string{widget + "/Tx/T(f1)/F 4"}, "Name:", "[the page has 1 form field]\n[form: empty or not checked: f1]"},
		{"a password", "", []string{widget + "/Tx/T(pw)/Ff 8192/V(secret)/F 4"}, "Name: ******", "[the page has 1 form field]\n[form: pw = (a password)]"},
		{"a choice", "", []string{widget + "/Ch/Ff 131072/T(c)/Opt[(red)(blue)]/V(blue)/F 4|blue"}, "Name: blue", "[the page has 1 form field]"},
		{"a list", "", []string{widget + "/Ch/T(c)/Opt[(red)(blue)(green)]/V[(red)(green)]/F 4"}, "Name: red blue green", "[the page has 1 form field]\n[form: c = red, green]"},
		{"a checked box", "", []string{widget + "/Btn/T(agree)/V/Yes/AS/Yes/F 4|X"}, "Name: X", "[the page has 1 form field]\n[form: agree = checked]"},
		{"a box that is not checked", "", []string{widget + "/Btn/T(agree)/V/Off/AS/Off/F 4|X"}, "Name:", "[the page has 1 form field]\n[form: empty or not checked: agree]"},
		{"a push button", "", []string{widget + "/Btn/Ff 65536/T(b)/F 4|Send"}, "Name: Send", ""},
		{"a hidden field", "", []string{widget + "/Tx/T(f1)/V(Alice)/F 2|Alice"}, "Name:", ""},
		{"a field that is only printed", "", []string{widget + "/Tx/T(f1)/V(Alice)/F 36|Alice"}, "Name:", ""},
		{"a hidden comment", "", []string{"/Subtype/Text/T(Bob)/Contents(not now)/F 2"}, "Name:", ""},
		{"FreeText", "", []string{"/Subtype/FreeText/Contents(a remark)/DA(/Helv 12 Tf)/F 4|a remark"}, "Name: a remark", ""},
		{"FreeText without an appearance", "", []string{"/Subtype/FreeText/T(Bob)/Contents(a remark)/DA(/Helv 12 Tf)/F 4"}, "Name: a remark", ""},
		{"a stamp", "", []string{"/Subtype/Stamp/Name/Draft/F 4|DRAFT"}, "Name: DRAFT", ""},
		{"a comment", "", []string{"/Subtype/Text/T(Bob)/Contents(Check\rthis)/F 4"}, "Name:", "[comment by Bob: Check this]"},
		{"a highlight", "", []string{"/Subtype/Highlight/QuadPoints[1 1 2 1 1 2 2 2]/T(Eve)/Contents(why?)/F 4"}, "Name:", "[comment by Eve: why?]"},
		{"a comment without an author", "", []string{"/Subtype/Text/Contents(hm)"}, "Name:", "[comment by no author: hm]"},
		{"a link", "", []string{"/Subtype/Link/Contents(to the site)"}, "Name:", ""},
		{"a line break in a name", "", []string{widget + "/Tx/T(a\\nb)/V(x]\\n[form: c = d)/F 4"}, "Name: x][form: c = d", "[the page has 1 form field]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data := formOf(tc.acroform, tc.annotations...)
			doc, err := Read(bytes.NewReader(data), int64(len(data)), Request{Cache: cacheDir})
			if err != nil {
				t.Fatal(err)
			}
			p := doc.Pages[0]
			if got := strings.Join(strings.Fields(p.Text), " "); got != tc.text || p.Notes != tc.notes {
				t.Errorf("text %q, notes %q; want %q, %q", got, p.Notes, tc.text, tc.notes)
			}
		})
	}
}

// TestNeedAppearances checks a file that leaves appearances to the reader: the value is
// shown once.
func TestNeedAppearances(t *testing.T) {
	data := formOf("/NeedAppearances true", widget+"/Tx/T(f1)/V(Alice Smith)/DA(/Helv 12 Tf 0 g)/F 4")
	doc, err := Read(bytes.NewReader(data), int64(len(data)), Request{Cache: cacheDir})
	if err != nil {
		t.Fatal(err)
	}
	if got := doc.Pages[0].Text + doc.Pages[0].Notes; strings.Count(got, "Alice Smith") != 1 {
		t.Errorf("%q", got)
	}
}

// TestPictureOfForm checks that the picture of a page has its fields.
func TestPictureOfForm(t *testing.T) {
	ink := func(annotations ...string) int {
		data := formOf("", annotations...)
		doc, err := Read(bytes.NewReader(data), int64(len(data)), Request{Cache: cacheDir, Pictures: true})
		if err != nil {
			t.Fatal(err)
		}
		return len(doc.Pages[0].Picture.Data)
	}
	empty, filled := ink(), ink(widget+"/Tx/T(f1)/V(Alice Smith)/F 4|Alice Smith")
	if filled < empty+100 {
		t.Errorf("the picture of a filled form has %d bytes, that of an empty one %d", filled, empty)
	}
}

// TestXFA checks that a form whose content is XML is named.
func TestXFA(t *testing.T) {
	for catalog, want := range map[string]bool{
		"/NeedsRendering true/AcroForm<</Fields[]/XFA %d 0 R>>": true,
		"/AcroForm<</Fields[]/Other %d 0 R>>":                   false,
	} {
		w := newWriter().text("Please wait")
		n := w.stream("", []byte("<xdp/>"))
		w.finish(fmt.Sprintf(catalog, n))
		data := w.table("")
		doc, err := Read(bytes.NewReader(data), int64(len(data)), Request{Cache: cacheDir})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.HasPrefix(doc.Form, "this is an XFA form: "); got != want {
			t.Errorf("%s: %q", catalog, doc.Form)
		}
	}
}
