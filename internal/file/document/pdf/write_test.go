package pdf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
)

// writer writes a PDF file object by object. The first object is the catalog, the second
// the list of pages; finish makes both.
type writer struct {
	objects []string
	pages   []int // object numbers
}

func newWriter() *writer { return &writer{objects: make([]string, 2)} }

// add adds an object and returns its number.
func (w *writer) add(object string) int {
	w.objects = append(w.objects, object)
	return len(w.objects)
}

// stream adds a stream, compressed.
func (w *writer) stream(dict string, data []byte) int {
	packed := deflate(data)
	return w.add(fmt.Sprintf("<<%s/Filter/FlateDecode/Length %d>>\nstream\n%s\nendstream", dict, len(packed), packed))
}

// page adds a page; dict holds its entries other than contents and parent.
func (w *writer) page(dict, contents string) *writer {
	c := w.stream("", []byte(contents))
	w.pages = append(w.pages, w.add(fmt.Sprintf("<</Type/Page/Parent 2 0 R/Contents %d 0 R%s>>", c, dict)))
	return w
}

const letter = "/MediaBox[0 0 612 792]"

// text adds a page with lines of Helvetica.
func (w *writer) text(lines ...string) *writer {
	font := w.add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
	var b strings.Builder
	b.WriteString("BT /F1 12 Tf 14 TL 72 720 Td\n")
	for _, line := range lines {
		fmt.Fprintf(&b, "(%s) '\n", line)
	}
	b.WriteString("ET")
	return w.page(fmt.Sprintf("%s/Resources<</Font<</F1 %d 0 R>>>>", letter, font), b.String())
}

// scan adds a page that is only a picture, white above and black below.
func (w *writer) scan(dict string) *writer {
	pixels := append(bytes.Repeat([]byte{255}, 50*100), make([]byte, 50*100)...)
	img := w.stream("/Type/XObject/Subtype/Image/Width 100/Height 100/ColorSpace/DeviceGray/BitsPerComponent 8", pixels)
	return w.page(fmt.Sprintf("%s/Resources<</XObject<</I %d 0 R>>>>", dict, img), "q 612 0 0 792 0 0 cm /I Do Q")
}

// finish fills in the catalog and the list of pages.
func (w *writer) finish(catalog string) {
	kids := ""
	for _, n := range w.pages {
		kids += fmt.Sprintf("%d 0 R ", n)
	}
	w.objects[0] = "<</Type/Catalog/Pages 2 0 R" + catalog + ">>"
	if w.objects[1] == "" {
		w.objects[1] = fmt.Sprintf("<</Type/Pages/Count %d/Kids[%s]>>", len(w.pages), kids)
	}
}

// bytes returns the file with a plain table of objects.
func (w *writer) bytes() []byte {
	w.finish("")
	return w.table("")
}

// table returns the file with the objects unchanged; trailer is added to the trailer.
func (w *writer) table(trailer string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	var at []int
	for i, o := range w.objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, a := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", a)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, trailer, start)
	return b.Bytes()
}

// packed returns the file with its objects in a compressed stream, as in PDF 1.5. Streams
// stay outside of it.
func (w *writer) packed() []byte {
	w.finish("")
	var b, heads, bodies bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	bundle, count := len(w.objects)+1, 0
	rows := []byte{0, 0, 0, 0, 0} // type, three bytes of offset, index
	row := func(kind, place, index int) {
		rows = append(rows, byte(kind), byte(place>>16), byte(place>>8), byte(place), byte(index))
	}
	for i, o := range w.objects {
		if strings.Contains(o, "stream") {
			row(1, b.Len(), 0)
			fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
			continue
		}
		row(2, bundle, count)
		fmt.Fprintf(&heads, "%d %d ", i+1, bodies.Len())
		bodies.WriteString(o + " ")
		count++
	}
	row(1, b.Len(), 0)
	data := deflate(append(heads.Bytes(), bodies.Bytes()...))
	fmt.Fprintf(&b, "%d 0 obj\n<</Type/ObjStm/N %d/First %d/Filter/FlateDecode/Length %d>>\nstream\n%s\nendstream\nendobj\n", bundle, count, heads.Len(), len(data), data)
	start := b.Len()
	row(1, start, 0)
	table := deflate(rows)
	fmt.Fprintf(&b, "%d 0 obj\n<</Type/XRef/Size %d/W[1 3 1]/Root 1 0 R/Filter/FlateDecode/Length %d>>\nstream\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n",
		bundle+1, bundle+2, len(table), table, start)
	return b.Bytes()
}

func deflate(data []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write(data) // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}
