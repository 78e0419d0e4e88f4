//go:build linux && (amd64 || arm64)

package walk

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestRow checks that files of a folder are looked at as each alone, for any length of
// their paths.
func TestRow(t *testing.T) {
	dir := t.TempDir()
	names := []string{"a", "longer", "b", strings.Repeat("n", 255)}
	dirs := []string{""}
	for _, size := range []int{1, pathBytes - 257, pathBytes - 256, pathBytes - 255, pathBytes - 3, pathBytes - 2, pathBytes - 1, pathBytes, pathBytes + 50} {
		dirs = append(dirs, strings.Repeat("d/", (size-1)/2)+strings.Repeat("d", 2-size%2))
	}
	for _, rel := range dirs {
		for i, name := range names {
			build(t, dir, filepath.Join(rel, name)+": "+strings.Repeat("x", i))
		}
		build(t, dir, filepath.Join(rel, "folder")+"/")
	}
	top := top(t, dir)
	var r row
	for _, rel := range dirs {
		for _, unnotified := range []bool{false, true} {
			r.begin(top.withoutNotify(unnotified), rel)
			for _, name := range append(names, "folder", "none", "a") {
				want, k, err := top.stat(rel, name)
				if err != nil || k != kindFile {
					want = Stamp{}
				} else if want == (Stamp{}) {
					t.Fatalf("no stamp of %s", name)
				}
				var got Stamp
				if r.stat(name, &got); got != want {
					t.Errorf("%.20s in a folder of %d bytes: %+v, want %+v", name, len(rel), got, want)
				}
			}
		}
	}
}
