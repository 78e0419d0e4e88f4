package read

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/tools/toolstest"
)

// TestParts: a line too long for an answer is stored in pieces, and the pieces
// read one by one are the line.
func TestParts(t *testing.T) {
	for name, tc := range map[string]struct {
		line, args string
		before     string
		after      string
		notice     string // behind the folder
	}{
		"one long line":        {strings.Repeat("y", 10_000), "", "", "", ", part-0001.txt to part-0003.txt; this is the first, read on with the second]"},
		"between others":       {strings.Repeat("é", 5_000), `,"offset":2`, "a\n", "\nb\n", ", part-0001.txt to part-0003.txt; this is the first, read on with the second. The lines behind it begin at offset 3]"},
		"asked for by a range": {"x" + strings.Repeat("é", 5_000), `,"offset":2,"limit":5`, "a\n", "\r\nb\n", ", part-0001.txt to part-0003.txt; this is the first, read on with the second. The lines behind it begin at offset 3]"},
		"not UTF-8":            {strings.Repeat("\xffab", 2_000), "", "", "\n", ", part-0001.txt to part-0005.txt; this is the first, read on with the second]"},
	} {
		t.Run(name, func(t *testing.T) {
			w := toolstest.NewWorkspace(t)
			if err := os.WriteFile(filepath.Join(w.Root, "f"), []byte(tc.before+tc.line+tc.after), 0o600); err != nil {
				t.Fatal(err)
			}
			tool := New(Options{MaxTokens: 1000, Repeat: true})
			resp, err := w.Call(t.Context(), tool, `{"file_path":"f"`+tc.args+`}`)
			if err != nil {
				t.Fatal(err)
			}
			text := toolstest.Text(resp)
			first, rest, _ := strings.Cut(text, "\n")
			if !strings.HasSuffix(rest, tc.notice) || len(first) > 4000 {
				t.Errorf("%d bytes, then %s", len(first), rest)
			}
			dirs, err := filepath.Glob(filepath.Join(w.Session.View().Results, "*"))
			if err != nil || len(dirs) != 1 || !strings.Contains(rest, dirs[0]) {
				t.Fatalf("stored %v, %v; the answer says %s", dirs, err, rest)
			}
			files, _ := os.ReadDir(dirs[0])
			var whole strings.Builder
			for i, f := range files {
				resp, err := w.Call(t.Context(), tool, fmt.Sprintf(`{"file_path":%q}`, filepath.Join(dirs[0], f.Name())))
				if err != nil {
					t.Fatal(err)
				}
				part := strings.TrimPrefix(toolstest.Text(resp), "     1\t")
				if strings.Contains(part, "\n") {
					t.Fatalf("%s is not shown whole: %s", f.Name(), part[strings.Index(part, "\n"):])
				}
				if i == 0 && part != strings.TrimSpace(first)[2:] {
					t.Error("the part that was shown is not the first")
				}
				whole.WriteString(part)
			}
			if want := strings.ToValidUTF8(tc.line, "\uFFFD"); whole.String() != want {
				t.Errorf("the parts are %d bytes, the line %d", whole.Len(), len(want))
			}
			if _, err := w.Call(t.Context(), tool, `{"file_path":"f"`+tc.args+`}`); err != nil {
				t.Error(err)
			}
			if again, _ := filepath.Glob(filepath.Join(w.Session.View().Results, "*")); len(again) != 1 {
				t.Errorf("read again, it is stored again: %v", again)
			}
		})
	}
}

func TestPartsStructured(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	if err := os.WriteFile(filepath.Join(w.Root, "f"), []byte(strings.Repeat("y", 10_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	resp, err := w.Call(t.Context(), New(Options{MaxTokens: 1000}), `{"file_path":"f"}`)
	if err != nil {
		t.Fatal(err)
	}
	data, err := resp.Structured()
	dirs, _ := filepath.Glob(filepath.Join(w.Session.View().Results, "*"))
	want := fmt.Sprintf(`{"type":"parts","filePath":"%s/f","originalSize":10000,"count":3,"outputDir":%q}`, w.Root, dirs[0])
	if err != nil || string(data) != want {
		t.Errorf("%s, %v; want %s", data, err, want)
	}
}

// TestHugeLine: a line beyond what is stored is shown in part, in little memory.
func TestHugeLine(t *testing.T) {
	p, err := readText(t.Context(), &endless{func() {}, 1 << 30}, request{path: "f", size: 1 << 40, offset: 1, budget: 4000})
	if err != nil {
		t.Fatal(err)
	}
	if want := "[line 1 has more than 268435456 bytes, of which the first 3392 are shown; other tools can cut the rest out of it]"; !strings.HasSuffix(p.text, want) {
		t.Errorf("%s", p.text[max(0, len(p.text)-200):])
	}
	if p.long <= splitTo || p.total != -1 {
		t.Errorf("%d bytes, %d lines", p.long, p.total)
	}
}
