package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestResolver compares a Resolver with filepath.EvalSymlinks.
func TestResolver(t *testing.T) {
	needUnix(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"/", root, root + "/..", root + "/absent/x"}
	for _, folder := range []string{"small", "small/deep"} {
		for i := range 20 {
			touch(t, fmt.Sprintf("%s/%s/f%d", root, folder, i), "")
		}
		for link, to := range map[string]string{"file": "f1", "folder": "../small/deep", "up": "..", "dangling": "nothing", "loop": "loop", "absolute": root + "/small/f2", "below": "f1/x"} {
			if err := os.Symlink(to, filepath.Join(root, folder, link)); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"f0", "f1", "absent", "file", "folder", "folder/f3", "folder/file", "folder/absent", "up", "up/f2", "dangling", "dangling/x", "loop", "absolute", "below", "f0/x", "f4/"} {
			paths = append(paths, root+"/"+folder+"/"+name)
		}
	}
	r := NewResolver()
	for range 2 {
		for _, path := range paths {
			want, err := filepath.EvalSymlinks(filepath.Clean(path))
			if err != nil {
				want = ""
			}
			if got := r.Real(path); got != want {
				t.Errorf("%s is %q, want %q", path, got, want)
			}
		}
	}
}
