package file

import (
	"io"
	"path/filepath"
	"unicode/utf8"

	"mcp-toolset/internal/file/textfile"
	"mcp-toolset/internal/file/workspace"
)

// maxConfig is the limit of an .editorconfig file, in bytes.
const maxConfig = 64 << 10

// Hint returns what is known of the encoding of a file with this content. It reads the
// .editorconfig files of its folder and those above, as far as they may be read.
func Hint(files *workspace.Files, path string, data []byte) textfile.Hint {
	h := textfile.Hint{Path: path}
	if utf8.Valid(data) && !ascii(data) {
		return h // the encoding is known
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if config, ok := editorConfig(files, dir); ok {
			relative, err := filepath.Rel(dir, path)
			if err != nil {
				return h
			}
			charset, root := textfile.EditorConfigCharset(config, filepath.ToSlash(relative))
			if charset == "unset" {
				return h
			}
			if h.Charset = charset; charset != "" || root {
				return h
			}
		}
		if dir == filepath.Dir(dir) {
			return h
		}
	}
}

// editorConfig returns the content of the .editorconfig file of a folder.
func editorConfig(files *workspace.Files, dir string) (config string, ok bool) {
	f, _, err := files.Open(filepath.Join(dir, ".editorconfig"))
	if err != nil {
		return "", false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig))
	return string(data), err == nil
}

func ascii(data []byte) bool {
	for _, c := range data {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Text returns the text of the file.
func (old Old) Text() (*textfile.Text, error) { return old.decode(old.Data) }

// decode returns the text of a file in another state.
func (old Old) decode(data []byte) (*textfile.Text, error) {
	return textfile.DecodeFile(data, old.Hint)
}

// Before returns the text of the file as it was read.
func (old Old) Before() (*textfile.Text, error) { return old.decode(old.Snapshot) }
