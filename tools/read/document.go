package read

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"mcp-toolset/internal/file/document/pdf"
	"mcp-toolset/internal/file/document/picture"
	"mcp-toolset/internal/file/notebook"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

// pictureBudget is the limit for all pictures of one answer, in bytes before base64: ten of
// the largest size, which hosts and models accept in one result.
const pictureBudget = 10 * picture.MaxBytes

// about adds the name of the file to a fault whose fact continues after it.
func (r *reading) about(err error) error {
	var f *fault.Fault
	if errors.As(err, &f) {
		return file.About(r.in.FilePath, f)
	}
	return file.ReadError(r.shown, err)
}

// unshown returns the error for a file that was read but cannot be shown. It records the
// read, so that the session may replace the file.
func (r *reading) unshown(err error) error {
	var f *fault.Fault
	if !errors.As(err, &f) || r.file.hashAll(r.Snapshots) != nil {
		return err
	}
	return &tools.Recorded{Err: err, Effect: session.Effect{Unread: []session.Read{r.file.record()}}}
}

func (r *reading) picture(ctx context.Context) (Output, error) {
	p, err := r.Documents.Picture(ctx, r.file.File, r.file.info.Size())
	if err == nil {
		err = r.file.hashAll(r.Snapshots)
	}
	if err != nil {
		return Output{}, r.unshown(r.about(err))
	}
	return Output{
		Type: "image", FilePath: r.in.FilePath, OriginalSize: r.file.info.Size(), MIMEType: p.OriginalMIMEType,
		Dimensions: &Dimensions{p.OriginalWidth, p.OriginalHeight, p.Width, p.Height},
		shown:      []tools.Content{tools.Text{Text: "[" + r.shown + ": " + describe(p, r.file.info.Size()) + "]"}, shownPicture(p)},
	}, nil
}

// describe describes a picture and the form in which it is shown. size is the size of the
// original in bytes; 0: unknown.
func describe(p *picture.Picture, size int64) string {
	s := fmt.Sprintf("%s, %d x %d pixels", p.OriginalMIMEType, p.OriginalWidth, p.OriginalHeight)
	if size > 0 {
		s += ", " + plural(size, "byte")
	}
	if p.Frames > 1 {
		s += fmt.Sprintf(", the first of %d frames", p.Frames)
	}
	if p.Width != p.OriginalWidth || p.Height != p.OriginalHeight || p.MIMEType != p.OriginalMIMEType || size > 0 && size != int64(len(p.Data)) {
		s += fmt.Sprintf("; shown as %s, %d x %d pixels, %s", p.MIMEType, p.Width, p.Height, plural(int64(len(p.Data)), "byte"))
	}
	return s
}

func shownPicture(p *picture.Picture) tools.Image {
	return tools.Image{Data: p.Data, MIMEType: p.MIMEType}
}

func (r *reading) notebook(ctx context.Context) (Output, error) {
	v, err := r.Documents.Notebook(ctx, r.file.File, r.file.info.Size(), notebook.Request{
		First: r.file.offset, Count: r.in.Limit,
		Budget: int(float64(r.MaxTokens*bytesPerToken) * pageFraction), PictureBytes: pictureBudget,
	})
	if err == nil {
		err = r.file.hashAll(r.Snapshots)
	}
	if err != nil {
		if broken := r.broken(err); broken != nil {
			if !isPointer(r.file.head) {
				r.notes = append(r.notes, "shown as text: it "+plain.Line(broken.Fact)+"; Edit takes it as text, too")
			}
			return r.text(ctx)
		}
		return Output{}, r.unshown(r.about(err))
	}
	r.file.offset = v.First
	r.file.showed(len(v.Cells), v.Total)
	return Output{
		Type: "notebook", FilePath: r.in.FilePath, Cells: cellsOf(v), shown: r.texts(showNotebook(r.shown, v)...),
	}, nil
}

// broken returns the fault of a notebook that cannot be parsed. It returns nil if err has another
// cause.
func (r *reading) broken(err error) *fault.Fault {
	var f *fault.Fault
	if r.file.info.Size() > file.MaxEdit || !errors.As(err, &f) {
		return nil
	}
	data, err := io.ReadAll(io.NewSectionReader(r.file, 0, file.MaxEdit))
	if err != nil {
		return nil
	}
	if _, err = notebook.Parse(data); !errors.As(err, &f) {
		return nil
	}
	return f
}

func (r *reading) pdf(ctx context.Context) (Output, error) {
	d, err := r.Documents.PDF(ctx, r.file.File, r.file.info.Size(), pdf.Request{
		First: r.file.asked.FirstPage, Last: r.file.asked.LastPage, Pictures: r.in.As == asImage,
		TextBudget: int(float64(r.MaxTokens*bytesPerToken) * pageFraction), PictureBytes: pictureBudget,
	})
	if err == nil {
		err = r.file.hashAll(r.Snapshots)
	}
	var f *fault.Fault
	if errors.As(err, &f) && strings.HasPrefix(f.Fact, "is a damaged PDF") && r.in.Pages == "" && r.in.As != asImage && r.file.extension() != ".pdf" && isText(r.file.head) {
		return r.text(ctx) // text that begins like a PDF
	}
	if err != nil {
		return Output{}, r.about(err)
	}
	out := Output{Type: "pdf", FilePath: r.in.FilePath, OriginalSize: r.file.info.Size(), TotalPages: d.PageCount}
	for _, p := range d.Pages {
		out.Pages = append(out.Pages, PDFPage{p.Number, p.Text, p.Notes})
	}
	out.shown = r.texts(r.showPDF(d)...)
	return out, nil
}

// showPDF formats the pages of a PDF for a model: each under a heading, and a page without
// text as a picture.
func (r *reading) showPDF(d *pdf.Document) []tools.Content {
	var out []tools.Content
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			out = append(out, tools.Text{Text: strings.TrimRight(text.String(), "\n")})
			text.Reset()
		}
	}
	texts := make([]string, len(d.Pages))
	for i, p := range d.Pages {
		texts[i] = p.Text
	}
	mark := unusedHeading("Page", texts)
	for _, p := range d.Pages {
		fmt.Fprintf(&text, "%s Page %d of %d\n", mark, p.Number, d.PageCount)
		if p.Picture == nil {
			text.WriteString(p.Text + "\n" + notesOf(p) + "\n")
			continue
		}
		why := ""
		if r.in.As != asImage {
			why = "no readable text on this page; "
		}
		fmt.Fprintf(&text, "[%sshown as a picture of %d x %d pixels]\n", why, p.Picture.Width, p.Picture.Height)
		text.WriteString(notesOf(p))
		flush()
		out = append(out, shownPicture(p.Picture))
	}
	if d.Note != "" {
		fmt.Fprintf(&text, "[%s]\n", d.Note)
	}
	if d.Form != "" {
		fmt.Fprintf(&text, "[%s]\n", d.Form)
	}
	text.WriteString(figures(d))
	if d.Next > 0 {
		fmt.Fprintf(&text, "[the answer is full; go on with pages \"%s\"]\n", r.pagesFrom(d))
	}
	if r.in.Offset < 0 || r.in.Offset > 1 || r.in.Limit > 0 {
		text.WriteString("[offset and limit mean nothing in a PDF file; pages chooses]\n")
	}
	flush()
	return out
}

// notesOf returns the notes of a page as lines.
func notesOf(p pdf.Page) string {
	if p.Notes == "" {
		return ""
	}
	return p.Notes + "\n"
}

// figures returns a note on figures of pages that are shown as text, or "" if there are
// none.
func figures(d *pdf.Document) string {
	var pages []string
	for _, p := range d.Pages {
		if p.Figures && p.Picture == nil {
			pages = append(pages, strconv.Itoa(p.Number))
		}
	}
	switch n := len(pages); n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("[page %s has a figure that is not shown; to see it: pages \"%s\", as \"image\"]\n", pages[0], pages[0])
	default:
		list := strings.Join(pages[:n-1], ", ") + " and " + pages[n-1]
		return fmt.Sprintf("[pages %s have figures that are not shown; to see one: pages \"%s\", as \"image\"]\n", list, pages[0])
	}
}

// unusedHeading returns a prefix of headings with a word that no line of the texts begins
// with.
func unusedHeading(word string, texts []string) string {
	mark := "##"
	for i := 0; i < len(texts); i++ {
		if strings.Contains("\n"+texts[i], "\n"+mark+" "+word+" ") {
			mark, i = mark+"#", -1
		}
	}
	return mark
}

// pagesFrom returns the range of the requested pages that are left out.
func (r *reading) pagesFrom(d *pdf.Document) string {
	last := d.PageCount
	if r.file.asked.LastPage > 0 {
		last = min(last, r.file.asked.LastPage)
	}
	if last == d.Next {
		return fmt.Sprint(last)
	}
	return fmt.Sprintf("%d-%d", d.Next, last)
}
