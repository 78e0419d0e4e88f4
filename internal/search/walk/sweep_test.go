package walk

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestRefreshStat checks that it returns the results of Refresh and Stat after any
// change, and that unchanged folders are the same.
func TestRefreshStat(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		build(t, dir, fmt.Sprintf("d%d/e%d/f%d: x", i%4, i%7, i), fmt.Sprintf("d%d/g%d: x", i%4, i))
	}
	rules := &names{}
	tree := New(opener(dir), Options{Above: func() Rules { return rules }})
	tree.racy = -time.Hour // otherwise each folder is read again
	var buf []Stamp
	for step := range 60 {
		d := filepath.Join(dir, fmt.Sprintf("d%d", r.IntN(4)))
		switch f := filepath.Join(d, fmt.Sprintf("e%d", r.IntN(7))); r.IntN(6) {
		case 0:
			build(t, dir, fmt.Sprintf("d%d/e%d/n%d: xy", r.IntN(4), r.IntN(7), step))
		case 1:
			_ = os.RemoveAll(f)
		case 2:
			_ = os.Rename(f, fmt.Sprint(f, "-", step))
		case 3:
			_ = os.WriteFile(filepath.Join(d, ".gitignore"), fmt.Appendf(nil, "g%d", r.IntN(40)), 0o644)
		case 4:
			_ = os.WriteFile(filepath.Join(d, fmt.Sprintf("g%d", r.IntN(40))), fmt.Append(nil, step), 0o644)
		}
		old := tree.listing
		l, stamps, err := tree.RefreshStat(context.Background(), buf, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := l.Stat(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(stamps, want) {
			t.Fatalf("step %d: other stamps than Stat's", step)
		}
		fresh := refresh(t, New(opener(dir), tree.options))
		if got, want := listed(t, l), listed(t, fresh); !slices.Equal(got, want) {
			t.Fatalf("step %d: %q, want %q", step, got, want)
		}
		if again, _, err := tree.RefreshStat(context.Background(), nil, nil, nil); err != nil || again != l {
			t.Fatalf("step %d: nothing has changed, and the listing is another: %v", step, err)
		}
		if old != nil && l.Root() != old.Root() {
			t.Fatalf("step %d: the top has not changed, and is another", step)
		}
		buf = stamps
	}
}

// someFiles looks at some files of a listing, given by number.
type someFiles struct {
	of   *Listing
	want []bool
	mu   sync.Mutex
	seen map[int][]Stamp // by folder
}

func (s *someFiles) Choose(i int) []bool {
	return s.want[s.of.First[i]:][:len(s.of.Dirs[i].Files)]
}

func (s *someFiles) Receive(i int, stamps []Stamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[i] = append(s.seen[i], stamps...)
}

// TestRefreshStatSome checks that only the wanted files are looked at, except in
// changed folders, and that Seen gets the stamps of unchanged ones.
func TestRefreshStatSome(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		for j := range 20 * i {
			build(t, dir, fmt.Sprintf("d%d/f%02d: x", i, j))
		}
	}
	tree := New(opener(dir), Options{})
	tree.racy = -time.Hour
	refresh(t, tree)
	old := tree.listing
	want := make([]bool, old.Files)
	for i := range want {
		want[i] = i%7 == 0 && i > 20
	}
	some := &someFiles{of: old, want: want, seen: map[int][]Stamp{}}
	newChooser := func() StatChooser { return some }
	l, stamps, err := tree.RefreshStat(context.Background(), nil, old, newChooser)
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range old.First {
		if seen := stamps[at:][:len(old.Dirs[i].Files)]; !slices.Equal(some.seen[i], seen) {
			t.Errorf("of folder %d were shown %+v, not %+v", i, some.seen[i], seen)
		}
	}
	clear(some.seen)
	all, err := l.Stat(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, ok := range want {
		if ok && stamps[i] != all[i] || !ok && stamps[i] != (Stamp{}) {
			t.Errorf("file %d, wanted %t: %+v", i, ok, stamps[i])
		}
	}
	build(t, dir, "d1/new: x")
	if l, stamps, err = tree.RefreshStat(context.Background(), stamps, old, newChooser); err != nil {
		t.Fatal(err)
	}
	if all, err = l.Stat(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	for i, at := range l.First {
		for j := range l.Dirs[i].Files {
			path := l.Dirs[i].Path()
			looked := path == "d1" || path == "d2" && want[old.First[i]+j]
			if got := stamps[at+j]; looked && got != all[at+j] || !looked && got != (Stamp{}) {
				t.Errorf("file %d of %s, looked at %t: %+v", j, path, looked, got)
			}
		}
	}
	if got := slices.Sorted(maps.Keys(some.seen)); !slices.Equal(got, []int{0, 2}) { // 1 is d1
		t.Errorf("shown were folders %v", got)
	}
	clear(some.seen)
	if _, stamps, err = tree.RefreshStat(context.Background(), stamps, old, newChooser); err != nil || !slices.Equal(stamps, all) {
		t.Errorf("what is wanted of another listing left files out, %v", err)
	}
	if len(some.seen) > 0 {
		t.Errorf("folders of another listing were shown: %+v", some.seen)
	}
}

// TestSweeps checks that every folder is in one batch. Large ones are alone, the
// largest first. Small ones share batches, and come before the large ones until each
// worker can have fastTurns of them.
func TestSweeps(t *testing.T) {
	dir := t.TempDir()
	for i := range fastTurns - 1 {
		build(t, dir, fmt.Sprintf("a%02d/", i))
	}
	for i, files := range []int{0, 3, sweepCalls, 1, 5, 3 * sweepCalls, sweepCalls - 1, 2 * sweepCalls, 2} {
		build(t, dir, fmt.Sprintf("d%d/", i))
		for j := range files {
			build(t, dir, fmt.Sprintf("d%d/f%d: x", i, j))
		}
	}
	for workers, want := range map[int][]string{
		1: {" a..", "d5", "d7", "d2", "d0 d1 d3 d4 d6", "d8"},
		2: {" a..", "d0 d1 d3 d4 d6", "d8", "d5", "d7", "d2"},
	} {
		tree := New(opener(dir), Options{Workers: workers})
		refresh(t, tree)
		var got []string
		for _, batch := range tree.sweeps() {
			var paths []string
			for _, n := range batch {
				paths = append(paths, n.place.path())
			}
			got = append(got, strings.Join(paths, " "))
		}
		if len(strings.Split(got[0], " a")) == fastTurns {
			got[0] = " a.."
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d workers: %q, want %q", workers, got, want)
		}
		build(t, dir, fmt.Sprintf("e%d/f: x", workers))
		refresh(t, tree)
		if got, want := len(slices.Concat(tree.sweeps()...)), fastTurns+10; got != want {
			t.Errorf("%d workers: %d folders, want %d", workers, got, want)
		}
		if err := os.RemoveAll(filepath.Join(dir, fmt.Sprintf("e%d", workers))); err != nil {
			t.Fatal(err)
		}
	}
}
