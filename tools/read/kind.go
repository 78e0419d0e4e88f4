package read

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"
)

// kind selects how a file is read.
type kind int

const (
	binaryFile kind = iota
	textFile
	pictureFile
	notebookFile
	pdfFile
	officeFile
)

const (
	// headSize is the number of bytes that determine a file's type. A file with a NUL byte
	// in them is binary.
	headSize = 8 << 10
	// pdfWithin is the number of bytes in which PDF readers search for the header of a file
	// named .pdf.
	pdfWithin = 1024
)

// unknownType is the name of a type that is not known.
const unknownType = "of no known type"

// Byte order marks of encodings other than UTF-8.
const (
	markUTF16LE = "\xff\xfe"
	markUTF16BE = "\xfe\xff"
	markUTF32LE = "\xff\xfe\x00\x00"
	markUTF32BE = "\x00\x00\xfe\xff"
)

// kind determines the type of the file from its content. The name decides only if the
// content is ambiguous. It also returns the name of the type.
func (f *source) kind() (kind, string, error) {
	f.head = make([]byte, headSize)
	n, err := io.ReadFull(f.File, f.head)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return binaryFile, "", err
	}
	f.head = f.head[:n]
	k, name := sniff(f.head, f.extension())
	return k, name, nil
}

func (f *source) extension() string { return strings.ToLower(filepath.Ext(f.Name())) }

// Classify reports whether Read shows a file that begins with head as text, or as a document:
// a picture, a PDF file, an office file or a notebook. It also returns the type. The extension is in lower case.
func Classify(head []byte, extension string) (text, document bool, name string) {
	k, name := sniff(head, extension)
	return k == textFile, k != textFile && k != binaryFile, name
}

func sniff(head []byte, extension string) (kind, string) {
	switch {
	case hasMark(head, markUTF32LE), hasMark(head, markUTF32BE):
		return binaryFile, "UTF-32 text"
	case hasMark(head, markUTF16LE), hasMark(head, markUTF16BE):
		if !isUTF16(head) {
			return binaryFile, unknownType
		}
		return textFile, "text/plain"
	case hasMark(head, "%PDF-"), extension == ".pdf" && bytes.Contains(head[:min(len(head), pdfWithin)], []byte("%PDF-")):
		return pdfFile, "application/pdf"
	}
	if isText(head) && utf8.Valid(trimIncompleteRune(head)) {
		return textOr(extension), "text/plain" // the usual case
	}
	// The signatures of some types are letters with which text can begin, so text takes
	// precedence. Text never contains the first four signatures.
	m := mimetype.Detect(head)
	for i, picture := range []string{"image/png", "image/jpeg", "image/webp", "image/tiff", "image/gif", "image/bmp"} {
		if is(m, picture) && (i < 4 || !isText(head)) {
			return pictureFile, picture
		}
	}
	if isText(head) {
		return textOr(extension), "text/plain"
	}
	if isOffice(m, head, extension) {
		return officeFile, "office file"
	}
	if m.Parent() == nil {
		return binaryFile, unknownType
	}
	name, _, _ := strings.Cut(m.String(), ";")
	return binaryFile, name
}

// textOr returns the kind of a text file with a given extension.
func textOr(extension string) kind {
	if extension == ".ipynb" {
		return notebookFile
	}
	return textFile
}

// isText reports whether head is text in UTF-8 or in an encoding that contains ASCII. Text
// has no NUL, and at most one in a hundred bytes is an unusual control character. Valid
// UTF-8 may have more, since other data is rarely valid by chance.
func isText(head []byte) bool {
	odd := 0
	for _, c := range head {
		switch {
		case c == 0:
			return false
		case c < ' ' && !bytes.ContainsRune([]byte("\t\n\r\f\b\x1b"), rune(c)):
			odd++
		}
	}
	return odd <= max(1, len(head)/100) || utf8.Valid(trimIncompleteRune(head))
}

// isUTF16 reports whether head, which begins with a byte order mark of UTF-16, is text: at
// most one in a hundred units is NUL or an unpaired surrogate.
func isUTF16(head []byte) bool {
	order := binary.ByteOrder(binary.LittleEndian)
	if hasMark(head, markUTF16BE) {
		order = binary.BigEndian
	}
	units, odd := len(head)/2, 0
	for i := 0; i < units; i++ {
		u := rune(order.Uint16(head[2*i:]))
		switch {
		case u == 0:
			odd++
		case utf16.IsSurrogate(u):
			if i+1 < units && utf16.DecodeRune(u, rune(order.Uint16(head[2*i+2:]))) != utf8.RuneError {
				i++
			} else if i+1 < units {
				odd++
			}
		}
	}
	return odd <= max(1, units/100)
}

func hasMark(head []byte, mark string) bool { return bytes.HasPrefix(head, []byte(mark)) }

// is reports whether m is the named type or derived from it.
func is(m *mimetype.MIME, name string) bool {
	for ; m != nil; m = m.Parent() {
		if m.Is(name) {
			return true
		}
	}
	return false
}
