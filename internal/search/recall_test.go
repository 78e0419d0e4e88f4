package search

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mcp-toolset/internal/search/walk"
)

// recalling returns a tree with records of most of its files, and a plan.
func recalling(t *testing.T) (*Tree, *plan) {
	t.Helper()
	s, dir := believing(t)
	for i := range 40 {
		text := "foo\n"
		switch i % 4 {
		case 1:
			text = "bar\n"
		case 2:
			text = "\uFEFF" + strings.Repeat("@\n", 20_000) + text
		}
		write(t, filepath.Join(dir, fmt.Sprint("d", i%7), "empty", fmt.Sprint("d", i%3), fmt.Sprint(i)), text)
	}
	write(t, filepath.Join(dir, ".ignore"), "*.log\n")
	write(t, filepath.Join(dir, "d1/a.log"), "foo\n")
	tree := s.Tree(dir, opener(dir))
	search(t, s, dir, foo(t))
	s.build.Wait()
	l, stamps, err := tree.list.RefreshStat(t.Context(), nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range stamps {
		if i%5 == 0 {
			stamps[i].Mtime++
		}
	}
	return tree, &plan{listing: l, stamps: stamps}
}

// TestRecalled checks that a recall is valid for the same stamps, listing, records and
// device only.
func TestRecalled(t *testing.T) {
	tree, p := recalling(t)
	if tree.recalls(p) != nil {
		t.Error("recalled at first")
	}
	first := tree.recalls(p)
	if tree.recalls(&plan{listing: p.listing, stamps: p.stamps}) != first {
		t.Error("nothing is recalled")
	}
	if !slices.Contains(first.kinds, unknown) || !slices.Contains(first.kinds, signed) {
		t.Errorf("the files are %v", first.kinds)
	}
	other := &walk.Listing{Dirs: p.listing.Dirs, First: p.listing.First, Files: p.listing.Files}
	for name, change := range map[string]func() *plan{
		"other stamps":  func() *plan { return &plan{listing: p.listing, stamps: slices.Clone(p.stamps)} },
		"other listing": func() *plan { return &plan{listing: other, stamps: p.stamps} },
		"other records": func() *plan { tree.version++; return p },
		"other device":  func() *plan { tree.device.Add(1); return p },
	} {
		tree.recalls(p)
		if tree.recalls(p) == nil {
			t.Errorf("%s: nothing is recalled before", name)
		}
		if tree.recalls(change()) != nil {
			t.Errorf("%s: something is recalled", name)
		}
	}
	tree.recalls(p)
	if r := tree.recalls(p); slices.ContainsFunc(r.kinds, func(k kind) bool { return k != unknown }) {
		t.Error("files of another device are known")
	}
	if tree.recalls(&plan{listing: &walk.Listing{}}) != nil {
		t.Error("something is recalled of no file")
	}
	held := tree.held
	tree.s.options.Watch = true
	if tree.account(); tree.held != held+int64(len(first.kinds))*recallSize {
		t.Errorf("%d bytes are held with a recall, %d without", tree.held, held)
	}
	tree.s.options.Watch = false
}

// TestRecallSame checks that a recall does not change the plan.
func TestRecallSame(t *testing.T) {
	tree, p := recalling(t)
	r := rand.New(rand.NewPCG(1, 2))
	tree.recalls(p)
	recall := tree.recalls(p)
	end := len(p.listing.Dirs)
	for range 300 {
		s := planFilter{t: tree, q: foo(t), device: tree.device.Load(), p: *p}
		s.filter = tree.store.Filter(s.q.Match.Filter())
		if r.IntN(2) == 0 {
			s.picked = make([]bool, p.listing.Files)
			for i := range s.picked {
				s.picked[i] = r.IntN(3) > 0
			}
		}
		recalled := s
		recalled.recall = recall
		s.folders(t.Context(), 0, end)
		from, to := r.IntN(end+1), r.IntN(end+1)
		from, to = min(from, to), max(from, to)
		recalled.folders(t.Context(), 0, from)
		recalled.folders(t.Context(), from, to)
		recalled.folders(t.Context(), to, end)
		if recalled.recall = nil; !reflect.DeepEqual(recalled, s) {
			t.Fatalf("%+v, recalled by way of %d and %d: %+v", s, from, to, recalled)
		}
	}
}
