package document

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-toolset/internal/file/document/pdf"
	"mcp-toolset/internal/file/notebook"
	"mcp-toolset/internal/text/fault"
)

// pngOf returns a PNG picture filled with a repeating pattern.
func pngOf(t *testing.T, w, h int) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range img.Pix {
		img.Pix[i] = byte(i)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pdfOf returns a PDF file of one page with a text and a correct cross-reference table.
func pdfOf(text string) []byte {
	content := "BT /F1 24 Tf 72 700 Td (" + text + ") Tj ET"
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var at []int
	for i, obj := range []string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
		fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(content), content),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
	} {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, obj)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, a := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", a)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, xref)
	return b.Bytes()
}

func wantFault(t *testing.T, err error, want string) {
	t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) || !strings.Contains(f.Error(), want) {
		t.Errorf("got %#v, want a fault with %q", err, want)
	}
}

func TestPicture(t *testing.T) {
	r, log := testReader(t, maxMemory, maxTime)
	data := pngOf(t, 3000, 30)
	p, err := r.Picture(t.Context(), tempFile(t, data), int64(len(data)))
	if err != nil || p.Width != 2000 || p.OriginalWidth != 3000 || p.OriginalMIMEType != "image/png" {
		t.Fatalf("got %+v, %v", p, err)
	}
	if _, _, err := image.Decode(bytes.NewReader(p.Data)); err != nil {
		t.Errorf("the picture came out broken: %v", err)
	}

	cut := data[:len(data)*2/3]
	_, err = r.Picture(t.Context(), tempFile(t, cut), int64(len(cut)))
	wantFault(t, err, "PNG")
	_, err = r.Picture(t.Context(), tempFile(t, data[:len(data)-100]), int64(len(data)))
	wantFault(t, err, "became shorter while it was read")

	before := strings.Count(log(), "kind=picture")
	_, err = r.Picture(t.Context(), tempFile(t, []byte("no picture")), 10)
	wantFault(t, err, "")
	if strings.Count(log(), "kind=picture") != before {
		t.Error("a process was started for what the header rules out")
	}
}

func TestPicturesAtOnce(t *testing.T) {
	r, _ := testReader(t, maxMemory, maxTime)
	data := pngOf(t, 300, 300)
	f := tempFile(t, data)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if p, err := r.Picture(t.Context(), f, int64(len(data))); err != nil || !bytes.Equal(p.Data, data) {
				t.Errorf("got %+v, %v", p, err)
			}
		})
	}
	all.Wait()
}

func TestNotebook(t *testing.T) {
	r, log := testReader(t, maxMemory, maxTime)
	data := []byte(`{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[
		{"cell_type":"markdown","id":"a","metadata":{},"source":"# <Title>"},
		{"cell_type":"code","id":"b","metadata":{},"source":"x","execution_count":null,"outputs":[]}]}`)
	v, err := r.Notebook(t.Context(), tempFile(t, data), int64(len(data)), notebook.Request{First: 1, Count: 1})
	if err != nil || v.Total != 2 || len(v.Cells) != 1 || v.Cells[0].Source != "# <Title>" {
		t.Errorf("got %+v, %v", v, err)
	}
	_, err = r.Notebook(t.Context(), tempFile(t, data[:50]), 50, notebook.Request{})
	wantFault(t, err, "JSON")

	before := log()
	_, err = r.Notebook(t.Context(), tempFile(t, nil), maxNotebook+1, notebook.Request{})
	wantFault(t, err, "is a notebook of 67108865 bytes, over the limit of 64 MiB. Remove outputs from a copy of it and read that.")
	if log() != before {
		t.Error("a process was started for a file that is too large")
	}
}

func TestPDF(t *testing.T) {
	r, _ := testReader(t, maxMemory, 10*maxTime) // the race detector makes compiling the engine slow
	r.cache = filepath.Join(t.TempDir(), "state", "cache")
	data := pdfOf("Read me")
	f := tempFile(t, data)
	for range 2 { // writes the cache, then reads it
		d, err := r.PDF(t.Context(), f, int64(len(data)), pdf.Request{})
		if err != nil || d.PageCount != 1 || len(d.Pages) != 1 || d.Pages[0].Text != "Read me" {
			t.Fatalf("got %+v, %v", d, err)
		}
	}
	if info, err := os.Stat(r.cache); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("the cache: %v, %v", info, err)
	}
	if list, err := os.ReadDir(r.cache); err != nil || len(list) == 0 {
		t.Errorf("nothing in the cache: %v", err)
	}
	_, err := r.PDF(t.Context(), tempFile(t, []byte("no PDF")), 6, pdf.Request{})
	wantFault(t, err, "PDF")
	_, err = r.PDF(t.Context(), f, maxPDF+1, pdf.Request{})
	wantFault(t, err, "is a PDF file of 1073741825 bytes, over the limit of 1024 MiB. Split it into smaller files and read those.")
}

// TestCompileTime checks that a process has more time while the cache has no engine.
func TestCompileTime(t *testing.T) {
	r, _ := testReader(t, maxMemory, maxTime)
	check := func(when string, want time.Duration) {
		t.Helper()
		if got := r.pdfRequest(1, pdf.Request{}).Deadline; got != want {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	check("without a cache", compileTime)
	r.cache = filepath.Join(t.TempDir(), "state", "cache")
	check("with an empty cache", compileTime)
	dir := filepath.Join(r.cache, "wazero")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		want time.Duration
	}{{"a.tmp", compileTime}, {"a", 0}} {
		if err := os.WriteFile(filepath.Join(dir, c.name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		check("with the file "+c.name, c.want)
	}
}

// A cache that others can write to is refused: its code is run.
func TestForeignCache(t *testing.T) {
	r, log := testReader(t, maxMemory, maxTime)
	dir := t.TempDir()
	r.cache = filepath.Join(dir, "cache")
	if err := os.Symlink(t.TempDir(), r.cache); err != nil {
		t.Skip(err)
	}
	if got := r.privateCache(); got != "" || !strings.Contains(log(), "without a cache") {
		t.Errorf("the cache is %q; log: %s", got, log())
	}
	r.cache = ""
	if got := r.privateCache(); got != "" {
		t.Errorf("the cache is %q", got)
	}
}
