package pdf

import (
	"bytes"
	"io"
	"regexp"
)

// attachmentsOnly returns the file without its encryption if that concerns attachments
// alone: crypt filter Identity for streams and strings, and another for embedded files (ISO
// 32000-2, table 20). Both libraries ask for the password of such a file, though its pages
// need none. Other files are returned unchanged.
func attachmentsOnly(file io.ReaderAt, size int64) io.ReaderAt {
	data := inMemory(file, size)
	refs := encryptRef.FindAllSubmatchIndex(data, -1)
	if len(refs) == 0 {
		return file
	}
	for _, ref := range refs {
		number, generation := data[ref[2]:ref[3]], data[ref[4]:ref[5]]
		if !encryptsAttachments(data, number, generation) {
			return file
		}
	}
	for _, ref := range refs {
		copy(data[ref[0]:], "/Ignored") // as long as /Encrypt, so that offsets stay
	}
	return bytes.NewReader(data)
}

// encryptsAttachments reports whether an object is an encryption of attachments alone.
func encryptsAttachments(data, number, generation []byte) bool {
	dict := object(data, number, generation)
	if !bytes.Contains(dict, []byte("/EFF")) || !regexp.MustCompile(`/V\s*[45]\b`).Match(dict) {
		return false
	}
	for _, key := range []string{"/StmF", "/StrF"} {
		if bytes.Contains(dict, []byte(key)) && !regexp.MustCompile(key+`\s*/Identity\b`).Match(dict) {
			return false
		}
	}
	return true
}

// encryptRef matches the reference to the encryption, which is an object outside of streams.
var encryptRef = regexp.MustCompile(`/Encrypt\s+(\d+)\s+(\d+)\s+R`)

// object returns the text of an object, or nil if it is in a stream or not unique.
func object(data, number, generation []byte) []byte {
	start := regexp.MustCompile(`(?:^|[\r\n ])`+string(number)+`\s+`+string(generation)+`\s+obj\b`).FindAllIndex(data, -1)
	if len(start) != 1 {
		return nil
	}
	text, _, found := bytes.Cut(data[start[0][1]:], []byte("endobj"))
	if !found {
		return nil
	}
	return text
}

// inMemory returns a copy of a file, or nil if it is too large or cannot be read.
func inMemory(file io.ReaderAt, size int64) []byte {
	if size > maxChecked {
		return nil
	}
	data := make([]byte, size)
	if _, err := file.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil
	}
	return data
}
