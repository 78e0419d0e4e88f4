package edit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"mcp-toolset/tools/file"
	"mcp-toolset/tools/toolstest"
)

// TestPreview checks that the user sees how an Edit changes the file, or both texts if the
// edit cannot be made.
func TestPreview(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	if err := os.WriteFile(filepath.Join(w.Root, "a"), []byte("1\n2\n1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[Input]string{
		{FilePath: "a", OldString: "2", NewString: "x\ny"}:                "$ROOT/a, what changes:\n@@ -1,3 +1,4 @@\n 1\n-2\n+x\n+y\n 1\n",
		{FilePath: "a", OldString: "1", NewString: "x", ReplaceAll: true}: "$ROOT/a, what changes:\n@@ -1,3 +1,3 @@\n-1\n+x\n 2\n-1\n+x\n",
		{FilePath: "a", OldString: "1", NewString: "x"}:                   "$ROOT/a, the text to replace and the new one; the edit does not fit the file:\n@@ -1,1 +1,1 @@\n-1\n+x\n",
		{FilePath: "new", NewString: "x"}:                                 "$ROOT/new, a new file:\n+x\n",
		{FilePath: "new", OldString: "a\nb", NewString: "a\nc", ReplaceAll: true}: "$ROOT/new, the text to replace and the new one; the file cannot be compared:\n" +
			"[every occurrence is replaced]\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
	} {
		args, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		c, err := New(file.Options{}).Parse(args)
		if err != nil {
			t.Fatal(err)
		}
		env := w.Env()
		got := toolstest.Prepare(t, c, env).Preview(t.Context(), env)
		if text := w.Placed(got.Text); text != want || got.Partial {
			t.Errorf("%+v\ngot  %q\nwant %q", in, text, want)
		}
	}
}
