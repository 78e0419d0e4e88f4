package pdf

import (
	"fmt"
	"strings"
	"testing"
)

// drawn returns a file of one page with text and a drawing.
func drawn(resources, drawing string, forms ...string) []byte {
	w := newWriter()
	font := w.add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
	pixels := w.stream("/Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8", []byte{0})
	objects := fmt.Sprintf("/I %d 0 R", pixels)
	for i, form := range forms {
		n := w.stream(fmt.Sprintf("/Type/XObject/Subtype/Form/BBox[0 0 600 600]/Resources<</XObject<<%s>>>>", objects), []byte(form))
		objects += fmt.Sprintf("/X%d %d 0 R", i, n)
	}
	dict := fmt.Sprintf("%s/Resources<<%s/Font<</F1 %d 0 R>>/XObject<<%s>>>>", letter, resources, font, objects)
	return w.page(dict, "BT /F1 12 Tf 72 720 Td (text) Tj ET "+drawing).bytes()
}

// TestFigures checks the pages that are read as text and have a figure.
func TestFigures(t *testing.T) {
	t.Parallel()
	const curve = "100 100 m 150 300 l 200 150 l 250 400 l 300 200 l 350 350 l S "
	const shading = "/Shading<</S<</ShadingType 2/ColorSpace/DeviceGray/Coords[0 0 100 100]/Function<</FunctionType 2/Domain[0 1]/C0[0]/C1[1]/N 1>>>>>>"
	for _, c := range []struct {
		name string
		data []byte
		want bool
	}{
		{"text alone", drawn("", ""), false},
		{"picture", drawn("", "q 200 0 0 100 72 400 cm /I Do Q"), true},
		{"icon", drawn("", "q 16 0 0 16 72 400 cm /I Do Q"), false},
		{"rule", drawn("", "q 400 0 0 2 72 400 cm /I Do Q 72 500 m 500 500 l S"), false},
		{"table", drawn("", strings.Repeat("72 400 200 50 re S 72 300 m 500 300 l S ", 50)), false},
		{"line chart", drawn("", curve), true},
		{"circle", drawn("", "200 100 m 300 100 300 200 200 200 c 100 200 50 150 100 100 c 150 50 180 70 200 100 c h f"), true},
		{"shading", drawn(shading, "q 100 100 200 200 re W n /S sh Q"), true},
		{"form", drawn("", "/X0 Do", "q 200 0 0 100 72 400 cm /I Do Q"), true},
		{"form in a form", drawn("", "/X1 Do", curve, "/X0 Do"), true},
		{"form with a table", drawn("", "/X0 Do", "72 400 200 50 re S"), false},
		{"behind many objects", drawn("", strings.Repeat("0 0 9 9 re f ", mostObjects)+curve), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := mustRead(t, c.data, Request{})
			if p := d.Pages[0]; p.Text != "text" || p.Figures != c.want || d.Note != "" {
				t.Errorf("%s, want figures %t", show(d), c.want)
			}
		})
	}
}

// TestAsPictures checks that a page with text is drawn on request.
func TestAsPictures(t *testing.T) {
	t.Parallel()
	d := mustRead(t, newWriter().text("text").scan(letter).bytes(), Request{Pictures: true})
	if got, want := show(d), "2 pages, next 0, note \"\"\n1: \"\" picture 1545x2000\n2: \"\" picture 1545x2000\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
