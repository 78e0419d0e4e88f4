package search

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// believe makes a Searcher take the youngest stamps for settled, if each change
// of a file that was looked at gives another one. Otherwise no file would be
// old enough for the index in a test.
func believe(t testing.TB, s *Searcher, dir string) {
	t.Helper()
	p := filepath.Join(dir, "probe")
	defer os.Remove(p)
	var last int64
	for range 100 {
		os.WriteFile(p, []byte("x"), 0o644)
		file, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		now := ctime(file, "probe")
		file.Close()
		if now == 0 || now == last {
			t.Skip("the file system's stamps are coarse")
		}
		last = now
	}
	s.racy = -1 << 62
}

// TestChanges compares, after random changes, a Searcher with an index, one
// without, one with a watcher, and ripgrep.
func TestChanges(t *testing.T) {
	const changes = 15 // rounds of a tree
	skipped := 0       // files that the index excluded
	vouched := 0       // rounds that ended with a watcher that vouched
	for seed := range uint64((rounds + changes - 1) / changes) {
		f := newForest(t, 1000+seed)
		f.grow()
		indexed, plain := New(options(0, f.dir)), New(options(-1, f.dir))
		believe(t, indexed, f.dir)
		o := options(0, f.dir)
		o.Watch = true
		watched := New(o)
		watched.racy, watched.retry = indexed.racy, 0
		theirs := newRg(t, f)
		for round := range changes {
			for range f.IntN(5) {
				f.disturb()
			}
			for range 4 {
				k := f.ask()
				a := search(t, indexed, f.dir, k.query(t))
				if f.one(2) {
					indexed.build.Wait()
				}
				want := theirs.want(k)
				if diff := differ(want, got(t, k, a)); diff != "" {
					t.Fatalf("seed %d, round %d, %v (-rg +indexed):\n%s", seed, round, k, diff)
				}
				if f.one(2) {
					watched.build.Wait()
				}
				if diff := differ(a, search(t, watched, f.dir, k.query(t))); diff != "" {
					t.Fatalf("seed %d, round %d, %v (-indexed +watched):\n%s", seed, round, k, diff)
				}
				b := search(t, plain, f.dir, k.query(t))
				if diff := differ(b, a); diff != "" {
					t.Fatalf("seed %d, round %d, %v (-plain +indexed):\n%s", seed, round, k, diff)
				}
			}
			indexed.build.Wait()
			tree := indexed.Tree(f.dir, opener(f.dir))
			q := asked{pattern: "not there"}.query(t)
			p, err := tree.plan(context.Background(), q, new(Answer))
			if err != nil {
				t.Fatal(err)
			}
			skipped += p.listing.Files - len(p.jobs)
			watched.build.Wait()
			if watched.Tree(f.dir, opener(f.dir)).list.Vouched() {
				vouched++
			}
		}
		indexed.Close()
		plain.Close()
		watched.Close()
	}
	if skipped < rounds {
		t.Errorf("the index excluded only %d files in %d rounds", skipped, rounds)
	}
	if runtime.GOOS == "linux" && vouched < rounds/2 {
		t.Errorf("a watcher vouched in only %d of %d rounds", vouched, rounds)
	}
}
