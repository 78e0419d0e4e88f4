package grep

import (
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"mcp-toolset/internal/testscale"
	"mcp-toolset/tools/toolstest"
)

// TestRandomGlobsLikeRipgrep compares globs made of the names of this repository.
func TestRandomGlobsLikeRipgrep(t *testing.T) {
	f := toolstest.NewForest(t, filepath.Join("..", ".."))
	r := rand.New(rand.NewPCG(31, 32))
	n := testscale.N(40, 1000)
	for range n {
		glob := f.Glob(r)
		if r.IntN(8) == 0 {
			glob = "!" + glob
		}
		c, err := newChooser(Input{Glob: glob, Path: f.Dir}, "", f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range f.Names {
			dir := path.Dir(name)
			if dir == "." {
				dir = ""
			}
			if c.pick(dir, path.Base(name)) {
				got = append(got, name)
			}
		}
		if want := f.Ripgrep(t, glob); !slices.Equal(got, want) {
			t.Errorf("%s chooses %d files, ripgrep %d", glob, len(got), len(want))
		}
	}
	t.Logf("%d globs on %d files", n, len(f.Names))
}
