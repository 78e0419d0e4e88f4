package grep_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"mcp-toolset/internal/search"
	"mcp-toolset/tools/grep"
	"mcp-toolset/tools/toolstest"
)

// TestOlderEncodings checks that files in an older encoding are searched and shown as text, without
// an index and with one.
func TestOlderEncodings(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	put := func(name, text string, e encoding.Encoding) {
		t.Helper()
		data, err := e.NewEncoder().Bytes([]byte(text))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(w.Root, name)), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(w.Root, name), data, 0o600)
		}
		long := time.Now().Add(-time.Hour)
		if err == nil {
			err = os.Chtimes(filepath.Join(w.Root, name), long, long)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("a.py", "# coding: cp1251\nx = 'Привет, мир'\nname = 'Б.Б'\n", charmap.Windows1251)
	put("b.py", "x = 'Привет, мир'\n", encoding.Nop)
	put("c.py", "# coding: sjis\n# 表示する\npath = 1\n", japanese.ShiftJIS) // a byte of it is a backslash
	put("d.txt", "caf\xe9 Привет\n", encoding.Nop)                       // no encoding at all
	put("e/.editorconfig", "root = true\n[*.txt]\ncharset = latin1\n", encoding.Nop)
	put("e/e.txt", "le café noir\n", charmap.ISO8859_1)
	put("f.rc", "one\r\nCAPTION \"Über\"\r\n", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM))
	put("g.bin", "CAPTION\x00\x00", encoding.Nop)
	s := search.New(search.Options{})
	t.Cleanup(func() { s.Close() })
	tool := grep.New(grep.Options{Searcher: s, Deadline: time.Minute})
	for range 2 { // the second time, files may have signatures
		for _, tc := range []struct {
			args map[string]any
			want string
		}{
			{map[string]any{"pattern": "Привет", "output_mode": "content"}, "a.py:2:x = 'Привет, мир'\nb.py:1:x = 'Привет, мир'\nd.txt:1:caf\uFFFD Привет"},
			{map[string]any{"pattern": "привет", "-i": true, "output_mode": "content"}, "a.py:2:x = 'Привет, мир'\nb.py:1:x = 'Привет, мир'\nd.txt:1:caf\uFFFD Привет"},
			{map[string]any{"pattern": "x = '.*мир", "output_mode": "count"}, "a.py:1\nb.py:1\n[2 matching lines in 2 files]"},
			{map[string]any{"pattern": "name = '...'", "output_mode": "content"}, "a.py:3:name = 'Б.Б'"},
			{map[string]any{"pattern": "name", "output_mode": "content", "-B": 1}, "a.py-2-x = 'Привет, мир'\na.py:3:name = 'Б.Б'"},
			{map[string]any{"pattern": "мир'\nname", "multiline": true, "output_mode": "content"}, "a.py:2:x = 'Привет, мир'\na.py:3:name = 'Б.Б'"},
			{map[string]any{"pattern": `\\`, "path": "c.py", "output_mode": "content"}, "[no match in $ROOT/c.py]"},
			{map[string]any{"pattern": "表示", "path": "c.py", "output_mode": "content"}, "2:# 表示する"},
			{map[string]any{"pattern": "п.ивет|м[а-я]р", "-i": true, "-o": true, "glob": "a.py", "output_mode": "content"}, "a.py:2:Привет\na.py:2:мир"},
			{map[string]any{"pattern": "café noir"}, "e/e.txt"},
			{map[string]any{"pattern": "CAPTION"}, "f.rc"},
			{map[string]any{"pattern": "caption \"Über", "-i": true, "output_mode": "content"}, "f.rc:2:CAPTION \"Über\""},
			{map[string]any{"pattern": "one", "output_mode": "count"}, "f.rc:1\n[1 matching line in 1 file]"},
			{map[string]any{"pattern": "é n", "path": "e/e.txt", "output_mode": "content"}, "1:le café noir"},
		} {
			args, err := json.Marshal(tc.args)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := w.Call(t.Context(), tool, string(args))
			if err != nil {
				t.Errorf("%s: %v", args, err)
				continue
			}
			if got := w.Placed(toolstest.Text(resp)); got != tc.want {
				t.Errorf("%s:\n got %q\nwant %q", args, got, tc.want)
			}
		}
	}
}
