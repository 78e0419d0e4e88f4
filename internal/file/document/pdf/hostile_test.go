package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"

	"mcp-toolset/internal/text/fault"
)

// encryptedFile returns a file with a page of text, encrypted by pdfcpu.
func encryptedFile(t *testing.T, user, owner string) []byte {
	t.Helper()
	disableConfig()
	var b bytes.Buffer
	err := api.Encrypt(bytes.NewReader(newWriter().text("top secret").bytes()), &b, model.NewAESConfiguration(user, owner, 256))
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// checkPages checks that each page has either a text or a picture, and that the text is
// clean.
func checkPages(t *testing.T, name string, d *Document) {
	t.Helper()
	for _, p := range d.Pages {
		if (p.Text == "") == (p.Picture == nil) {
			t.Errorf("%s: page %d has %q and picture %v", name, p.Number, p.Text, p.Picture != nil)
		}
		odd := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' || r == unmapped }
		if !utf8.ValidString(p.Text) || strings.IndexFunc(p.Text, odd) >= 0 {
			t.Errorf("%s: page %d has %q", name, p.Number, p.Text)
		}
	}
}

// outcome returns the answer for a file in short form.
func outcome(t *testing.T, name string, data []byte) string {
	t.Helper()
	doc, err := read(data, Request{First: 1, Last: 3})
	var f *fault.Fault
	switch {
	case err == nil:
		checkPages(t, name, doc)
		return show(doc)
	case !errors.As(err, &f):
		t.Errorf("%s: %v is no fault", name, err)
	}
	return f.Fact
}

// page100 returns a writer of a page with a black square, then a page with text.
func page100(dict string) *writer {
	return newWriter().page(dict, "0 0 50 50 re f").text("after")
}

// TestHostile reads files that are broken or made to break a reader.
func TestHostile(t *testing.T) {
	t.Parallel()
	const (
		noRoot    = "is a damaged PDF: the object that holds it together is missing"
		cutShort  = "is a damaged PDF: its end is missing"
		cannot    = "1: \"[page 1 cannot be shown: it takes too much memory, or is made to break its reader]\"\n"
		recovered = "what is shown is what could be recovered\"\n"
	)
	whole, miscounted := numbered(2).bytes(), numbered(2)
	miscounted.objects[1] = "<</Type/Pages/Count 3/Kids[5 0 R 8 0 R]>>"
	form := newWriter().text("form")
	form.finish("/AcroForm<</Fields[<</FT/Tx/T(a)>>]>>")
	itself := newWriter()
	itself.stream("/Type/XObject/Subtype/Form/BBox[0 0 72 72]/Resources<</XObject<</X 3 0 R>>>>", []byte("/X Do"))
	itself.page("/MediaBox[0 0 72 72]/Resources<</XObject<</X 3 0 R>>>>", "/X Do")
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"least", []byte("%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj trailer<</Root 1 0 R>>"),
			"1 pages, next 0, note \"the file is damaged: its list of pages is broken; " + recovered + "1: \"\" picture 25x25\n"},
		{"page list in a circle", []byte("%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[2 0 R]/Count 999999999>>endobj trailer<</Root 1 0 R/Prev 0>>"),
			cutShort},
		{"bomb", newWriter().page(letter, strings.Repeat("q ", bombBytes)).text("after").bytes(), "2 pages, next 0, note \"\"\n" + cannot + "2: \"after\"\n"},
		{"loose bomb", []byte("%PDF-1.1\n4 0 obj<</Filter/FlateDecode/Length 1>>stream\n" + string(deflate(make([]byte, bombBytes))) + "\nendstream endobj"), cutShort},
		{"deep", []byte("%PDF-1.1\n1 0 obj " + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + " endobj\n%%EOF"), noRoot},
		{"deep page", newWriter().page("/MediaBox[0 0 72 72]", strings.Repeat("[", 100_000)).bytes(), "1 pages, next 0, note \"\"\n1: \"\" picture 200x200\n"},
		{"form in itself", itself.bytes(), "1 pages, next 0, note \"\"\n1: \"\" picture 200x200\n"},
		{"cut", []byte("%PDF-1.7\n1 0 obj<<"), cutShort},
		{"cut before the table", whole[:bytes.Index(whole, []byte("xref"))], "2 pages, next 0, note \"the file is damaged: it ends early; pages that are left: 2 of 2, numbered from 1\"\n1: \"Page 1\"\n2: \"Page 2\"\n"},
		{"cut after the table", whole[:bytes.Index(whole, []byte("startxref"))], "2 pages, next 0, note \"the file is damaged: its end is missing; " + recovered + "1: \"Page 1\"\n2: \"Page 2\"\n"},
		{"wrong table", bytes.Replace(whole, []byte("startxref\n"), []byte("startxref\n9"), 1), "2 pages, next 0, note \"\"\n1: \"Page 1\"\n2: \"Page 2\"\n"},
		{"table nowhere", []byte("%PDF-1.4\nstartxref\n99999999999999999999\n%%EOF"), "is a damaged PDF: its table of objects is missing or broken"},
		{"wrong count", miscounted.bytes(), "3 pages, next 0, note \"the file is damaged: its list of pages is broken; " + recovered + "1: \"Page 1\"\n2: \"Page 2\"\n3: \"[page 3 cannot be shown: it is damaged]\"\n"},
		{"bad form", form.table(""), "1 pages, next 0, note \"the file breaks the rules of PDF: its form fields are malformed; its pages could be read\"\n1: \"form\"\n"},
		{"encryption missing", []byte("%PDF-1.4\ntrailer<</Encrypt 5 0 R/Root 1 0 R>>\n%%EOF"), noRoot},
		{"script", []byte("%PDF-1.4\n1 0 obj<</OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj\n%%EOF"), noRoot},
		{"no size", page100("/MediaBox[0 0 100 100]/CropBox[500 500 600 600]").bytes(), "2 pages, next 0, note \"\"\n1: \"[page 1 cannot be shown: it has no size]\"\n2: \"after\"\n"},
		{"nothing wide", page100("/MediaBox[0 0 0 0]").bytes(), "2 pages, next 0, note \"\"\n1: \"\" picture 1545x2000\n2: \"after\"\n"},
		{"very wide", page100("/MediaBox[0 0 1000000000 1]").bytes(), "2 pages, next 0, note \"\"\n1: \"\" picture 2000x1\n2: \"after\"\n"},
		{"turned over", page100("/MediaBox[0 0 -72 -36]").bytes(), "2 pages, next 0, note \"\"\n1: \"\" picture 200x100\n2: \"after\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, outcome(t, c.name, c.data)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestDamaged checks that files that are cut or have wrong bytes are read or refused with
// a fault, and never end the process.
func TestDamaged(t *testing.T) {
	t.Parallel()
	file := newWriter().text("some text", "and more").scan("/MediaBox[0 0 72 72]")
	plain, packed := file.bytes(), file.packed()
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, whole := range [][]byte{plain, packed} {
		for i := range cuts / 2 {
			at := len(whole) * i / (cuts / 2)
			outcome(t, fmt.Sprintf("cut at %d", at), whole[:at])
		}
		for i := range flips / 2 {
			data := bytes.Clone(whole)
			for range 1 + rnd.IntN(8) {
				data[rnd.IntN(len(data))] ^= byte(1 << rnd.IntN(8))
			}
			outcome(t, fmt.Sprintf("flip %d", i), data)
		}
	}
}

// TestLeavesNothing checks that reading creates no folder in the user's configuration.
func TestLeavesNothing(t *testing.T) {
	if homeLeft != nil {
		t.Errorf("%v in the home folder", homeLeft)
	}
}

// slowSource returns one byte less than asked for, and io.EOF with the last bytes.
type slowSource struct{ data []byte }

func (s slowSource) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, s.data[off:])
	if off+int64(n) == int64(len(s.data)) {
		return n, io.EOF
	}
	return max(n-1, 1), nil
}

// TestSource checks that pdfium gets all bytes from any valid io.ReaderAt.
func TestSource(t *testing.T) {
	data := []byte("0123456789")
	for _, size := range []int{1, 4, 10} {
		got := make([]byte, size)
		s := newSource(slowSource{data}, int64(len(data)))
		if _, err := s.Seek(int64(len(data)-size), io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Read(got); n != size || err != nil || string(got) != string(data[len(data)-size:]) {
			t.Errorf("%d bytes: %q, %d, %v", size, got, n, err)
		}
	}
}
