package write

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
	"mcp-toolset/tools/toolstest"
)

// TestPreview checks that the user sees how a Write changes the file, or the new content if
// the file may not or cannot be compared.
func TestPreview(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	numbers := func(n int, word string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s %d\n", word, i+1)
		}
		return b.String()
	}
	outside := filepath.Join(t.TempDir(), "secret")
	for path, content := range map[string]string{
		"a": "1\n2\n3\n", "crlf": "1\r\n", "binary": "\x00\x01\xff", "many": numbers(300, "old"), "big": strings.Repeat("x", 1<<20) + "\n", outside: "the secret\n",
	} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(w.Root, path)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(w.Root, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	preview := func(path, content string) tools.Preview {
		args, err := json.Marshal(Input{FilePath: path, Content: content})
		if err != nil {
			t.Fatal(err)
		}
		c, err := New(file.Options{}).Parse(args)
		if err != nil {
			t.Fatal(err)
		}
		env := w.Env()
		p := toolstest.Prepare(t, c, env).Preview(t.Context(), env)
		p.Text = w.Placed(p.Text)
		return p
	}
	for _, tc := range []struct {
		path, content, want string
		partial             bool
	}{
		{"a", "1\n2\nx\x1b\u202e\n", "$ROOT/a, what changes:\n@@ -1,3 +1,3 @@\n 1\n 2\n-3\n+x\\x1b\\u202e\n", false},
		{"a", "1\n2\n3\n", "$ROOT/a has this content already.\n", false},
		{"crlf", "1\n", "$ROOT/crlf, what changes:\n[line endings were CRLF and are LF now]\n", false},
		{"new", "1\n2", "$ROOT/new, a new file:\n+1\n+2\n", false},
		{"new", "", "$ROOT/new, a new file:\n", false},
		{"no/such/new", "1\n", "$ROOT/no/such/new, a new file:\n+1\n", false},
		{"binary", "1\n", "$ROOT/binary, its new content; the present one cannot be compared:\n+1\n", false},
		{"dir", "1\n", "$ROOT/dir, its new content; the present one cannot be compared:\n+1\n", false},
		{"big", "1\n", "$ROOT/big, its new content; the present one cannot be compared:\n+1\n", false},
		{outside, "1\n", outside + ", its new content; the present one cannot be compared:\n+1\n", false},
		{"new", strings.Repeat("é", 300), "$ROOT/new, a new file:\n+" + strings.Repeat("é", 250) + "…[100 more bytes]\n", true},
	} {
		if got := preview(tc.path, tc.content); got != (tools.Preview{Text: tc.want, Partial: tc.partial}) {
			t.Errorf("%s, %.20q\ngot  %q %t\nwant %q %t", tc.path, tc.content, got.Text, got.Partial, tc.want, tc.partial)
		}
	}
	for _, tc := range []struct{ path, content, first, last string }{
		{"new", numbers(400, "line"), "+line 1", "[360 more lines not shown: 360 added, 0 removed]"},
		{"many", numbers(300, "new"), "@@ -1,300 +1,300 @@", "[561 more lines not shown: 300 added, 261 removed]"},
	} {
		got := preview(tc.path, tc.content)
		lines := strings.Split(strings.TrimSuffix(got.Text, "\n"), "\n")
		if len(lines) != 42 || lines[1] != tc.first || lines[41] != tc.last || !got.Partial {
			t.Errorf("%s: %d lines, partial %t\n%s", tc.path, len(lines), got.Partial, got.Text)
		}
	}
}
