package workspace

import (
	"errors"
	"path/filepath"
	"testing"

	"mcp-toolset/internal/file/ospath"
)

// TestThroughLink checks that a fault of a link's target is not reported as one of the
// path.
func TestThroughLink(t *testing.T) {
	var f *ospath.Fault
	if err := throughLink(&ospath.Fault{Fact: "names a stream", Next: "x"}); !errors.As(err, &f) || f.Fact != "passes a link to a path that names a stream" {
		t.Errorf("%v", err)
	}
	if err := throughLink(errNUL); err != errNUL {
		t.Errorf("%v", err)
	}
}

// TestFileName checks that the name of an open file leads to its canonical path, under
// which a session records it.
func TestFileName(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		dir := tempDir(t)
		path := write(t, "x", dir, "sub", "deep", "f")
		r := open(dir)
		f, _, err := NewFiles(r, inside(r)).Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got := filepath.Clean(f.Name()); got != path {
			t.Errorf("the name is %s, the path %s", f.Name(), path)
		}
	})
}

// TestShares checks that only the share of a trusted path may be accessed.
func TestShares(t *testing.T) {
	s := shareSet{style: ospath.Windows}
	s.trust(`\\Srv\Share\proj`)
	s.trust(`C:\proj`)
	for path, trusted := range map[string]bool{
		`\\srv\SHARE\a`: true, `C:\a`: true, `\\srv\share2\a`: false, `\\other\share\a`: false, `\\srv\share\`: true,
	} {
		if err := s.check(path); (err == nil) != trusted {
			t.Errorf("%s: %v", path, err)
		}
	}
}
