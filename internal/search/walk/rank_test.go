package walk

import (
	"path"
	"slices"
	"testing"
)

// TestRanks checks that ranks are the order of the paths as strings.
func TestRanks(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for _, folder := range []string{"", "a", "a/b", "a/b/c", "a-b", "a-b-c", "ab", "a.b/c", "a.b/c-/d", "b"} {
		for _, file := range []string{"x", "b-", "a-.b", "a-.", "bb", "a.c", "a0", "z", "\x01", "c\x7f", "\xff"} {
			want = append(want, path.Join(folder, file))
		}
	}
	build(t, dir, want...)
	slices.Sort(want)
	tree := New(opener(dir), Options{})
	for range 2 {
		l := refresh(t, tree)
		got := make([]string, l.Files)
		for i, d := range l.Dirs {
			for j, f := range d.Files {
				got[l.Ranks()[l.First[i]+j]] = path.Join(d.Path(), f.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
		build(t, dir, "a/b/x-/y", "a/b/a") // unchanged folders keep their place
		want = append(want, "a/b/x-/y", "a/b/a")
		slices.Sort(want)
	}
}
