package glob

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/search"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

// many makes n files in a folder of a workspace, and returns the answer for the pattern *.
func many(t *testing.T, folder, name string, n int) (text string, files int) {
	t.Helper()
	w := toolstest.NewWorkspace(t)
	dir := filepath.Join(w.Root, folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, name+strconv.Itoa(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	resp, err := w.Call(t.Context(), New(Options{}), `{"pattern": "*"}`)
	if err != nil {
		t.Fatal(err)
	}
	data, err := resp.Structured()
	var o Output
	if err != nil || json.Unmarshal(data, &o) != nil || o.Total != n {
		t.Fatalf("%d files in all, %v", o.Total, err)
	}
	return toolstest.Text(resp), len(o.Files)
}

func TestMost(t *testing.T) {
	if text, n := many(t, "d", "f", most); n != most || strings.Contains(text, "[") {
		t.Errorf("%d files: %s", n, text)
	}
	want := "\n[the newest 100 of 101 files; narrow the pattern, or search a folder below with path]"
	if text, n := many(t, "d", "f", most+1); n != most || !strings.HasSuffix(text, want) {
		t.Errorf("%d files: %s", n, text)
	}
	if runtime.GOOS != "linux" {
		return // the paths are too long
	}
	folder := strings.Repeat(strings.Repeat("d", 240)+"/", 5)
	want = "\n[the newest 63 of 100 files; narrow the pattern, or search a folder below with path]"
	if text, n := many(t, folder, strings.Repeat("f", 200), most); n != 63 || !strings.HasSuffix(text, want) || len(text) > tools.DefaultResultSize {
		t.Errorf("%d files: %d characters, the end is %q", n, len(text), text[len(text)-200:])
	}
}

func TestTimeout(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	_, err := w.Call(t.Context(), New(Options{Deadline: time.Nanosecond}), `{"pattern": "*"}`)
	if err == nil || err.Error() != timeoutFault().Error() {
		t.Error(err)
	}
}

func TestLeftOut(t *testing.T) {
	for _, tc := range []struct {
		found search.Found
		want  string
	}{
		{search.Found{}, ""},
		{search.Found{IgnoredCount: 2}, "[files and folders left out by .gitignore or .ignore files: 2; a pattern or path that begins with theirs finds them]\n"},
		{search.Found{IgnoredCount: 2, Ignored: "/w/b"}, "[/w/b is left out by a .gitignore or .ignore file; it was looked at because it was named]\n"},
		{search.Found{Unreadable: 3}, "[folders that could not be read: 3]\n"},
	} {
		if got := ignoredNotes(&tc.found); got != tc.want {
			t.Errorf("%+v: %s", tc.found, got)
		}
	}
}
