package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/file/document/picture"
	"mcp-toolset/internal/testscale"
	"mcp-toolset/internal/text/fault"
)

var (
	cacheDir string        // folder of the compiled engine, shared by all tests
	homeLeft []os.DirEntry // entries that the first read left in the home folder
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "pdf")
	if err == nil {
		defer os.RemoveAll(dir)
		cacheDir = filepath.Join(dir, "cache")
		err = firstRead(filepath.Join(dir, "home"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// firstRead compiles the engine before the tests run in parallel, with a temporary home
// folder.
func firstRead(home string) error {
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData"} {
		old, ok := os.LookupEnv(name)
		if err := os.Setenv(name, home); err != nil {
			return err
		}
		defer func() {
			_ = os.Unsetenv(name)
			if ok {
				_ = os.Setenv(name, old)
			}
		}()
	}
	if _, err := read(numbered(1).bytes(), Request{}); err != nil {
		return err
	}
	var err error
	if homeLeft, err = os.ReadDir(home); len(homeLeft) == 0 {
		homeLeft = nil
	}
	return err
}

func read(data []byte, r Request) (*Document, error) {
	r.Cache = cacheDir
	return Read(bytes.NewReader(data), int64(len(data)), r)
}

func mustRead(t *testing.T, data []byte, r Request) *Document {
	t.Helper()
	doc, err := read(data, r)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// show formats a document with one line for each page.
func show(d *Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d pages, next %d, note %q\n", d.PageCount, d.Next, d.Note)
	for _, p := range d.Pages {
		fmt.Fprintf(&b, "%d: %q", p.Number, p.Text)
		if p.Figures {
			b.WriteString(" figures")
		}
		if p.Picture != nil {
			fmt.Fprintf(&b, " picture %dx%d", p.Picture.Width, p.Picture.Height)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func numbered(n int) *writer {
	w := newWriter()
	for i := range n {
		w.text(fmt.Sprintf("Page %d", i+1))
	}
	return w
}

func TestPages(t *testing.T) {
	t.Parallel()
	mixed := newWriter().text("Hello, world", "second line").scan(letter).bytes()
	for _, c := range []struct {
		name string
		data []byte
		r    Request
		want string
	}{
		{"text", numbered(3).bytes(), Request{}, "3 pages, next 0, note \"\"\n1: \"Page 1\"\n2: \"Page 2\"\n3: \"Page 3\"\n"},
		{"objects in a stream", numbered(2).packed(), Request{}, "2 pages, next 0, note \"\"\n1: \"Page 1\"\n2: \"Page 2\"\n"},
		{"one page", numbered(3).bytes(), Request{First: 2}, "3 pages, next 0, note \"\"\n2: \"Page 2\"\n"},
		{"a range", numbered(30).bytes(), Request{First: 7, Last: 8}, "30 pages, next 0, note \"\"\n7: \"Page 7\"\n8: \"Page 8\"\n"},
		{"up to", numbered(3).bytes(), Request{Last: 2}, "3 pages, next 0, note \"\"\n1: \"Page 1\"\n2: \"Page 2\"\n"},
		{"beyond the end", numbered(3).bytes(), Request{First: 3, Last: 9}, "3 pages, next 0, note \"\"\n3: \"Page 3\"\n"},
		{"mixed", mixed, Request{}, "2 pages, next 0, note \"\"\n1: \"Hello, world\\nsecond line\"\n2: \"\" picture 1545x2000\n"},
		{"rotated", newWriter().scan("/MediaBox[0 0 72 36]/Rotate 90").bytes(), Request{}, "1 pages, next 0, note \"\"\n1: \"\" picture 100x200\n"},
		{"small", newWriter().page("/MediaBox[0 0 72 36]", "").bytes(), Request{}, "1 pages, next 0, note \"\"\n1: \"\" picture 200x100\n"},
		{"text budget", numbered(5).bytes(), Request{TextBudget: 12}, "5 pages, next 3, note \"\"\n1: \"Page 1\"\n2: \"Page 2\"\n"},
		{"text budget of nothing", numbered(5).bytes(), Request{TextBudget: 1}, "5 pages, next 2, note \"\"\n1: \"Page 1\"\n"},
		{"picture budget", newWriter().text("x").scan("/MediaBox[0 0 72 36]").scan("/MediaBox[0 0 72 36]").bytes(), Request{PictureBytes: 1}, "3 pages, next 3, note \"\"\n1: \"x\"\n2: \"\" picture 200x100\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, show(mustRead(t, c.data, c.r))); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestFaults checks every message about a file, word for word.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		data []byte
		r    Request
		want string
	}{
		{"no PDF", []byte("hello"), Request{}, "is not a PDF file: its first 1024 bytes have no PDF header. Check that it is the file you mean; its name may be wrong."},
		{"empty", nil, Request{}, "is not a PDF file: its first 1024 bytes have no PDF header. Check that it is the file you mean; its name may be wrong."},
		{"many pages", numbered(11).bytes(), Request{}, `has 11 pages, more than the 10 that are read without being asked for. Ask for the pages you need, at most 20 in a call, as in pages "1-11".`},
		{"very many pages", numbered(30).bytes(), Request{}, `has 30 pages, more than the 10 that are read without being asked for. Ask for the pages you need, at most 20 in a call, as in pages "1-20".`},
		{"past the end", numbered(3).bytes(), Request{First: 4, Last: 6}, "has 3 pages, so there is no page 4. Ask for pages from 1 to 3."},
		{"past the only page", numbered(1).bytes(), Request{First: 2}, "has 1 page, so there is no page 2. Ask for page 1."},
		{"too wide", numbered(3).bytes(), Request{First: 2, Last: 22}, `cannot be read 21 pages at a time. At most 20 are read in a call: ask for pages "2-21" first.`},
		{"backwards", numbered(3).bytes(), Request{First: 3, Last: 2}, `cannot be read from page 3 to page 2. Give the smaller number first, counted from 1, as in "2-5".`},
		{"password", encryptedFile(t, "secret", "owner"), Request{}, "is encrypted and needs a password. Ask the user for a copy without a password."},
		{"header only", []byte("%PDF-"), Request{}, "is a damaged PDF: its end is missing. Get the file again from where it came from."},
		{"no pages", newWriter().bytes(), Request{}, "is a damaged PDF: it has no pages. Get the file again from where it came from."},
		{"garbage", append([]byte("%PDF-1.7\n"), bytes.Repeat([]byte("garbage\n%%EOF\n"), 100)...), Request{}, "is a damaged PDF: the object that holds it together is missing. Get the file again from where it came from."},
	} {
		_, err := read(c.data, c.r)
		var f *fault.Fault
		if !errors.As(err, &f) || err.Error() != c.want {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
	}
}

// TestRangeFaultsNeedNoEngine checks that a wrong range does not start the engine, which
// would have written to its cache.
func TestRangeFaultsNeedNoEngine(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{"range": numbered(11).bytes(), "password": encryptedFile(t, "secret", "owner")} {
		dir := t.TempDir()
		if _, err := Read(bytes.NewReader(data), int64(len(data)), Request{Cache: dir}); err == nil {
			t.Errorf("%s: no error", name)
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
			t.Errorf("%s: %v in the cache (%v)", name, list, err)
		}
	}
}

// TestOwnerPassword checks that a password that only restricts changes does not prevent
// reading.
func TestOwnerPassword(t *testing.T) {
	t.Parallel()
	doc := mustRead(t, encryptedFile(t, "", "owner"), Request{})
	if want := "1 pages, next 0, note \"\"\n1: \"top secret\"\n"; show(doc) != want {
		t.Errorf("%s, want %s", show(doc), want)
	}
}

// TestPicture checks that the picture shows the contents of the page on white.
func TestPicture(t *testing.T) {
	t.Parallel()
	doc := mustRead(t, newWriter().scan(letter).page(letter, "0 0 1 rg 0 0 306 792 re f").bytes(), Request{})
	colour := func(p *picture.Picture, x, y int) string {
		img, _, err := image.Decode(bytes.NewReader(p.Data))
		if err != nil {
			t.Fatal(err)
		}
		r, g, b, a := img.At(x*img.Bounds().Dx()/100, y*img.Bounds().Dy()/100).RGBA()
		return fmt.Sprintf("%x%x%x%x", r>>12, g>>12, b>>12, a>>12)
	}
	scan, half := doc.Pages[0].Picture, doc.Pages[1].Picture
	got := []string{colour(scan, 50, 25), colour(scan, 50, 75), colour(half, 25, 50), colour(half, 75, 50)}
	if diff := cmp.Diff([]string{"ffff", "000f", "00ff", "ffff"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestLarge checks that pdfium alone reads a file too large to check, and that a file too
// large for pdfium is refused.
func TestLarge(t *testing.T) {
	testscale.NeedFull(t)
	t.Parallel()
	w := numbered(11)
	w.add(fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", maxChecked, bytes.Repeat([]byte{'x'}, maxChecked)))
	data := w.bytes()
	if want := "11 pages, next 0, note \"\"\n11: \"Page 11\"\n"; show(mustRead(t, data, Request{First: 11})) != want {
		t.Errorf("not %s", want)
	}
	_, err := Read(bytes.NewReader(data), maxFile+1, Request{})
	if want := "is a PDF of 2147483648 bytes, over the limit of 2147483647. Ask the user to split it into smaller files."; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
