package write_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/tools/file"
	"mcp-toolset/tools/toolstest"
	"mcp-toolset/tools/write"
)

// TestForm checks the encoding and the line endings of a file that is replaced.
func TestForm(t *testing.T) {
	const xml = "<?xml version=\"1.0\" encoding=\"windows-1251\"?>\n"
	for name, tc := range map[string]struct{ path, old, content, want, note string }{
		"CRLF":                       {"f.bat", "a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n", "[line endings are CRLF, as they were]"},
		"CRLF sent":                  {"f.bat", "a\r\nb\r\n", "a\r\nc\n", "a\r\nc\n", "[line endings were CRLF and are mixed now]"},
		"mixed":                      {"f.bat", "a\r\nb\n", "a\nc\n", "a\nc\n", "[line endings were mixed and are LF now]"},
		"LF":                         {"f.bat", "a\nb\n", "a\r\nc\r\n", "a\r\nc\r\n", "[line endings were LF and are CRLF now]"},
		"no line ending":             {"f", "a\r\n", "b", "b", ""},
		"a byte order mark":          {"f.js", "\xef\xbb\xbfa\n", "b\n", "\xef\xbb\xbfb\n", "[written as UTF-8 with a byte order mark]"},
		"a byte order mark sent":     {"f.js", "\xef\xbb\xbfa\n", "\ufeffb\n", "\xef\xbb\xbfb\n", ""},
		"a mark and CRLF":            {"f.sln", "\xef\xbb\xbfa\r\n", "b\nc\n", "\xef\xbb\xbfb\r\nc\r\n", "[line endings are CRLF, as they were]\n[written as UTF-8 with a byte order mark]"},
		"UTF-16":                     {"f.reg", "\xff\xfea\x00\n\x00", "é\n", "\xff\xfe\xe9\x00\n\x00", "[written as UTF-16 (little endian)]"},
		"declared":                   {"f.xml", xml + "\xcf\xf0\n", xml + "Привет\n", xml + "\xcf\xf0\xe8\xe2\xe5\xf2\n", "[written as windows-1251]"},
		"declared, ASCII before":     {"f.xml", xml, xml + "Привет\n", xml + "\xcf\xf0\xe8\xe2\xe5\xf2\n", "[written as windows-1251]"},
		"declared, ASCII after":      {"f.xml", xml + "\xcf\xf0\n", xml, xml, ""},
		"declared, but UTF-8":        {"f.xml", xml + "Привет\n", xml + "Пока\n", xml + "Пока\n", ""},
		"declared otherwise":         {"f.xml", xml + "\xcf\xf0\n", strings.Replace(xml, "windows-1251", "koi8-r", 1) + "Пр\n", strings.Replace(xml, "windows-1251", "koi8-r", 1) + "\xf0\xd2\n", "[the file was windows-1251 and is koi8-r now]\n[written as koi8-r]"},
		"by .editorconfig":           {"l/f.txt", "caf\xe9\n", "thé\n", "th\xe9\n", "[written as iso-8859-1]"},
		"a new one":                  {"l/new.txt", "", "thé\n", "th\xe9\n", "[written as iso-8859-1]"},
		"a new one that declares":    {"new.xml", "", xml + "Привет\n", xml + "\xcf\xf0\xe8\xe2\xe5\xf2\n", "[written as windows-1251]"},
		"a new one that declares no": {"new.md", "", "`<meta charset=latin1>` é\n", "`<meta charset=latin1>` é\n", ""},
		"what does not fit":          {"f.xml", xml + "\xcf\xf0\n", xml + "漢\n", xml + "\xcf\xf0\n", "error: $ROOT/f.xml stays as it is: it is windows-1251, which does not have 漢 (U+6F22) of content, in line 2. Write it in another way, such as an escape of the language, or ask the user whether to convert the file to UTF-8."},
	} {
		t.Run(name, func(t *testing.T) {
			w := toolstest.NewWorkspace(t)
			put := func(path, data string) {
				path = filepath.Join(w.Root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			put("l/.editorconfig", "root = true\n[*.txt]\ncharset = latin1\n")
			if tc.old != "" {
				put(tc.path, tc.old)
			}
			args, err := json.Marshal(map[string]string{"file_path": tc.path, "content": tc.content})
			if err != nil {
				t.Fatal(err)
			}
			resp, err := w.Call(t.Context(), write.New(file.Options{Guard: file.GuardOff, Locks: w.Locks}), string(args))
			got := ""
			if err != nil {
				got = "error: " + w.Placed(err.Error())
			} else {
				got = toolstest.Text(resp)
			}
			if data, _ := os.ReadFile(filepath.Join(w.Root, tc.path)); string(data) != tc.want {
				t.Errorf("has %q, want %q", data, tc.want)
			}
			if !strings.HasSuffix(got, tc.note) || tc.note == "" && strings.Contains(got, "\n[") {
				t.Errorf("%s\nwant %s", got, tc.note)
			}
		})
	}
}
