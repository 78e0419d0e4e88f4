package walk

import (
	"cmp"
	"slices"
	"strings"
)

// Ranks returns, for each file counted as in First, the position of its path when the
// paths of all files are sorted as strings. In that order files and folders may mix:
// a/b.go, a/b/c, a/bc. Ranks are computed once, in linear time. The caller must not
// modify the slice.
func (l *Listing) Ranks() []int32 {
	l.ranking.Do(func() {
		r := ranker{l: l, ranks: make([]int32, l.Files), from: make([]int32, len(l.Dirs)+1)}
		r.group()
		r.folder(0)
		l.ranks = r.ranks
	})
	return l.ranks
}

// ranker ranks the files of a listing.
type ranker struct {
	l     *Listing
	ranks []int32
	next  int32 // rank
	// The folders directly in folder i are kids[from[i]:from[i+1]].
	from, kids []int32
}

// group sets the kids, in the order of their paths.
func (r *ranker) group() {
	parents := r.l.parents
	for _, p := range parents[1:] {
		r.from[p+1]++
	}
	for i := range parents {
		r.from[i+1] += r.from[i]
	}
	r.kids = make([]int32, len(parents)-1)
	at := slices.Clone(r.from)
	for i, p := range parents[1:] {
		r.kids[at[p]] = int32(i + 1)
		at[p]++
	}
	for i := range parents {
		slices.SortFunc(r.kids[r.from[i]:r.from[i+1]], func(a, b int32) int {
			return compareWithSlash(r.name(a), r.name(b), true)
		})
	}
}

func (r *ranker) name(dir int32) string { return r.l.Dirs[dir].place.name }

// folder ranks all files below a folder.
func (r *ranker) folder(dir int32) {
	files, first := r.l.Dirs[dir].Files, r.l.First[dir]
	i := 0
	rank := func() {
		r.ranks[first+i] = r.next
		r.next++
		i++
	}
	for _, kid := range r.kids[r.from[dir]:r.from[dir+1]] {
		for i < len(files) && compareWithSlash(files[i].Name, r.name(kid), false) < 0 {
			rank()
		}
		r.folder(kid)
	}
	for i < len(files) {
		rank()
	}
}

// compareWithSlash compares two names as parts of paths: a slash follows b, and a if
// folder is set.
func compareWithSlash(a, b string, folder bool) int {
	n := min(len(a), len(b))
	if c := strings.Compare(a[:n], b[:n]); c != 0 {
		return c
	}
	switch {
	case len(a) > n:
		return cmp.Compare(a[n], '/')
	case len(b) > n && folder:
		return cmp.Compare('/', b[n])
	case folder:
		return 0
	}
	return -1
}
