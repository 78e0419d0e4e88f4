// Package pdf reads PDF files: the text of their pages, and pictures of pages
// that have none.
//
// pdfcpu judges a file: its structure, its encryption, how many pages it has.
// pdfium then reads it, inside a WebAssembly memory of its own. Nothing a file
// asks for is done: no scripts, forms, links, attachments or other files.
//
// Either may take long and much memory over a hostile file. Read is for a
// process that reads one file under a deadline and a memory limit.
package pdf

import (
	"fmt"
	"io"
	"time"

	"mcp-toolset/internal/document/picture"
	"mcp-toolset/internal/fault"
)

// Limits of one answer.
const (
	// MaxPages is how many pages a call reads: 20 pictures of pages are what a
	// model takes at once.
	MaxPages = 20
	// MaxPagesUnasked is how many pages a file may have to be read whole when
	// no range is given: more would fill the answer by surprise.
	MaxPagesUnasked = 10
)

// Request is what to read. The zero range is the whole file.
type Request struct {
	First, Last  int           // page numbers, 1-based; a zero Last is First
	Pictures     bool          // a picture of each page, also of one with text
	TextBudget   int           // bytes of text, the first page always whole; 0: no limit
	PictureBytes int           // bytes of all pictures, the first always there; 0: no limit
	Time         time.Duration // after which no further page is begun; 0: no limit
	Cache        string        // folder for what the engine compiles, 14 MB; "": none, which costs a second or two
}

// Document is what was read.
type Document struct {
	PageCount int
	Pages     []Page
	Next      int    // the first page asked for that is left out; 0: none
	Note      string // what is wrong with the file, though it could be read; "": nothing
}

// Page is one page: its text, or a picture of it if it has none that can be
// read. A page that cannot be shown has a text in brackets that says so.
type Page struct {
	Number  int // 1-based
	Text    string
	Picture *picture.Picture
	Figures bool // beside the text there is a figure
}

// Read reads pages of a file. What is damaged, encrypted or asked for beyond
// the end is a *fault.Fault whose fact goes on after the name of the file.
func Read(file io.ReaderAt, size int64, r Request) (*Document, error) {
	if err := checkStart(file, size); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	v, err := validate(file, size)
	if err != nil {
		return nil, err
	}
	if v.pages > 0 { // the engine takes a second to start: not for a range that is wrong
		if _, _, err := r.span(v.pages); err != nil {
			return nil, err
		}
	}
	b, err := openBook(file, size, r.Cache)
	if err != nil {
		return nil, refusal(v, err)
	}
	defer b.close()
	if b.pages == 0 {
		return nil, damaged(firstOf(v.flaw, "it has no pages"))
	}
	first, last, err := r.span(b.pages)
	if err != nil {
		return nil, err
	}
	doc := &Document{PageCount: b.pages, Note: v.note(b.pages)}
	if shown := doc.fill(b, r, first, last); shown == 0 && v.flaw != "" {
		return nil, damaged(v.flaw)
	}
	return doc, nil
}

// fill reads pages as long as the budgets hold, and returns how many of them
// can be shown.
func (d *Document) fill(b *book, r Request, first, last int) (shown int) {
	text, pictures := 0, 0
	begun := time.Now()
	for n := first; n <= last; n++ {
		if n > first && r.Time > 0 && time.Since(begun) > r.Time {
			d.Next = n
			return shown
		}
		p, ok := b.page(n, r.Pictures)
		text += len(p.Text)
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

// check refuses a range that no file could satisfy.
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

// span is the range of pages to read of a file that has so many.
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
