package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"odd/a.go":       "package odd\n\n// end is what is behind the text.\nfunc end() {}\n\n// size returns the size.\nfunc size() {}\n",
		"odd/a_test.go":  "package odd\n\n// what is what is what is\n",
		"plain/b.go":     "package plain\n\n// Lookup returns the tool with a name.\nfunc Lookup() {}\n",
		"testdata/c.go":  "not Go",
		"plain/notes.md": "what is what is",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pkgs, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	report(&b, pkgs, 5)
	_, packages, _ := strings.Cut(b.String(), "\n\n")
	// One clause with "what", one "behind", one comment of the form "X is".
	want := "odd: 272.7 (11 words)\n  a.go:3: end is what is behind the text.\n\nplain: 0.0 (7 words)\n"
	if packages != want {
		t.Errorf("got\n%s\nwant\n%s", packages, want)
	}
}
