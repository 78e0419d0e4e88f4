package pdf

import (
	"fmt"
	"math"
	"testing"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "",
		" \r\n\t":                          "",
		"a \r\nb\t \r\n\r\nc":              "a\nb\n\nc",
		"  indented":                       "  indented",
		"exam\ufffeple":                    "exam-\nple",
		"a \ufffe b":                       "a \uFFFD b",
		"nul\x00 bell\a del\x7f c1\u0085.": "nul bell\uFFFD del\uFFFD c1\uFFFD.",
		"bad\xff":                          "bad\uFFFD",
		"é\ufffez😀\ufffey":                 "é-\nz😀-\ny",
	} {
		runes := []rune(in)
		hyphen := func(i int) bool { return i > 0 && runes[i-1] != ' ' && runes[i] == unmapped }
		if got := clean(in, hyphen); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestReadable(t *testing.T) {
	for in, want := range map[string]bool{
		"": false, " \n": false, "a": true, "\uFFFD": false, "ab\uFFFD": true, "a\uFFFD": false, "\uE000\uE001 \n a": false,
	} {
		if readable(in) != want {
			t.Errorf("%q: %v", in, !want)
		}
	}
}

func TestPixels(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		width, height float64
		w, h          int
	}{
		{612, 792, 1545, 2000}, {72, 36, 200, 100}, {1e9, 1, 2000, 1}, {0.001, 0.001, 1, 1}, {1e300, 1e300, 2000, 2000},
		{0, 792, 0, 0}, {-1, 5, 0, 0}, {nan, 5, 0, 0}, {5, nan, 0, 0}, {inf, 5, 0, 0}, {inf, inf, 0, 0},
	} {
		if w, h, err := pixels(c.width, c.height); w != c.w || h != c.h || (err != nil) != (c.w == 0) {
			t.Errorf("%v x %v: %d x %d, %v", c.width, c.height, w, h, err)
		}
	}
}

// TestLostCharacters reads a page whose font has glyphs that pdfium knows no character of.
func TestLostCharacters(t *testing.T) {
	w := newWriter()
	font := w.add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding<</Type/Encoding/Differences[31/f_f]>>>>")
	w.page(fmt.Sprintf("%s/Resources<</Font<</F1 %d 0 R>>>>", letter, font), "BT /F1 12 Tf 72 720 Td (stu\\037 and nonsense) Tj ET")
	if got := mustRead(t, w.bytes(), Request{}).Pages[0].Text; got != "stu\uFFFD and nonsense" {
		t.Errorf("%q", got)
	}
}

// TestLostText reads pages with pieces of text in a font of which pdfium finds no character.
func TestLostText(t *testing.T) {
	for _, c := range []struct {
		font, text string
		pieces     int
		want       string
	}{
		{"F2", "<2422>", 60, "[most of the text of page 1 cannot be read: its fonts do not tell the characters; to see it: pages \"1\", as \"image\"]"},
		{"F2", "<2422>", 19, ""},
		{"F1", "(a)", 60, ""},
		{"F1", "(   )", 10, ""},
	} {
		w := newWriter()
		f1 := w.add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
		f2 := w.add("<</Type/Font/Subtype/Type0/BaseFont/Ryumin-Light-V/Encoding/V/DescendantFonts[<</Type/Font/Subtype/CIDFontType0/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)/Supplement 1>>>>]>>")
		content := "BT /F1 12 Tf 72 720 Td (Title) Tj ET\n"
		for i := range c.pieces {
			content += fmt.Sprintf("BT /%s 12 Tf %d %d Td %s Tj ET\n", c.font, 72+20*(i%10), 600-20*(i/10), c.text)
		}
		w.page(fmt.Sprintf("%s/Resources<</Font<</F1 %d 0 R/F2 %d 0 R>>>>", letter, f1, f2), content)
		if got := mustRead(t, w.bytes(), Request{}).Pages[0].Notes; got != c.want {
			t.Errorf("%d pieces %s in %s: %q, want %q", c.pieces, c.text, c.font, got, c.want)
		}
	}
}
