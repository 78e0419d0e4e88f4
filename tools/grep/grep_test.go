package grep

import (
	"os"
	"path/filepath"
	"testing"

	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

func TestCases(t *testing.T) { toolstest.Run(t, New(Options{}), "testdata") }

// TestActivity checks that a search of a folder names what it searches for, and the number of files
// that are searched.
func TestActivity(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	for _, name := range []string{"a.go", "b.go", "c.txt"} {
		if err := os.WriteFile(filepath.Join(w.Root, name), []byte("TODO\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tool := New(Options{})
	for args, want := range map[string]string{
		`{"pattern":"TODO"}`:                "Searching for TODO in 3 files",
		`{"pattern":"TODO","glob":"*.go"}`:  "Searching for TODO in 2 files",
		`{"pattern":"TODO","path":"c.txt"}`: "",
	} {
		call, err := tool.Parse([]byte(args))
		if err != nil {
			t.Fatal(err)
		}
		env, got := w.Env(), ""
		env.Progress = func(p tools.Progress) { got += p.Activity }
		if _, err := toolstest.Prepare(t, call, env).Run(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}
