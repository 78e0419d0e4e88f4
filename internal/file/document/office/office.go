// Package office reads word processor documents, workbooks and presentations: Office Open
// XML (.docx, .xlsx, .pptx and their variants with macros) and OpenDocument (.odt, .ods,
// .odp). Documents become Markdown, sheets become tables, slides become text with notes.
//
// It reads the XML of a file as a stream and ignores what it does not know. Macros,
// formulas, links and references to other files are never followed. A file may expand to
// maxUnpacked bytes and nest maxDepth deep; still, call Read in a process that reads one
// file with a deadline and a memory limit.
package office

import (
	"fmt"
	"io"
	"path"
	"strings"

	"mcp-toolset/internal/text/fault"
)

// Kinds of a Document.
const (
	Text  = "document"
	Sheet = "sheet"
	Slide = "slide"
)

// Request selects what to read.
type Request struct {
	First, Last   int  // sheets or slides, from 1; 0, 0: all; if Last is 0, it equals First
	Offset, Limit int  // rows of a sheet or lines of a document, from 1; 0: all
	Formulas      bool // cells of sheets as their formulas instead of their values
	Budget        int  // limit of the text in bytes; 0: no limit
}

// Document is the result of reading a file.
type Document struct {
	Kind  string // Text, Sheet or Slide
	Total int    // number of sheets or slides; 1 for a document
	Parts []Part
	Next  int      // the first requested part that was left out; 0: none was
	Left  []string // names of the requested sheets that were left out
}

// Part is a sheet, a slide, or a document.
type Part struct {
	Number int    // from 1
	Name   string // of a sheet, or the title of a slide
	Detail string // the used range of a sheet, or that the part is hidden
	Text   string
	First  int      // the number of the first row or line that is shown
	Last   int      // that of the last
	Total  int      // the number of the last row or line there is; 0: unknown
	Next   int      // the row or line at which to go on; 0: the part is complete
	Notes  []string // facts about the part

	master string // of a slide: what its master slide shows on it
}

// Read reads a file. If the file is damaged, too large or of another kind, the error is a
// *fault.Fault whose fact continues the name of the file.
func Read(file io.ReaderAt, size int64, r Request) (*Document, error) {
	a, err := openArchive(file, size)
	if err != nil {
		return nil, err
	}
	if r.Budget <= 0 {
		r.Budget = maxText
	}
	if r.Last == 0 {
		r.Last = r.First
	}
	r.Offset = max(r.Offset, 1)
	if kind, is := a.openDocument(); is {
		return readOpenDocument(a, kind, r)
	}
	main := a.mainPart()
	switch base := path.Base(main); {
	case main == "":
		return nil, &fault.Fault{
			Fact: "is a ZIP archive and no document of a kind that can be read",
			Next: "List it with a command such as unzip -l.",
		}
	case strings.HasSuffix(base, ".bin"):
		return nil, &fault.Fault{
			Fact: "is a workbook in the binary format of .xlsb",
			Next: "Convert a copy to .xlsx, as with soffice --headless --convert-to xlsx.",
		}
	case strings.HasPrefix(base, "workbook"):
		return readWorkbook(a, main, r)
	case strings.HasPrefix(base, "presentation"):
		return readPresentation(a, main, r)
	case strings.HasPrefix(base, "document"):
		return readWord(a, main, r)
	}
	return nil, &fault.Fault{
		Fact: "is an Office file of a kind that cannot be read",
		Next: "Convert a copy to PDF, as with soffice --headless --convert-to pdf.",
	}
}

// span returns the range of parts to read, of total.
func (r Request) span(kind string, total int) (first, last int, err error) {
	if total == 0 && kind == Sheet {
		return 0, 0, damaged("it lists no sheets")
	}
	if r.First == 0 && r.Last == 0 {
		return 1, total, nil
	}
	if first = max(r.First, 1); first > total {
		has := "has 1 " + kind
		if total != 1 {
			has = fmt.Sprintf("has %d %ss", total, kind)
		}
		return 0, 0, &fault.Fault{
			Fact: fmt.Sprintf("%s, so there is no %s %d", has, kind, first),
			Next: fmt.Sprintf("Ask for pages from 1 to %d.", max(total, 1)),
		}
	}
	return first, min(max(r.Last, first), total), nil
}

// pastEnd returns the error for an offset after the last row or line.
func pastEnd(what string, offset, last int) error {
	return &fault.Fault{
		Fact: fmt.Sprintf("ends at %s %d, so there is no %s %d", what, last, what, offset),
		Next: fmt.Sprintf("Use an offset from 1 to %d.", max(last, 1)),
	}
}

// lines returns the part of a document's lines that r selects.
func (r Request) lines(lines []string) (Part, error) {
	p := Part{Number: 1, First: r.Offset, Total: len(lines)}
	if r.Offset > len(lines) && len(lines) > 0 {
		return p, pastEnd("line", r.Offset, len(lines))
	}
	var b strings.Builder
	p.Last = r.Offset - 1
	for i := r.Offset - 1; i < len(lines); i++ {
		if r.Limit > 0 && i-r.Offset+1 >= r.Limit {
			return p.done(&b), nil
		}
		line := lines[i]
		if b.Len()+len(line) > r.Budget {
			if b.Len() > 0 {
				p.Next = i + 1
				return p.done(&b), nil
			}
			p.Notes = append(p.Notes, fmt.Sprintf("line %d has %d bytes, of which the first %d are shown", i+1, len(line), r.Budget))
			line = strings.ToValidUTF8(line[:r.Budget], "")
		}
		b.WriteString(line + "\n")
		p.Last = i + 1
	}
	return p.done(&b), nil
}

func (p Part) done(b *strings.Builder) Part {
	p.Text = strings.Trim(b.String(), "\n")
	return p
}
