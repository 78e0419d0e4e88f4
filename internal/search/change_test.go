package search

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"mcp-toolset/internal/testscale"
)

// believe makes a Searcher treat even the youngest stamps as settled, if each change of
// a file that was looked at causes another stamp. Otherwise no file would be old enough
// for the index in a test.
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

// TestChanges compares, after random changes, a Searcher with an index, one without,
// one with a watcher, and ripgrep. Every second tree is a git repository in which other
// branches are checked out.
func TestChanges(t *testing.T) {
	const changes = 15 // rounds per tree
	if rgPath() == "" {
		t.Skip(noRg)
	}
	believing(t) // or skips here: the sums below would be too small
	_, noGit := exec.LookPath("git")
	if noGit != nil {
		t.Log("no other branches are checked out:", noGit)
	}
	var sum changed
	// ripgrep takes 9 s for a pattern of the tree 1000.
	first := uint64(testscale.N(1100, 1000))
	eachSeed(t, (rounds+changes-1)/changes, func(t *testing.T, seed uint64) {
		f := newForest(t, first+seed)
		f.grow()
		if seed%2 == 1 && noGit == nil {
			f.branch()
		}
		testChanges(t, f, changes, &sum)
	})
	t.Logf("%d files excluded by the index, %d rounds vouched for, %d recalled, %d branches checked out",
		sum.skipped.Load(), sum.vouched.Load(), sum.recalled.Load(), sum.switched.Load())
	if n := sum.skipped.Load(); n < int64(rounds) {
		t.Errorf("the index excluded only %d files in %d rounds", n, rounds)
	}
	if n := sum.vouched.Load(); runtime.GOOS == "linux" && n < int64(rounds/2) {
		t.Errorf("a watcher vouched in only %d of %d rounds", n, rounds)
	}
	if n := sum.recalled.Load(); runtime.GOOS == "linux" && n < int64(rounds/4) {
		t.Errorf("what was compared was recalled in only %d of %d rounds", n, rounds)
	}
	if n := sum.switched.Load(); noGit == nil && n < int64(rounds/10) {
		t.Errorf("another branch was checked out only %d times in %d rounds", n, rounds)
	}
}

// changed counts events in the trees of TestChanges.
type changed struct {
	skipped  atomic.Int64 // files that the index excluded
	vouched  atomic.Int64 // rounds that ended with a watcher that vouched
	recalled atomic.Int64 // rounds that ended with a recall
	switched atomic.Int64 // checkouts of another branch
}

func testChanges(t *testing.T, f *forest, changes int, sum *changed) {
	indexed, plain := New(options(0, f.dir)), New(options(-1, f.dir))
	defer indexed.Close()
	defer plain.Close()
	believe(t, indexed, f.dir)
	o := options(0, f.dir)
	o.Watch = true
	watched := New(o)
	defer watched.Close()
	watched.racy, watched.retry = indexed.racy, 0
	theirs := newRg(t, f)
	for round := range changes {
		for range f.IntN(5) {
			f.disturb()
		}
		if f.branches[0] != "" && f.one(3) {
			f.checkout()
			sum.switched.Add(1)
		}
		for range 4 {
			k := f.ask()
			a := search(t, indexed, f.dir, k.query(t))
			if f.one(2) {
				indexed.build.Wait()
			}
			want := theirs.want(k)
			if diff := differ(want, got(t, k, a)); diff != "" {
				t.Fatalf("round %d, %v (-rg +indexed):\n%s", round, k, diff)
			}
			if f.one(2) {
				watched.build.Wait()
			}
			if diff := differ(a, search(t, watched, f.dir, k.query(t))); diff != "" {
				t.Fatalf("round %d, %v (-indexed +watched):\n%s", round, k, diff)
			}
			b := search(t, plain, f.dir, k.query(t))
			if diff := differ(b, a); diff != "" {
				t.Fatalf("round %d, %v (-plain +indexed):\n%s", round, k, diff)
			}
		}
		indexed.build.Wait()
		tree := indexed.Tree(f.dir, opener(f.dir))
		q := asked{pattern: "not there"}.query(t)
		p, err := tree.plan(context.Background(), q, new(Answer))
		if err != nil {
			t.Fatal(err)
		}
		sum.skipped.Add(int64(p.listing.Files - len(p.jobs)))
		watched.build.Wait()
		tree = watched.Tree(f.dir, opener(f.dir))
		if tree.list.Covered() {
			sum.vouched.Add(1)
		}
		if r := tree.recall.Load(); r != nil && r.kinds != nil {
			sum.recalled.Add(1)
		}
	}
}
