package read

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/gabriel-vasile/mimetype"

	"mcp-toolset/internal/file/document/office"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// officeExtensions are the names of files that are office files if they are ZIP archives.
// Of such a file the first bytes may not tell.
var officeExtensions = []string{
	".docx", ".docm", ".dotx", ".dotm", ".xlsx", ".xlsm", ".xltx", ".xltm", ".xlsb", ".pptx", ".pptm", ".potx", ".potm", ".ppsx", ".ppsm",
	".odt", ".ott", ".ods", ".ots", ".odp", ".otp", ".odg",
}

// officeTypes are the types of office files.
var officeTypes = []string{
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation",
	"application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.spreadsheet", "application/vnd.oasis.opendocument.presentation",
}

// isOffice reports whether a file that begins with head is an office file.
func isOffice(m *mimetype.MIME, head []byte, extension string) bool {
	if !hasMark(head, "PK\x03\x04") {
		return false
	}
	return slices.Contains(officeExtensions, extension) || slices.ContainsFunc(officeTypes, func(t string) bool { return is(m, t) })
}

// oldOffice returns an error that names an office file of the formats before 2007, or one
// with a password. It returns nil for other files.
func (r *reading) oldOffice() error {
	const mark = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
	if !hasMark(r.file.head, mark) {
		return nil
	}
	names := r.streams()
	has := func(name string) bool {
		var wide []byte
		for _, c := range utf16.Encode([]rune(name)) {
			wide = binary.LittleEndian.AppendUint16(wide, c)
		}
		return bytes.Contains(names, wide)
	}
	for _, old := range []struct{ stream, fact, to string }{
		{"EncryptedPackage", "is an Office file that is encrypted and needs a password", ""},
		{"WordDocument", "is a Word file of the format before 2007 (.doc)", "docx"},
		{"Workbook", "is an Excel file of the format before 2007 (.xls)", "xlsx"},
		{"Book", "is an Excel file of the format before 1997 (.xls)", "xlsx"},
		{"PowerPoint Document", "is a PowerPoint file of the format before 2007 (.ppt)", "pptx"},
	} {
		if !has(old.stream) {
			continue
		}
		next := "Ask the user for a copy without a password."
		if old.to != "" {
			next = fmt.Sprintf("Convert a copy, as with soffice --headless --convert-to %s, and read that.", old.to)
		}
		return &tools.Fault{Fact: r.shown + " " + old.fact, Next: next}
	}
	return nil
}

// streams returns the beginning of the directory of a compound file (MS-CFB 2.2), which has
// the names of its streams.
func (r *reading) streams() []byte {
	const most = 64 << 10
	head := r.file.head
	if len(head) < 52 {
		return nil
	}
	shift := binary.LittleEndian.Uint16(head[30:])
	if shift != 9 && shift != 12 {
		return nil
	}
	first := int64(binary.LittleEndian.Uint32(head[48:]))
	names := make([]byte, most)
	n, _ := r.file.ReadAt(names, (first+1)<<shift)
	return names[:n]
}

func (r *reading) office(ctx context.Context) (Output, error) {
	d, err := r.Documents.Office(ctx, r.file.File, r.file.info.Size(), office.Request{
		First: r.file.asked.FirstPage, Last: r.file.asked.LastPage, Offset: max(r.file.offset, 1), Limit: r.in.Limit,
		Formulas: r.in.As == asFormulas, Budget: int(float64(r.MaxTokens*bytesPerToken) * pageFraction),
	})
	if err == nil {
		err = r.file.hashAll(r.Snapshots)
	}
	if err != nil {
		var f *fault.Fault
		if errors.As(err, &f) && strings.HasPrefix(f.Fact, "is a ZIP archive") {
			return Output{}, r.unshown(r.about(err))
		}
		return Output{}, r.about(err)
	}
	out := Output{Type: "office", FilePath: r.in.FilePath, OriginalSize: r.file.info.Size(), TotalPages: d.Total}
	for _, p := range d.Parts {
		out.Pages = append(out.Pages, PDFPage{p.Number, p.Text, strings.Join(p.Notes, "\n")})
	}
	out.shown = r.texts(tools.Text{Text: r.showOffice(d)})
	return out, nil
}

// showOffice formats an office file for a model: each sheet or slide under a heading.
func (r *reading) showOffice(d *office.Document) string {
	var b strings.Builder
	word := map[string]string{office.Sheet: "Sheet", office.Slide: "Slide"}[d.Kind]
	texts := make([]string, len(d.Parts))
	for i, p := range d.Parts {
		texts[i] = p.Text
	}
	mark := unusedHeading(word, texts)
	for _, p := range d.Parts {
		if d.Kind != office.Text {
			fmt.Fprintf(&b, "%s %s %d of %d", mark, word, p.Number, d.Total)
			if p.Name != "" {
				b.WriteString(": " + plain.Line(p.Name))
			}
			if p.Detail != "" {
				b.WriteString(" (" + p.Detail + ")")
			}
			b.WriteString("\n")
		}
		if p.Text != "" {
			b.WriteString(p.Text + "\n")
		}
		for _, n := range append(p.Notes, r.rangeOf(d.Kind, p)...) {
			b.WriteString("[" + n + "]\n")
		}
		b.WriteString("\n")
	}
	for _, n := range r.officeNotes(d) {
		b.WriteString("[" + n + "]\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// rangeOf returns notes on the rows or lines of a part that are shown.
func (r *reading) rangeOf(kind string, p office.Part) []string {
	unit := "line"
	if kind == office.Sheet {
		unit = "row"
	}
	switch {
	case kind == office.Slide:
		if p.Text == "" {
			return []string{"no text on this slide"}
		}
		return nil
	case p.Text == "" && kind == office.Sheet:
		return []string{"no cells with content here"}
	case p.Text == "":
		return []string{"the document has no text"}
	case p.Next > 0 && kind == office.Sheet:
		return []string{fmt.Sprintf("%s of %d; go on with pages \"%d\" and offset %d", span(unit, p.First, p.Last), max(p.Total, p.Next), p.Number, p.Next)}
	case p.Next > 0:
		return []string{fmt.Sprintf("%s of %d; go on with offset %d", span(unit, p.First, p.Last), p.Total, p.Next)}
	case r.in.Offset > 1 || r.in.Limit > 0:
		return []string{fmt.Sprintf("%s of %d", span(unit, p.First, p.Last), max(p.Total, p.Last))}
	}
	return nil
}

// officeNotes returns notes on the whole answer.
func (r *reading) officeNotes(d *office.Document) (notes []string) {
	last := d.Total
	if r.file.asked.LastPage > 0 {
		last = min(last, r.file.asked.LastPage)
	}
	if d.Next > 0 {
		pages := fmt.Sprint(d.Next)
		if d.Next < last {
			pages = fmt.Sprintf("%d-%d", d.Next, last)
		}
		left := ""
		if len(d.Left) > 0 {
			const most = 50
			left = "; not shown: " + plain.Line(strings.Join(d.Left[:min(len(d.Left), most)], ", "))
		}
		notes = append(notes, fmt.Sprintf("the answer is full%s; go on with pages \"%s\"", left, pages))
	}
	switch {
	case d.Kind == office.Text && r.in.Pages != "":
		notes = append(notes, "pages means nothing in a document; offset and limit choose lines")
	case d.Kind == office.Slide && (r.in.Offset > 1 || r.in.Limit > 0):
		notes = append(notes, "offset and limit mean nothing in a presentation; pages chooses slides")
	}
	if d.Total == 0 {
		notes = append(notes, "there are no slides")
	}
	if d.Kind != office.Sheet && r.in.As == asFormulas {
		notes = append(notes, `only sheets are shown as "formulas"`)
	}
	if r.in.Offset < 0 {
		notes = append(notes, "a negative offset means nothing here; the beginning is shown")
	}
	return notes
}
