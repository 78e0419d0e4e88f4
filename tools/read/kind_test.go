package read

import (
	"strings"
	"testing"
)

func TestSniff(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	for _, tc := range []struct {
		head, extension string
		want            kind
		name            string
	}{
		{"", ".png", textFile, ""}, // the answer states that the file is empty
		{"package main\n", ".go", textFile, ""},
		{"no extension", "", textFile, ""},
		{"an unknown one", ".xyzzy", textFile, ""},
		{"<svg xmlns='http://www.w3.org/2000/svg'></svg>", ".svg", textFile, ""},
		{"BM25 ranks documents", ".txt", textFile, ""},    // begins like a bitmap
		{"MZ is how programs begin", ".md", textFile, ""}, // begins like a program
		{"GIF89a is a format", "", textFile, ""},
		{"\x1b[31mred\x1b[0m", ".log", textFile, ""},
		{"rm\x08\x08ls", "", textFile, ""},
		{"caf\xe9 na\xefve", ".txt", textFile, ""}, // Latin-1
		{"%!PS-Adobe-3.0\ncaf\xe9", "", textFile, ""},
		{"MZ\xe9t\xe9", "", textFile, ""},
		{"GIF89a caf\xe9", "", textFile, ""},
		{"abc\x01 caf\xe9", "", textFile, ""},
		{"\x89PNG\r\n\x1a\n", "", pictureFile, "image/png"}, // no more than the mark
		{"\xff\xfea\x00\x00\xd8b\x00", "", textFile, ""},    // half a character
		{"\xff\xfe" + strings.Repeat("\x00\xd8a\x00", 50), "", binaryFile, "of no known type"},
		{"\xfe\xff" + strings.Repeat("\xd8\x3d\xde\x00", 50), "", textFile, ""}, // whole ones
		{"\xff\xfea\x00" + strings.Repeat("\x00", 50), "", binaryFile, "of no known type"},
		{"\x00\x00\xfe\xffx", "", binaryFile, "UTF-32 text"},
		{strings.Repeat("x", headSize-1) + "\xe2", "", textFile, ""},
		{"\x93q\x94", "", textFile, ""},
		{"\xff\xfea\x00", "", textFile, ""},
		{"\xfe\xff\x00a", ".png", textFile, ""},
		{strings.Repeat("x", headSize-1) + "\xc3", "", textFile, ""}, // a character across the end of the head
		{"{}", ".ipynb", notebookFile, ""},
		{"not JSON", ".ipynb", notebookFile, ""},
		{png, ".ipynb", pictureFile, "image/png"},
		{png, ".txt", pictureFile, "image/png"},
		{"\xff\xd8\xff\xe0\x00\x10JFIF\x00", "", pictureFile, "image/jpeg"},
		{"GIF89a\x01\x00\x01\x00", ".doc", pictureFile, "image/gif"},
		{"RIFF\x24\x00\x00\x00WEBPVP8 ", "", pictureFile, "image/webp"},
		{"BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00", "", pictureFile, "image/bmp"},
		{"II*\x00\x08\x00\x00\x00", "", pictureFile, "image/tiff"},
		{"%PDF-1.4\n", ".txt", pdfFile, "application/pdf"},
		{"junk\n%PDF-1.4\n", ".pdf", pdfFile, "application/pdf"},
		{"junk\n%PDF-1.4\n", ".txt", textFile, ""},
		{"\xff\xfe\x00\x00x\x00\x00\x00", "", binaryFile, "UTF-32 text"},
		{"h\x00e\x00l\x00l\x00o\x00", "", binaryFile, "of no known type"}, // UTF-16 without a mark
		{"\x7fELF\x02\x01\x01\x00" + strings.Repeat("\x00", 60), ".png", binaryFile, "application/x-elf"},
		{"\x1f\x8b\x08\x08\xff\xfe\x01\x03", ".txt", binaryFile, "application/gzip"},
		{"PK\x03\x04\x14\x00\x00\x00", ".txt", binaryFile, "application/zip"},
		{"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00", ".heic", binaryFile, "image/heic"},
		{"text\x00", ".txt", binaryFile, "of no known type"},
		{"\x01\x02\xff\xfe\x03", "", binaryFile, "of no known type"},
	} {
		got, name := sniff([]byte(tc.head), tc.extension)
		if got != tc.want || tc.name != "" && name != tc.name {
			t.Errorf("%.20q %s is %d (%s), want %d (%s)", tc.head, tc.extension, got, name, tc.want, tc.name)
		}
	}
}

func TestBinaryIsRefused(t *testing.T) {
	for data, want := range map[string]string{
		"\x7fELF\x02\x01\x01\x00": "$ROOT/f is a binary file (application/x-elf) of 8 bytes. Read shows text, pictures, notebooks, PDF and office files; other tools can take it apart.",
		"\x00":                    "$ROOT/f is a binary file (of no known type) of 1 byte. Read shows text, pictures, notebooks, PDF and office files; other tools can take it apart.",
	} {
		if _, err := readBytes(t, Options{}, data, ""); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", data, err, want)
		}
	}
}
