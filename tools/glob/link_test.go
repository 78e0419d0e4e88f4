package glob

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mcp-toolset/tools/toolstest"
)

// TestLinkOut checks that a pattern which begins with a link out of the workspace is
// answered with the reason that the link itself has, and not with "no file matches".
func TestLinkOut(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("making links needs a privilege")
	}
	w, outside := toolstest.NewWorkspace(t), t.TempDir()
	for name, to := range map[string]string{"ext": outside, "file": filepath.Join(outside, "x"), "in": filepath.Join(w.Root, "sub")} {
		if err := os.Symlink(to, filepath.Join(w.Root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{filepath.Join(outside, "x"), filepath.Join(w.Root, "sub")} {
		if f = filepath.Join(f); strings.HasSuffix(f, "sub") {
			_ = os.Mkdir(f, 0o777)
			f = filepath.Join(f, "y")
		}
		if err := os.WriteFile(f, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string]string{"ext/*": "outside the workspace", "ext/x": "outside the workspace", "ext/**/*.go": "outside the workspace", "file": "outside the workspace", "in/*": "in/y"} {
		got := ""
		if resp, err := w.Call(t.Context(), New(Options{}), `{"pattern":"`+pattern+`"}`); err != nil {
			got = err.Error()
		} else {
			got = toolstest.Text(resp)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s", pattern, got)
		}
	}
}
