package grep

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"mcp-toolset/tools/toolstest"
)

// TestLinkInGlob checks that a glob which begins with a link names it: a search does not
// follow links.
func TestLinkInGlob(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("making links needs a privilege")
	}
	w := toolstest.NewWorkspace(t)
	if err := os.MkdirAll(filepath.Join(w.Root, "sub", "deep"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.Root, "sub", "deep", "a"), []byte("one\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"lnk": "sub", "sub/to": "deep", "gone": "none", "out": t.TempDir()} {
		if err := os.Symlink(to, filepath.Join(w.Root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range [][2]string{
		{"lnk/**", "[no file was searched: none in $ROOT matches glob lnk/**]\n[lnk is a link, and links are not followed; search it as path]"},
		{"sub/to/*.go", "[no file was searched: none in $ROOT matches glob sub/to/*.go]\n[sub/to is a link, and links are not followed; search it as path]"},
		{"out/*", "[no file was searched: none in $ROOT matches glob out/*]\n[out is a link, and links are not followed; search it as path]"},
		{"sub/**", "sub/deep/a"},
	} {
		resp, err := w.Call(t.Context(), New(Options{}), `{"pattern":"one","glob":"`+c[0]+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Placed(toolstest.Text(resp)); got != c[1] {
			t.Errorf("%s:\n%s", c[0], got)
		}
	}
}
