package glob

import (
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-toolset/internal/testscale"
	"mcp-toolset/tools/toolstest"
)

// TestRandomPatternsLikeRipgrep compares patterns made of the names of this repository.
func TestRandomPatternsLikeRipgrep(t *testing.T) {
	f := toolstest.NewForest(t, filepath.Join("..", ".."))
	r := rand.New(rand.NewPCG(33, 34))
	n := testscale.N(40, 1000)
	for range n {
		pattern := f.Glob(r)
		m, err := newMatcher(pattern)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range f.Names {
			dir := path.Dir(name)
			if dir == "." {
				dir = ""
			}
			if m.match(dir, path.Base(name)) {
				got = append(got, name)
			}
		}
		glob := pattern
		if strings.Contains(glob, "/") && !strings.HasPrefix(glob, "**/") {
			glob = "/" + glob
		}
		if want := f.Ripgrep(t, glob); !slices.Equal(got, want) {
			t.Errorf("%s finds %d files, ripgrep %d", pattern, len(got), len(want))
		}
	}
	t.Logf("%d patterns on %d files", n, len(f.Names))
}
