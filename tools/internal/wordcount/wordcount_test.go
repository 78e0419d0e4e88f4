package wordcount

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/tools/toolstest"
)

// TestCases checks the texts that a model sees: results and all errors.
func TestCases(t *testing.T) { toolstest.Run(t, New(), "testdata") }

// TestData checks the data that programs see.
func TestData(t *testing.T) {
	for text, want := range map[string]string{
		"":                     `{"lines":0,"words":0,"characters":0}`,
		"one two\nthree":       `{"lines":2,"words":3,"characters":13}`,
		" é  漢字\t\n\n":         `{"lines":2,"words":2,"characters":9}`,
		strings.Repeat("a", 9): `{"lines":1,"words":1,"characters":9}`,
	} {
		w := toolstest.NewWorkspace(t)
		if err := os.WriteFile(filepath.Join(w.Root, "a.txt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		resp, err := w.Call(t.Context(), New(), `{"file_path":"a.txt"}`)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := resp.Structured(); string(got) != want || err != nil {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
}

// TestBinary is a test in Go, since a case with a NUL would be no text.
func TestBinary(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	if err := os.WriteFile(filepath.Join(w.Root, "b.bin"), []byte("b\x00b"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := w.Call(t.Context(), New(), `{"file_path":"b.bin"}`)
	if want := "$ROOT/b.bin is a binary file. Name a text file."; err == nil || w.Placed(err.Error()) != want {
		t.Errorf("%v, want %s", err, want)
	}
}
