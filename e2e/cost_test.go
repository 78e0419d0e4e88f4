//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// costShare is the limit of the characters of the calls of TestCost, as a part of those
// of Claude Code's tools.
const costShare = 0.8

// costed is a call whose answer is measured in characters. claude is the length of Claude
// Code 2.1.330's answer to a call of this shape, measured on 2026-11-21 on its wire. most
// is the limit of our answer; raise it only on purpose.
type costed struct {
	name         string
	tool         string
	args         map[string]any
	claude, most int
}

// costedCalls lists the calls in the order in which they are made.
var costedCalls = []costed{
	{"Read, 81 lines", "Read", map[string]any{"file_path": "internal/parse/parse.go"}, 2118, 2233},
	{"the same Read again", "Read", map[string]any{"file_path": "internal/parse/parse.go"}, 2118, 166},
	{"Edit", "Edit", map[string]any{"file_path": "internal/parse/parse.go", "old_string": "value(40)", "new_string": "value(41)"}, 133, 262},
	{"Edit, not found", "Edit", map[string]any{"file_path": "internal/parse/parse.go", "old_string": "missing text", "new_string": "x"}, 81, 158},
	{"Edit, ambiguous", "Edit", map[string]any{"file_path": "internal/parse/parse.go", "old_string": "value(1", "new_string": "x"}, 263, 253},
	{"Bash in the background", "Bash", map[string]any{"command": "sleep 100", "run_in_background": true}, 261, 145},
	{"Write, new", "Write", map[string]any{"file_path": "notes.md", "content": "one\ntwo\n"}, 118, 53},
	{"Write, replaced", "Write", map[string]any{"file_path": "notes.md", "content": "one\nthree\n"}, 128, 85},
	// The four searches were measured together.
	{"Glob", "Glob", map[string]any{"pattern": "**/*.go"}, 782, 151},
	{"Grep, files", "Grep", map[string]any{"pattern": "func Value"}, 0, 127},
	{"Grep, content", "Grep", map[string]any{"pattern": "func Value", "output_mode": "content"}, 0, 271},
	{"Grep, count", "Grep", map[string]any{"pattern": "func Value", "output_mode": "count"}, 0, 173},
}

// costedLong is not part of the sum. We show both ends of long output, so that a model
// need not ask for the end; Claude Code shows the beginning.
var costedLong = costed{"Bash, long output", "Bash", map[string]any{"command": "seq 1 30000"}, 2227, 8305}

// TestCost checks that answers stay within their limits.
func TestCost(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	costedFiles(t, root)
	w := startStdio(t, root)
	w.exchange(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"cost","version":"1"}}}`)
	w.exchange(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	ours, claude := 0, 0
	for i, c := range append(costedCalls, costedLong) {
		text := costedAnswer(t, w, i+1, c, root)
		if i == 0 && utf8.RuneCountInString(reminder.ReplaceAllString(text, "")) != c.claude {
			t.Errorf("the file is not the one of %d characters", c.claude)
		}
		n := utf8.RuneCountInString(text)
		t.Logf("%-24s Claude Code %5d, here %5d", c.name, c.claude, n)
		if n > c.most {
			t.Errorf("%s: %d characters, %d is the most:\n%s", c.name, n, c.most, short(text))
		}
		if c.name != costedLong.name {
			ours, claude = ours+n, claude+c.claude
		}
	}
	t.Logf("%-24s Claude Code %5d, here %5d: %.2f", "together without the last", claude, ours, float64(ours)/float64(claude))
	if float64(ours) > costShare*float64(claude) {
		t.Errorf("the calls cost %d characters, and %.0f is the most", ours, costShare*float64(claude))
	}
}

// costedFiles creates the files: one of 81 lines, which Claude Code shows in the 2,118
// characters of its figure, and some for the searches.
func costedFiles(t *testing.T, root string) {
	var b strings.Builder
	b.WriteString("package parsing\n")
	for i := range 80 {
		fmt.Fprintf(&b, "var v%02d = value(%d)%s\n", i, i, strings.Repeat("/", 3+i/41))
	}
	files := map[string]string{"internal/parse/parse.go": b.String()}
	for i := range 8 {
		files[fmt.Sprintf("pkg/v%d/value.go", i)] = fmt.Sprintf("package v%d\n\nfunc Value() {}\n", i)
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var costedLog = regexp.MustCompile(`/\S+/output/\w+/bash-\w+\.log`)

// costedAnswer returns the text of an answer, with a root as long as a usual one.
func costedAnswer(t *testing.T, w wire, id int, c costed, root string) string {
	args, err := json.Marshal(c.args)
	if err != nil {
		t.Fatal(err)
	}
	lines := w.exchange(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, c.tool, args))
	var got struct {
		Result struct {
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, c := range got.Result.Content {
		text += c.Text
	}
	text = strings.ReplaceAll(text, root, "/home/dev/project")
	return costedLog.ReplaceAllString(text, "/home/dev/.local/state/mcp-toolset/output/abcdefgh/bash-abcdefgh.log")
}
