package read

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"
)

// kind is how a file is read.
type kind int

const (
	binaryFile kind = iota
	textFile
	pictureFile
	notebookFile
	pdfFile
)

const (
	// headSize is how much of a file tells what it is; a NUL byte in it makes a
	// file binary.
	headSize = 8 << 10
	// pdfWithin is where readers look for the header of a file named .pdf.
	pdfWithin = 1024
)

// Marks that begin a file in another encoding than UTF-8.
const (
	markUTF16LE = "\xff\xfe"
	markUTF16BE = "\xfe\xff"
	markUTF32LE = "\xff\xfe\x00\x00"
	markUTF32BE = "\x00\x00\xfe\xff"
)

// kind tells from the content what the file is; the name decides only where the
// content cannot. The name it returns is that of the type.
func (f *file) kind() (kind, string, error) {
	f.head = make([]byte, headSize)
	n, err := io.ReadFull(f.File, f.head)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return binaryFile, "", err
	}
	f.head = f.head[:n]
	k, name := sniff(f.head, strings.ToLower(filepath.Ext(f.Name())))
	return k, name, nil
}

func sniff(head []byte, extension string) (kind, string) {
	switch {
	case has(head, markUTF32LE), has(head, markUTF32BE):
		return binaryFile, "UTF-32 text"
	case has(head, markUTF16LE), has(head, markUTF16BE):
		return textFile, "text/plain"
	case has(head, "%PDF-"), extension == ".pdf" && bytes.Contains(head[:min(len(head), pdfWithin)], []byte("%PDF-")):
		return pdfFile, "application/pdf"
	}
	m := mimetype.Detect(head)
	// The marks of some types are letters that text can begin with, so whole
	// text is text. Text in an old encoding is not valid UTF-8.
	if bytes.IndexByte(head, 0) < 0 && (utf8.Valid(wholeRunes(head)) || is(m, "text/plain")) {
		if extension == ".ipynb" {
			return notebookFile, "application/x-ipynb+json"
		}
		return textFile, m.String()
	}
	for _, picture := range []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/tiff"} {
		if is(m, picture) {
			return pictureFile, picture
		}
	}
	if m.Parent() == nil {
		return binaryFile, "of no known type"
	}
	name, _, _ := strings.Cut(m.String(), ";")
	return binaryFile, name
}

func has(head []byte, mark string) bool { return bytes.HasPrefix(head, []byte(mark)) }

// is reports whether m is a type or one derived from it.
func is(m *mimetype.MIME, name string) bool {
	for ; m != nil; m = m.Parent() {
		if m.Is(name) {
			return true
		}
	}
	return false
}
