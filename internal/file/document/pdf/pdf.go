// Package pdf reads PDF files: the text of pages, and pictures of pages without text.
//
// pdfcpu first checks a file: its structure, encryption and number of pages. pdfium then
// reads it, inside a WebAssembly memory of its own. Form fields and annotations that a
// screen shows become part of their page. Scripts, links, attachments and references to
// other files are ignored.
//
// Either library may take much time and memory on a hostile file. Call Read in a process
// that reads one file with a deadline and a memory limit.
package pdf

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"mcp-toolset/internal/file/document/picture"
	"mcp-toolset/internal/text/fault"
)

// Limits of one answer.
const (
	// MaxPages is the limit of pages in one call. A model takes 20 pictures of pages at
	// once.
	MaxPages = 20
	// MaxPagesUnasked is the limit of pages for reading a whole file without a range.
	// More would fill the answer unexpectedly.
	MaxPagesUnasked = 10
)

// Request selects the pages to read. A zero range selects the whole file.
type Request struct {
	First, Last  int           // page numbers from 1; if Last is 0, it equals First
	Pictures     bool          // whether to draw each page, even one with text
	TextBudget   int           // limit of all text, in bytes; the first page is always whole; 0: no limit
	PictureBytes int           // limit of all pictures, in bytes; the first is always included; 0: no limit
	Time         time.Duration // after this time no further page is begun; 0: no limit
	Cache        string        // folder for the compiled engine, 14 MB; "": none, which costs a second or two
}

// Document is the result of reading a file.
type Document struct {
	PageCount int
	Pages     []Page
	Next      int    // the first requested page that was left out; 0 if none was
	Note      string // describes the damage of a file that could still be read; otherwise ""
	Form      string // says that the file is a form whose content cannot be shown; otherwise ""
}

// Page is one page: its text, or a picture if it has no readable text. The text of a page
// that cannot be shown states the reason, in brackets.
type Page struct {
	Number  int // 1-based
	Text    string
	Picture *picture.Picture
	Figures bool // whether the page has a figure besides its text

	// Notes holds form fields and comments that the text does not show, as lines in brackets.
	Notes string
}

// Read reads pages of a file. If the file is damaged or encrypted, or the range is wrong,
// the error is a *fault.Fault whose fact continues the name of the file.
func Read(file io.ReaderAt, size int64, r Request) (*Document, error) {
	if err := checkStart(file, size); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	file = attachmentsOnly(file, size)
	v, err := validate(file, size, "")
	if err == nil {
		var doc *Document
		doc, err = readWith(file, size, "", v, r)
		if isDamaged(err) && !hasEnd(file, size) {
			return readRemains(file, size, r)
		}
		if err != errPassword {
			return doc, err
		}
	}
	opened, password, ok := asOwner(file, size)
	if !ok {
		return nil, err
	}
	if v, err = validate(opened, size, password); err != nil {
		v = verdict{} // pdfium has the last word: it opens files without a length of the key
	}
	return readWith(opened, size, password, v, r)
}

// readRemains reads the pages that are left of a file that ends early.
func readRemains(file io.ReaderAt, size int64, r Request) (*Document, error) {
	whole, left, had := rebuild(file, size)
	if left == 0 {
		return nil, damaged(noEnd)
	}
	file, size = bytes.NewReader(whole), int64(len(whole))
	v, err := validate(file, size, "")
	if err != nil {
		return nil, damaged(noEnd)
	}
	doc, err := readWith(file, size, "", v, r)
	if err != nil {
		return nil, err
	}
	of := ""
	if had >= left {
		of = fmt.Sprintf(" of %d", had)
	}
	doc.Note = fmt.Sprintf("the file is damaged: it ends early; pages that are left: %d%s, numbered from 1", left, of)
	return doc, nil
}

// readWith reads pages of a file with its user password. v is the result of its check.
func readWith(file io.ReaderAt, size int64, password string, v verdict, r Request) (*Document, error) {
	if v.pages > 0 { // the engine takes a second to start, so wrong ranges are refused before
		if _, _, err := r.span(v.pages); err != nil {
			return nil, err
		}
	}
	if len(v.patches) > 0 {
		file = patched{file, v.patches}
	}
	b, err := openBook(file, size, password, r.Cache)
	if err != nil {
		return nil, refusal(v, err)
	}
	defer b.close()
	if b.pages == 0 {
		return nil, damaged(firstOf(v.reason, "it has no pages"))
	}
	first, last, err := r.span(b.pages)
	if err != nil {
		return nil, err
	}
	doc := &Document{PageCount: b.pages, Note: v.note(b.pages)}
	if shown := doc.fill(b, r, first, last); shown == 0 && v.reason != "" {
		return nil, damaged(v.reason)
	}
	if b.xfa {
		doc.Form = "this is an XFA form: what its pages show may be only a placeholder, and the form itself is XML that Read does not show; ask the user for a copy that was printed to PDF"
	}
	return doc, nil
}

// fill reads pages while the budgets last, and returns the number of pages that can be
// shown.
func (d *Document) fill(b *book, r Request, first, last int) (shown int) {
	text, pictures := 0, 0
	begun := time.Now()
	for n := first; n <= last; n++ {
		if n > first && r.Time > 0 && time.Since(begun) > r.Time {
			d.Next = n
			return shown
		}
		p, ok := b.page(n, r.Pictures)
		text += len(p.Text) + len(p.Notes)
		over := n > first && r.TextBudget > 0 && text > r.TextBudget
		if p.Picture != nil {
			over = over || pictures > 0 && r.PictureBytes > 0 && pictures+len(p.Picture.Data) > r.PictureBytes
			pictures += len(p.Picture.Data)
		}
		if over {
			d.Next = n
			return shown
		}
		if ok {
			shown++
		}
		d.Pages = append(d.Pages, p)
	}
	return shown
}

// check rejects a range that is invalid for every file.
func (r Request) check() error {
	switch {
	case r.First < 0 || r.Last != 0 && r.Last < r.First:
		return &fault.Fault{
			Fact: fmt.Sprintf("cannot be read from page %d to page %d", r.First, r.Last),
			Next: `Give the smaller number first, counted from 1, as in "2-5".`,
		}
	case r.Last-max(r.First, 1) >= MaxPages:
		first := max(r.First, 1)
		return &fault.Fault{
			Fact: fmt.Sprintf("cannot be read %d pages at a time", r.Last-first+1),
			Next: fmt.Sprintf(`At most %d are read in a call: ask for pages "%d-%d" first.`, MaxPages, first, first+MaxPages-1),
		}
	}
	return nil
}

// span returns the range of pages to read in a file of this many pages.
func (r Request) span(pages int) (first, last int, err error) {
	has := "has 1 page"
	if pages != 1 {
		has = fmt.Sprintf("has %d pages", pages)
	}
	if r.First == 0 && r.Last == 0 {
		if pages > MaxPagesUnasked {
			return 0, 0, &fault.Fault{
				Fact: fmt.Sprintf("%s, more than the %d that are read without being asked for", has, MaxPagesUnasked),
				Next: fmt.Sprintf(`Ask for the pages you need, at most %d in a call, as in pages "1-%d".`, MaxPages, min(pages, MaxPages)),
			}
		}
		return 1, pages, nil
	}
	first = max(r.First, 1)
	if first > pages {
		next := fmt.Sprintf("Ask for pages from 1 to %d.", pages)
		if pages == 1 {
			next = "Ask for page 1."
		}
		return 0, 0, &fault.Fault{Fact: fmt.Sprintf("%s, so there is no page %d", has, first), Next: next}
	}
	return first, min(max(r.Last, first), pages), nil
}
