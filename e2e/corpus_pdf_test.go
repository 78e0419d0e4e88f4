//go:build unix

package e2e

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
)

// pdfOf returns a PDF file with one page for each content. All pages have a font F1 and
// an image Im of one black pixel.
func pdfOf(contents ...string) string { return pdfWith("", contents...) }

// pdfWith is like pdfOf, with more keys in each page.
func pdfWith(keys string, contents ...string) string {
	var b strings.Builder
	b.WriteString("%PDF-1.4\n")
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(offsets), fmt.Sprintf(format, args...))
	}
	var kids strings.Builder
	for i := range contents {
		fmt.Fprintf(&kids, "%d 0 R ", 5+2*i)
	}
	object("<</Type/Catalog/Pages 2 0 R>>")
	object("<</Type/Pages/Kids[%s]/Count %d>>", &kids, len(contents))
	object("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
	object("<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>\nstream\n\x00\nendstream")
	if !strings.Contains(keys, "/MediaBox") {
		keys += "/MediaBox[0 0 200 100]"
	}
	for i, content := range contents {
		object("<</Type/Page/Parent 2 0 R%s/Resources<</Font<</F1 3 0 R>>/XObject<</Im 4 0 R>>>>/Contents %d 0 R>>", keys, 6+2*i)
		object("<</Length %d>>\nstream\n%s\nendstream", len(content), content)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return b.String()
}

// textPage returns the content of a page with a text.
func textPage(text string) string { return "BT /F1 12 Tf 10 50 Td (" + text + ") Tj ET" }

// numberedPages returns the contents of pages that state their number.
func numberedPages(n int) (contents []string) {
	for i := range n {
		contents = append(contents, textPage(fmt.Sprintf("This is page %d.", i+1)))
	}
	return contents
}

const scan = "q 100 0 0 100 20 0 cm /Im Do Q"

// onePage returns the expected answer for a file of one page with a text.
func onePage(text string) string { return `## Page 1 of 1\n(` + text + `)\n?` }

// drawn matches the note for a page that is shown as a picture.
const drawn = `\[no readable text on this page; shown as a picture of \d+ x \d+ pixels\]`

// addPDFs adds PDF files, whole, unusual and broken.
func addPDFs(c *corpus) {
	hello := pdfOf(textPage("Hello"))
	c.shows("pdf/text.pdf", hello, onePage("Hello"))
	c.shows("pdf/is_pdf", hello, onePage("Hello"))
	c.shows("pdf/is_pdf.txt", hello, onePage("Hello"))
	c.shows("pdf/is_pdf.png", hello, onePage("Hello"))
	c.shows("pdf/mail_before.pdf", "From: a mail\n\n"+hello, onePage(`Hello(\n\n\[.+\])?`))
	c.shows("pdf/tail.pdf", hello+"\n<html>tail</html>\n", onePage("Hello"))
	c.read("pdf/text.pdf", onePage("Hello")).with(`"pages":"1-20"`)
	c.refuse("pdf/text.pdf", `has 1 page, so there is no page 2\. Ask for page 1\.`).with(`"pages":"2"`)
	c.read("pdf/text.pdf", onePage("Hello")+`\n*\[offset and limit mean nothing in a PDF file; pages chooses\]`).with(`"offset":3`)
	c.shows("pdf/ten.pdf", pdfOf(numberedPages(10)...), `## Page 1 of 10\nThis is page 1\..*## Page 10 of 10\nThis is page 10\.\n?`)
	c.shows("pdf/scan.pdf", pdfOf(scan), onePage(drawn)).pictures = 1
	c.shows("pdf/mixed.pdf", pdfOf(textPage("Hello"), scan, textPage("Bye")), `## Page 1 of 3\nHello\n\n## Page 2 of 3\n`+drawn+`\n## Page 3 of 3\nBye\n?`).pictures = 1
	c.shows("pdf/empty_page.pdf", pdfOf(""), onePage(drawn)).pictures = 1
	c.shows("pdf/turned.pdf", pdfWith("/Rotate 90", scan), onePage(`\[no readable text on this page; shown as a picture of 278 x 556 pixels\]`)).pictures = 1
	c.shows("pdf/tiny_page.pdf", pdfWith("/MediaBox[0 0 1 1]", scan), onePage(`\[no readable text on this page; shown as a picture of 3 x 3 pixels\]`)).pictures = 1
	c.shows("pdf/huge_page.pdf", pdfWith("/MediaBox[0 0 1000000000 1000000000]", scan), onePage(drawn+`|\[page 1 cannot be shown: .+\]`)).pictures = -1
	c.shows("pdf/backward_page.pdf", pdfWith("/MediaBox[200 100 0 0]", scan), onePage(drawn)).pictures = 1
	c.shows("pdf/no_page_size.pdf", pdfWith("/MediaBox[0 0 0 0]", textPage("Hello")), onePage("Hello")+"|"+onePage(".*"))
	eleven := pdfOf(numberedPages(11)...)
	c.refuses("pdf/eleven.pdf", eleven, `has 11 pages, more than the 10 that are read without being asked for\. Ask for .+ "1-11"\.`)
	c.read("pdf/eleven.pdf", `## Page 3 of 11\nThis is page 3\.\n\n## Page 4 of 11\nThis is page 4\.\n?`).with(`"pages":"3-4"`)
	c.read("pdf/eleven.pdf", `## Page 11 of 11\nThis is page 11\.\n?`).with(`"pages":"11-30"`)
	long := "BT /F1 1 Tf 1 TL 10 90 Td " + strings.Repeat("("+strings.Repeat("word ", 100)+") Tj T* ", 120) + "ET" // 60,000 bytes
	c.shows("pdf/long_pages.pdf", pdfOf(long, long, long), `## Page 1 of 3\n(word ?\s?)+\n\n\[the answer is full; go on with pages "2-3"\]`)
	encrypted := readFile(c, "testdata/corpus/encrypted.pdf")
	c.refuses("pdf/encrypted.pdf", encrypted, `is encrypted and needs a password\. Ask the user for a copy without a password\.`)
	c.shows("pdf/owner_password.pdf", readFile(c, "testdata/corpus/owner_password.pdf"), onePage("Hello"))
	addBadPDFs(c, hello)
}

// addBadPDFs adds PDF files that are cut or hostile.
func addBadPDFs(c *corpus, hello string) {
	const bad = `is a damaged PDF: .+\. Get the file again from where it came from\.`
	// Recovered content is shown with a note, and nothing else is.
	const recovered = onePageHello + `\n\n\[the file (is damaged|breaks the rules of PDF): .+\]`
	for name, data := range map[string]string{
		"header_only": "%PDF-", "cut_header": "%PDF-1.7\n1 0 obj<<", "header_and_bytes": "%PDF-1.4\n%\xe2\xe3\n", "wrong_table": "%PDF-1.4\nstartxref\n99999999999999999999\n%%EOF",
		"loop":   "%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[2 0 R]/Count 999999999>>endobj trailer<</Root 1 0 R/Prev 0>>",
		"bomb":   "%PDF-1.1\n4 0 obj<</Filter/FlateDecode/Length 1>>stream\n" + zlibOf(c, make([]byte, 50_000_000)) + "\nendstream endobj",
		"deep":   "%PDF-1.1\n1 0 obj " + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + " endobj",
		"script": "%PDF-1.4\n1 0 obj<</OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj", "no_pages": pdfOf(),
		"garbage": "%PDF-1.7\n" + strings.Repeat("garbage\n", 200),
	} {
		c.refuses("pdf/bad_"+name+".pdf", data, bad)
	}
	c.refuses("pdf/bad_encryption.pdf", "%PDF-1.4\ntrailer<</Encrypt 5 0 R/Root 1 0 R>>", bad+`|is encrypted.+`)
	c.shows("pdf/least.pdf", "%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj trailer<</Root 1 0 R>>", onePage(drawn)+`\n.*`).pictures = 1
	table := strings.Index(hello, "xref")
	c.refuses("pdf/no_table.pdf", hello[:table], bad)
	c.refuses("pdf/cut_table.pdf", hello[:table+30], bad)
	c.shows("pdf/wrong_start.pdf", strings.Replace(hello, "startxref\n", "startxref\n9", 1), onePageHello+`(\n\n\[.+\])?\n?`)
	c.shows("pdf/wrong_offsets.pdf", strings.Replace(hello, "%PDF-1.4\n", "%PDF-1.4\n% one line more\n", 1), onePageHello+`(\n\n\[.+\])?\n?`)
	c.shows("pdf/no_end.pdf", strings.Replace(hello, "%%EOF", "", 1), recovered)
	c.refuses("pdf/half.pdf", hello[:len(hello)/4], bad)
	c.refuses("pdf/zeros.pdf", hello[:9]+strings.Repeat("\x00", 5000), bad)
	c.shows("pdf/nesting_content.pdf", pdfOf(strings.Repeat("q ", 100_000)+textPage("Hello")), onePage(".*")).pictures = -1
	c.shows("pdf/content_bomb.pdf", strings.Replace(pdfOf(zlibOf(c, bytes.Repeat([]byte(" "), 50_000_000))), "<</Length ", "<</Filter/FlateDecode/Length ", 2), `.+`).pictures = -1
	calls := pdfOf("/F Do")
	c.shows("pdf/form_calls_itself.pdf", strings.Replace(calls, "/Im 4 0 R", "/F  4 0 R", 1), onePage(".+")).pictures = -1
}

const onePageHello = `## Page 1 of 1\nHello`

// addRealPDFs adds some of pdfcpu's test files: from office programs, TeX and scanners,
// and with forms, annotations and PDF 2.0.
func addRealPDFs(c *corpus) {
	module := c.module("github.com/pdfcpu/pdfcpu")
	if module == "" {
		return
	}
	for _, p := range []struct {
		name, want string
		pictures   int
	}{
		{"test.pdf", onePage(drawn), 1},
		{"Walden.pdf", `## Page 1 of 2\nWALDEN\nBY\nHENRY DAVID THOREAU\n.*## Page 2 of 2\n.+`, 0},
		{"pdf20/withOffsetStart.pdf", onePage("This is a PDF 2.0 document"), 0},
		{"adobe_errata.pdf", `Read: failed: \$ROOT/real/adobe_errata\.pdf has 18 pages, more than the 10 that are read without being asked for\. .+`, 0},
		{"testRot.pdf", onePage(drawn), 1}, {"empty.pdf", onePage(drawn), 1}, {"blank-scan.pdf", onePage(drawn), 1},
		{"mountain.pdf", onePage(drawn), 1}, {"VectorApple.pdf", onePage(drawn), 1},
		{"testImage.pdf", `## Page 1 of 2\n` + drawn + `\n## Page 2 of 2\n` + drawn, 2},
		{"Acroforms2.pdf", `## Page 1 of 3\n.*Lansdowne, PA 19050.*## Page 3 of 3\n.+`, 0},
		{"Hybrid-PDF.pdf", `## Page 1 of 1\nWhat is a hybrid PDF file\?\n.+`, 0},
		{"jphysiol01396-0132.pdf", `## Page 1 of 6\n541\nJ\. Physiol\..+REANIMATION OF RATS.+`, 0},
		{"zineTest.pdf", `## Page 1 of 8\n1\n\n## Page 2 of 8\n2\n.+`, 0},
		{"pdf20/SimplePDF2.0.pdf", onePage("Hello World"), 0}, {"pdf20/i277.pdf", onePage(drawn), 1},
		{"pdf20/utf8test.pdf", onePage(`PDF 2\.0 with UTF-8 test file\n.+`), 0}, {"pdf20/viaIncrementalSave.pdf", onePage("PDF 2.0 Words Have Spacing"), 0},
		{"pdf20/imageWithBPC.pdf", `## Page 1 of 1\nThis text is in a Calibrated RGB \(CalRGB\) colorspace\n.+`, 0},
	} {
		name := "real/" + filepath.Base(p.name)
		s := c.shows(name, readFile(c, filepath.Join(module, "pkg", "testdata", filepath.FromSlash(p.name))), p.want)
		s.pictures, s.failed = p.pictures, strings.HasPrefix(p.want, "Read: failed")
	}
}
