package read

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
	"mcp-toolset/tools/toolstest"
	"mcp-toolset/tools/write"
)

// TestParts checks that a line too long for an answer is stored in pieces, and that the
// pieces together are the line.
func TestParts(t *testing.T) {
	for name, tc := range map[string]struct {
		line, args string
		before     string
		after      string
		notice     string // after the folder
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
			if !strings.Contains(rest, tc.notice) || len(first) > 4000 {
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
				part := strings.TrimPrefix(toolstest.Text(resp), "1\t")
				if strings.Contains(part, "\n") {
					t.Fatalf("%s is not shown whole: %s", f.Name(), part[strings.Index(part, "\n"):])
				}
				if i == 0 && part != strings.TrimPrefix(first, strings.TrimSpace(first)[:2]) {
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

// TestPartsOfAnotherState checks that parts belong to one line of one state of one file.
func TestPartsOfAnotherState(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	path := filepath.Join(w.Root, "f")
	tool := New(Options{MaxTokens: 1000, Repeat: true})
	read := func(offset int) string {
		t.Helper()
		resp, err := w.Call(t.Context(), tool, fmt.Sprintf(`{"file_path":"f","offset":%d}`, offset))
		if err != nil {
			t.Fatal(err)
		}
		data, err := resp.Structured()
		var out struct{ OutputDir string }
		if err := errors.Join(err, json.Unmarshal(data, &out)); err != nil {
			t.Fatal(err)
		}
		last, err := os.ReadFile(filepath.Join(out.OutputDir, "part-0003.txt"))
		if err != nil {
			t.Fatal(err)
		}
		return string(last[:1])
	}
	write := func(a, b string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(strings.Repeat(a, 10_000)+"\n"+strings.Repeat(b, 10_000)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a", "b")
	if got := read(1) + read(2); got != "ab" {
		t.Errorf("the parts are of %q", got)
	}
	write("c", "d")
	if got := read(1) + read(2); got != "cd" {
		t.Errorf("after a change the parts are of %q", got)
	}
	if dirs, _ := filepath.Glob(filepath.Join(w.Session.View().Results, "*")); len(dirs) != 2 {
		t.Errorf("stored: %v", dirs)
	}
}

// TestPartsOfAChangingFile checks that a file that changes while it is stored leaves no
// parts.
func TestPartsOfAChangingFile(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	path := filepath.Join(w.Root, "f")
	if err := os.WriteFile(path, []byte(strings.Repeat("a", 10_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	tool := New(Options{MaxTokens: 1000})
	call, err := tool.Parse([]byte(`{"file_path":"f"}`))
	if err != nil {
		t.Fatal(err)
	}
	env := w.Env()
	store := env.Results
	env.Results = saver{store, func(family, name string, next func() (string, error)) (string, int, error) {
		if err := os.WriteFile(path, []byte("b"), 0o600); err != nil {
			t.Fatal(err)
		}
		return store.SaveParts(family, name, next)
	}}
	_, err = toolstest.Prepare(t, call, env).Run(t.Context(), env)
	if want := path + " changed while it was read. Read it again."; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if dirs, _ := filepath.Glob(filepath.Join(w.Session.View().Results, "*")); len(dirs) != 0 {
		t.Errorf("left behind: %v", dirs)
	}
}

// saver stores texts, and parts with a function of the test.
type saver struct {
	tools.Results
	save func(family, name string, next func() (string, error)) (string, int, error)
}

func (s saver) SaveParts(family, name string, next func() (string, error)) (string, int, error) {
	return s.save(family, name, next)
}

// TestPartsWithoutRoom checks that the beginning of a line is shown even if the line cannot
// be stored.
func TestPartsWithoutRoom(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	if err := os.WriteFile(filepath.Join(w.Root, "f"), []byte(strings.Repeat("a", 10_000)+"\nb"), 0o600); err != nil {
		t.Fatal(err)
	}
	call, err := New(Options{MaxTokens: 1000}).Parse([]byte(`{"file_path":"f"}`))
	if err != nil {
		t.Fatal(err)
	}
	env := w.Env()
	env.Results = saver{env.Results, func(string, string, func() (string, error)) (string, int, error) {
		return "", 0, errors.New("the disk is full")
	}}
	resp, err := toolstest.Prepare(t, call, env).Run(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	const want = "[line 1 has 10000 bytes, more than fits an answer. This is its beginning; the rest could not be stored (the disk is full), so take it out with other tools. The lines behind it begin at offset 2]"
	if first, rest, _ := strings.Cut(toolstest.Text(resp), "\n"); len(first) < 3000 || rest != want {
		t.Errorf("%d bytes, then %s", len(first), rest)
	}
}

// TestPartsOfOldEncodings checks that parts of a text in an old encoding have a note on it.
func TestPartsOfOldEncodings(t *testing.T) {
	got, err := readBytes(t, Options{MaxTokens: 1000}, strings.Repeat("ab\xff", 3000), "")
	if err != nil || !strings.HasSuffix(got, "then take the file as text]") {
		t.Errorf("%s, %v", got[max(0, len(got)-200):], err)
	}
	got, err = readBytes(t, Options{MaxTokens: 1000}, "\xff\xfe"+strings.Repeat("a\x00", 6000), "")
	if err != nil || !strings.HasSuffix(got, "\n[the file is encoded as UTF-16 LE]") {
		t.Errorf("%s, %v", got[max(0, len(got)-200):], err)
	}
}

// TestHugeLine checks that the beginning of a line too long to store is shown, in little
// memory.
func TestHugeLine(t *testing.T) {
	p, err := readText(t.Context(), &endless{func() {}, 1 << 30}, request{path: "f", size: 1 << 40, offset: 1, budget: 4000})
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("[line 1 has %d bytes or more; the first 3397 are shown, and a command such as cut can show the rest. The next line is at offset 2]", p.long); !strings.HasSuffix(p.text, want) {
		t.Errorf("%s", p.text[max(0, len(p.text)-200):])
	}
	if p.long <= maxLineSearch || p.total != -1 {
		t.Errorf("%d bytes, %d lines", p.long, p.total)
	}
}

// TestUnseenLine checks that a first line too long to be shown or stored counts as not
// read, so that a file of which only an earlier state was read is not replaced.
func TestUnseenLine(t *testing.T) {
	c := converse(t, Options{MaxTokens: leastTokens})
	c.want("", whole)
	c.write(strings.Repeat("x", mostParts*leastTokens*bytesPerToken) + "\nb\n")
	resp, err := c.w.Call(t.Context(), New(c.o), `{"file_path":"f"}`)
	if err != nil || !strings.HasSuffix(toolstest.Text(resp), "a command such as cut can show the rest. The next line is at offset 2]") {
		t.Fatalf("%v, %v", resp, err)
	}
	for _, guard := range []file.Guard{file.GuardDefault, file.GuardStrict} {
		if _, err := c.w.Call(t.Context(), write.New(file.Options{Guard: guard, Locks: c.w.Locks}), `{"file_path":"f","content":"y"}`); err == nil || !strings.Contains(err.Error(), "has changed since it was read") {
			t.Errorf("guard %s: %v", guard, err)
		}
	}
}
