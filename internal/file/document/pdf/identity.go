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
	if size > maxChecked {
		return file
	}
	data := make([]byte, size)
	if _, err := file.ReadAt(data, 0); err != nil && err != io.EOF {
		return file
	}
	refs := regexp.MustCompile(`/Encrypt\s+(\d+)\s+(\d+)\s+R`).FindAllSubmatchIndex(data, -1)
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
	start := regexp.MustCompile(`(?:^|[\r\n ])`+string(number)+`\s+`+string(generation)+`\s+obj\b`).FindAllIndex(data, -1)
	if len(start) != 1 { // changed later, or in a stream of objects
		return false
	}
	dict, _, found := bytes.Cut(data[start[0][1]:], []byte("endobj"))
	if !found || !bytes.Contains(dict, []byte("/EFF")) || !regexp.MustCompile(`/V\s*[45]\b`).Match(dict) {
		return false
	}
	for _, key := range []string{"/StmF", "/StrF"} {
		if bytes.Contains(dict, []byte(key)) && !regexp.MustCompile(key+`\s*/Identity\b`).Match(dict) {
			return false
		}
	}
	return true
}
