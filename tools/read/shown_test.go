package read

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/tools/toolstest"
)

// TestRecordOfWhatWasShown checks that the read record names the part of the file in the
// answer.
func TestRecordOfWhatWasShown(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	notebook := `{"cells":[{"cell_type":"raw","metadata":{},"source":"a"},{"cell_type":"raw","metadata":{},"source":"b"}],"metadata":{},"nbformat":4,"nbformat_minor":4}`
	for name, data := range map[string]string{
		"f": "1\n2\n3\n", "n.ipynb": notebook, "empty": "", "long": strings.Repeat("x", 3000) + "\nend\n", "lines": strings.Repeat("a line of some length\n", 200),
	} {
		if err := os.WriteFile(filepath.Join(w.Root, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name, args         string
		first, last, total int
	}{
		{"f", ``, 1, 0, 3},
		{"f", `,"limit":2`, 1, 2, 3},
		{"f", `,"offset":2`, 2, 3, 3},
		{"f", `,"offset":1,"limit":9`, 1, 0, 3},
		{"f", `,"offset":-1`, 3, 3, 3},
		{"f", `,"offset":-2,"limit":1`, 2, 2, 3},
		{"f", `,"offset":-9`, 1, 0, 3},
		{"n.ipynb", `,"offset":-1`, 2, 2, 2},
		{"empty", ``, 1, 0, 0},
		{"long", ``, 1, 1, 2}, // in parts, which are there to be read
		{"lines", `,"limit":200`, 1, 17, 200},
		{"n.ipynb", ``, 1, 0, 2},
		{"n.ipynb", `,"offset":2`, 2, 2, 2},
		{"n.ipynb", `,"limit":1`, 1, 1, 2},
	} {
		if _, err := w.Call(t.Context(), New(Options{MaxTokens: leastTokens, Repeat: true}), `{"file_path":"`+tc.name+`"`+tc.args+`}`); err != nil {
			t.Errorf("%s%s: %v", tc.name, tc.args, err)
			continue
		}
		r, _ := w.Session.View().LastRead(filepath.Join(w.Root, tc.name))
		if r.First != tc.first || r.Last != tc.last || r.Total != tc.total {
			t.Errorf("%s%s: %d to %d of %d, want %d to %d of %d", tc.name, tc.args, r.First, r.Last, r.Total, tc.first, tc.last, tc.total)
		}
	}
}
