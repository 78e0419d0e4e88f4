package search

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/search/walk"
)

// TestGuess checks that a search after changes of candidates and of other files finds
// what exists, and that the next search has records of the files it found changed.
func TestGuess(t *testing.T) {
	for name, c := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"nothing":            {func(string) error { return nil }, "a b"},
		"one matches, too":   {func(dir string) error { return os.WriteFile(dir+"/c", []byte("a foo\n"), 0o600) }, "a b c"},
		"one does no longer": {func(dir string) error { return os.WriteFile(dir+"/a", []byte("bar\n"), 0o600) }, "b"},
		"one has moved":      {func(dir string) error { return os.WriteFile(dir+"/a", []byte("no\nfoo\n"), 0o600) }, "a b"},
		"both":               {func(dir string) error { return os.Rename(dir+"/a", dir+"/c") }, "b c"},
		"one is gone":        {func(dir string) error { return os.Remove(dir + "/a") }, "b"},
		"one is a folder":    {func(dir string) error { return errors.Join(os.Remove(dir+"/a"), os.Mkdir(dir+"/a", 0o700)) }, "b"},
		"one is new":         {func(dir string) error { return os.WriteFile(dir+"/d", []byte("foo\n"), 0o600) }, "a b d"},
	} {
		for _, mode := range []Mode{Names, Counts, Lines} {
			s, dir := believing(t)
			for file, text := range map[string]string{"a": "foo\n", "b": "foo\n", "c": "bar\n"} {
				write(t, filepath.Join(dir, file), text)
			}
			q := func() *Query { return asked{pattern: "foo", mode: mode}.query(t) }
			search(t, s, dir, q())
			s.build.Wait()
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				a := search(t, s, dir, q())
				if want := len(strings.Fields(c.want)); a.Matched != want || a.Unreadable != 0 || a.Incomplete != "" {
					t.Errorf("%s, mode %v: %d files, want %d", name, mode, a.Matched, want)
				}
				s.build.Wait()
			}
			p, err := s.Tree(dir, opener(dir)).plan(context.Background(), q(), new(Answer))
			if err != nil || p.hasNew || slices.ContainsFunc(p.jobs, func(j job) bool { return j.known == unknown }) {
				t.Errorf("%s, mode %v: not known again: %+v, %v", name, mode, p.jobs, err)
			}
		}
	}
}

// TestGuessKept checks that a change of another file, even in the same folder, does not
// cause all candidates to be read.
func TestGuessKept(t *testing.T) {
	for name, change := range map[string]func(dir string){
		"nothing":         func(string) {},
		"another file":    func(dir string) { write(t, filepath.Join(dir, "small"), "foo bar\n") },
		"another folder":  func(dir string) { write(t, filepath.Join(dir, "d", "new"), "foo\n") },
		"the same folder": func(dir string) { write(t, filepath.Join(dir, "new"), "foo\n") },
	} {
		s, dir := believing(t)
		many := 10
		if name == "the same folder" {
			many = fewFiles // the work of several workers
		}
		for i := range many {
			write(t, filepath.Join(dir, "many", string(rune('a'+i%26)), string(rune('a'+i/26))), "bar\n")
		}
		write(t, filepath.Join(dir, "big"), strings.Repeat("bar\n", 100_000)+"foo\n")
		write(t, filepath.Join(dir, "small"), "bar\n")
		write(t, filepath.Join(dir, "d", "e"), "bar\n")
		q := func() *Query { return asked{pattern: "foo", mode: Lines}.query(t) }
		search(t, s, dir, q())
		s.build.Wait()
		search(t, s, dir, q()) // looks at the folders; the first search listed them
		change(dir)
		p, err := s.Tree(dir, opener(dir)).plan(context.Background(), q(), new(Answer))
		if err != nil {
			t.Fatal(err)
		}
		kept := 0
		for _, j := range p.jobs {
			if j.known != unknown && j.to > j.from {
				kept++
			}
		}
		others := 0
		if name != "nothing" {
			others = 1
		}
		if kept != 1 || len(p.jobs) != 1+others || p.hasNew != (others > 0) {
			t.Errorf("%s: %d parts of files, %d files, news: %t", name, kept, len(p.jobs), p.hasNew)
		}
	}
}

// TestGuessAsks checks that Pick is called once for each file, and that Anew is called
// before it is called again.
func TestGuessAsks(t *testing.T) {
	s, dir := believing(t)
	write(t, filepath.Join(dir, "a"), "foo\n")
	write(t, filepath.Join(dir, "b"), "bar\n")
	var asked []string
	q := foo(t)
	q.Pick = func(_, name string) bool { asked = append(asked, name); return true }
	anew := 0
	q.Anew = func() { asked, anew = nil, anew+1 }
	for i, want := range []string{"a b", "a b", "a b c", "b c"} {
		switch want {
		case "a b c":
			write(t, filepath.Join(dir, "c"), "foo\n")
		case "b c":
			if err := os.Remove(filepath.Join(dir, "a")); err != nil {
				t.Fatal(err)
			}
		}
		asked = nil
		a := search(t, s, dir, q)
		if got := strings.Join(asked, " "); got != want || a.Picked != len(asked) {
			t.Errorf("asked about %s, want %s; %d picked", got, want, a.Picked)
		}
		if anew != max(0, i-1) {
			t.Errorf("%s: asked anew %d times", want, anew)
		}
		s.build.Wait()
	}
}

// TestGuessPlain checks the same for a folder that turns out to be on a file system of
// which nothing is recorded.
func TestGuessPlain(t *testing.T) {
	s, dir := believing(t)
	write(t, filepath.Join(dir, "a"), "foo\n")
	top := dir
	tree := s.Tree(dir, func() (*os.File, error) { return os.Open(top) })
	for _, top = range []string{dir, dir, "/proc/self/task"} {
		asks := 0
		q := foo(t)
		q.Pick = func(string, string) bool { asks++; return false }
		q.Anew = func() { asks = 0 }
		if a, err := tree.Search(t.Context(), q); err != nil || asks != a.Listed || asks == 0 {
			t.Errorf("%s: asked about %d files of %d, %v", top, asks, a.Listed, err)
		}
		s.build.Wait()
	}
}

// TestGuessLook checks that the picked files that cannot match are looked at. For a
// page of Names all picked files are. Other files are not.
func TestGuessLook(t *testing.T) {
	s, dir := believing(t)
	for name, text := range map[string]string{"a": "foo\n", "b": "bar\n", "c": "foo\n", "d": "bar\n"} {
		write(t, filepath.Join(dir, name), text)
	}
	search(t, s, dir, foo(t))
	s.build.Wait()
	for _, tc := range []struct {
		asked
		all  bool // no Pick; otherwise it picks a and b
		want []bool
	}{
		{asked{mode: Lines, limit: 2}, true, []bool{false, true, false, true}},
		{asked{}, false, []bool{false, true, false, false}},
		{asked{limit: 2}, true, nil},
		{asked{limit: 2}, false, []bool{true, true, false, false}},
	} {
		tc.pattern = "foo"
		q := tc.query(t)
		if !tc.all {
			q.Pick = func(_, name string) bool { return name < "c" }
		}
		g := &prefilter{t: s.Tree(dir, opener(dir)), q: q}
		if err := g.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := g.newWorker(t.Context()).Choose(0); !slices.Equal(got, tc.want) {
			t.Errorf("%+v: %v, want %v", tc.asked, got, tc.want)
		}
	}
}

// TestGuessLeft checks that the picked files are left that can match or are not in
// their recorded state. Once records are made anew, nothing is found.
func TestGuessLeft(t *testing.T) {
	s, dir := believing(t)
	for name, text := range map[string]string{
		"0": "bar\n", "d1/a": "foo\n", "d2/a": "bar\n", "d2/b": "bar\n", "d3/a": "bar\n", "d3/b": "bar\n",
		"d4/a": "bar\n", "d4/x": "foo\n", "d5/a": "foo\x00\n",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	search(t, s, dir, foo(t))
	s.build.Wait()
	write(t, filepath.Join(dir, "d3/b"), "BAR\n")
	tree := s.Tree(dir, opener(dir))
	for _, tc := range []struct {
		asked
		pick, anew bool
		left       []int32 // by folder
		done       string  // files that cannot match
	}{
		{asked{}, false, false, []int32{0, 1, 0, 1, 1, 0}, "0 d2/a d2/b d3/a d4/a d5/a"},
		{asked{}, true, false, []int32{0, 1, 0, 1, 0, 0}, "0 d2/a d2/b d3/a d4/a d5/a"},
		{asked{mode: Lines}, false, false, []int32{0, 1, 0, 1, 1, 1}, "0 d2/a d2/b d3/a d4/a"},
		{asked{mode: Lines}, false, true, slices.Repeat([]int32{unseen}, 6), ""},
		{asked{limit: 3}, false, false, nil, ""},
	} {
		tc.pattern = "foo"
		q := tc.query(t)
		if tc.pick {
			q.Pick = func(_, name string) bool { return name != "x" }
		}
		g := &prefilter{t: tree, q: q}
		if err := g.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		newChooser := func() walk.StatChooser {
			l := g.newWorker(t.Context())
			if tc.anew {
				tree.version++
				if got := l.Choose(0); got != nil {
					t.Errorf("wanted by other records: %v", got)
				}
			}
			return l
		}
		if _, _, err := tree.list.RefreshStat(t.Context(), nil, g.listing, newChooser); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(g.left, tc.left) {
			t.Errorf("%+v: %v files are left, want %v", tc, g.left, tc.left)
		}
		var done []string
		for i, d := range g.listing.Dirs {
			for j, f := range d.Files {
				if g.look != nil && g.look[g.listing.First[i]+j] {
					done = append(done, join(d.Path(), f.Name))
				}
			}
		}
		if got := strings.Join(done, " "); got != tc.done {
			t.Errorf("%+v: %s cannot match, want %s", tc, got, tc.done)
		}
	}
	q := foo(t)
	q.Pick = func(_, name string) bool { return name != "x" }
	if a := search(t, s, dir, q); a.Listed != 9 || a.Picked != 8 {
		t.Errorf("%d files picked of %d", a.Picked, a.Listed)
	}
	if a := search(t, s, dir, foo(t)); a.Listed != 9 || a.Picked != 9 {
		t.Errorf("%d files picked of %d", a.Picked, a.Listed)
	}
}

// TestGuessNew checks that a file without a record is looked at, so that one is made.
func TestGuessNew(t *testing.T) {
	s, dir := believing(t)
	write(t, filepath.Join(dir, "a"), "bar\n")
	search(t, s, dir, foo(t))
	s.build.Wait()
	s.racy = time.Hour
	write(t, filepath.Join(dir, "b"), "bar\n")
	for range 2 {
		search(t, s, dir, foo(t))
		s.build.Wait()
	}
	s.racy = -1 << 62
	if p, err := s.Tree(dir, opener(dir)).plan(t.Context(), foo(t), new(Answer)); err != nil || !p.hasNew || len(p.jobs) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestGuessEmpty checks that files with an empty text are not opened again.
func TestGuessEmpty(t *testing.T) {
	s, dir := believing(t)
	for name, text := range map[string]string{"a": "foo\n", "b": "", "c": "\uFEFF"} {
		write(t, filepath.Join(dir, name), text)
	}
	search(t, s, dir, foo(t))
	s.build.Wait()
	for pattern, want := range map[string]int{"foo": 1, "^$": 3} {
		p, err := s.Tree(dir, opener(dir)).plan(t.Context(), asked{pattern: pattern}.query(t), new(Answer))
		if err != nil || len(p.jobs) != want {
			t.Errorf("%s: %+v, %v", pattern, p.jobs, err)
		}
		if a := search(t, s, dir, asked{pattern: pattern}.query(t)); pattern == "foo" && a.Matched != 1 || pattern == "^$" && a.Matched != 0 {
			t.Errorf("%s: %d files match", pattern, a.Matched)
		}
	}
}

// TestGuessYoung checks that a file that has just changed does not start indexing: it
// could not be recorded.
func TestGuessYoung(t *testing.T) {
	s, dir := believing(t)
	write(t, filepath.Join(dir, "a"), "foo\n")
	search(t, s, dir, foo(t))
	s.build.Wait()
	for _, young := range []bool{true, false} {
		if young {
			s.racy = time.Hour
		} else {
			s.racy = -1 << 62
		}
		write(t, filepath.Join(dir, "a"), "foo bar\n")
		tree, a := s.Tree(dir, opener(dir)), new(Answer)
		p, err := tree.plan(context.Background(), foo(t), a)
		if err == nil {
			err = tree.run(context.Background(), foo(t), p, a)
		}
		if err != nil || a.Total != 1 || p.hasNew == young {
			t.Errorf("young %t: %d files, news: %t, %v", young, a.Total, p.hasNew, err)
		}
	}
}

// TestGuessSeen checks that a candidate that was looked at can still match, and that a
// file that should have been looked at but has no stamp is left to the search.
func TestGuessSeen(t *testing.T) {
	s, dir := believing(t)
	ctx := context.Background()
	write(t, filepath.Join(dir, "a"), "foo\n")
	write(t, filepath.Join(dir, "b"), "bar\n")
	search(t, s, dir, foo(t))
	s.build.Wait()
	tree := s.Tree(dir, opener(dir))
	l, stamps, err := tree.list.RefreshStat(ctx, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for guessed, want := range map[bool]string{true: "a+ b", false: "a b"} {
		g := &prefilter{t: tree, q: foo(t)}
		if guessed {
			if err := g.begin(ctx); err != nil || g.listing != l {
				t.Fatalf("a guess of another listing, %v", err)
			}
		}
		for _, none := range []bool{false, true} {
			p := &plan{listing: l, stamps: slices.Clone(stamps)}
			if none {
				clear(p.stamps)
			}
			if err := tree.filter(ctx, foo(t), p, new(Answer), g); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, j := range p.jobs {
				name := l.Dirs[j.dir].Files[j.file].Name
				if j.known != unknown {
					name += "+"
				}
				if got = append(got, name); (j.known == unknown) != (p.stamp(j) == walk.Stamp{}) {
					t.Errorf("guessed %t, no stamps %t: that of %s is %+v", guessed, none, name, p.stamp(j))
				}
			}
			want := want
			if !none {
				want = "a+"
			}
			if got := strings.Join(got, " "); got != want {
				t.Errorf("guessed %t, no stamps %t: %s, want %s", guessed, none, got, want)
			}
		}
	}
}

// guessing begins a guess for foo in a known folder, and returns the stamps of its
// files.
func guessing(t *testing.T, s *Searcher, dir string) (*prefilter, []walk.Stamp) {
	t.Helper()
	search(t, s, dir, foo(t))
	s.build.Wait()
	g := &prefilter{t: s.Tree(dir, opener(dir)), q: foo(t)}
	_, stamps, err := g.t.list.RefreshStat(t.Context(), nil, nil, nil)
	if err := errors.Join(err, g.begin(t.Context())); err != nil {
		t.Fatal(err)
	}
	return g, stamps
}

// TestGuessLooked checks that a candidate is left although it was looked at.
func TestGuessLooked(t *testing.T) {
	s, dir := believing(t)
	write(t, filepath.Join(dir, "a"), "foo\n")
	write(t, filepath.Join(dir, "b"), "bar\n")
	g, stamps := guessing(t, s, dir)
	l := g.newWorker(t.Context())
	l.Choose(0)
	l.Receive(0, stamps)
	if !slices.Equal(g.look, []bool{false, true}) || !slices.Equal(g.left, []int32{1}) {
		t.Errorf("%v cannot match, %v are left", g.look, g.left)
	}
}

// TestGuessOfAnother checks that the files that a guess excludes do not affect a folder
// that was not seen, nor another listing.
func TestGuessOfAnother(t *testing.T) {
	for name, tc := range map[string]struct {
		anew   bool // records are made before the folder is seen
		change func(file string) error
	}{
		"not seen": {true, func(file string) error { return os.WriteFile(file, []byte("foo\n"), 0o600) }},
		"another listing": {false, func(file string) error {
			return errors.Join(os.Remove(file), os.WriteFile(file+"2", []byte("foo\n"), 0o600))
		}},
	} {
		s, dir := believing(t)
		write(t, filepath.Join(dir, "a"), "bar\n")
		g, stamps := guessing(t, s, dir)
		tree, l := g.t, g.newWorker(t.Context())
		l.Choose(0)
		if tc.anew {
			tree.version++
		}
		l.Receive(0, stamps)
		if !slices.Equal(g.look, []bool{true}) {
			t.Fatalf("%s: %v", name, g.look)
		}
		if err := tc.change(filepath.Join(dir, "a")); err != nil {
			t.Fatal(err)
		}
		var p plan
		var err error
		if p.listing, p.stamps, err = tree.list.RefreshStat(t.Context(), nil, nil, nil); err != nil {
			t.Fatal(err)
		}
		if (p.listing == g.listing) != tc.anew || p.listing.Files != 1 {
			t.Fatalf("%s: the listing is the same: %t, of %d files", name, p.listing == g.listing, p.listing.Files)
		}
		if err := tree.filter(t.Context(), foo(t), &p, new(Answer), g); err != nil || len(p.jobs) != 1 {
			t.Errorf("%s: %d files are searched, %v", name, len(p.jobs), err)
		}
	}
}

// TestGuessAsked checks that a filter caches its results until records are made anew.
func TestGuessAsked(t *testing.T) {
	s, dir := believing(t)
	g := &prefilter{t: s.Tree(dir, opener(dir)), q: foo(t)}
	first, _ := g.asks()
	again, _ := g.asks()
	g.t.version++
	anew, version := g.asks()
	if first != again || anew == first || version != g.t.version {
		t.Errorf("asked again: %t, after others: %t", first == again, anew == first)
	}
	g.t.forget()
	if last, _ := g.asks(); last == anew {
		t.Error("it knows what was forgotten")
	}
}

// TestGuessPage checks that the page of Names holds the files that are newest now.
func TestGuessPage(t *testing.T) {
	s, dir := believing(t)
	for _, name := range []string{"a", "b", "c"} {
		write(t, filepath.Join(dir, name), "foo\n")
	}
	for i, newest := range []string{"c", "a", "b"} {
		path, at := filepath.Join(dir, newest), time.Now().Add(time.Duration(i)*time.Minute)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		for _, state := range []string{"at once", "known"} {
			a := search(t, s, dir, asked{pattern: "foo", limit: 1}.query(t))
			if len(a.Files) != 1 || a.Files[0].Path != newest || a.Total != 3 {
				t.Errorf("%s, %s: %+v", newest, state, a)
			}
			s.build.Wait()
		}
	}
}

// TestGuessOrder checks that a list of all files is in the order of their times when
// they were read, not of the recorded times.
func TestGuessOrder(t *testing.T) {
	s, dir := believing(t)
	for i, newest := range []string{"c", "a", "b", "a"} {
		for _, name := range []string{"a", "b", "c"} {
			if i == 0 || name == newest {
				path, at := filepath.Join(dir, name), time.Now().Add(time.Duration(i)*time.Minute)
				write(t, path, "foo\n")
				if err := os.Chtimes(path, at, at); err != nil {
					t.Fatal(err)
				}
			}
		}
		a := search(t, s, dir, foo(t))
		if i > 0 && (len(a.Files) != 3 || a.Files[0].Path != newest) {
			t.Errorf("%s is not the first of %+v", newest, a.Files)
		}
		s.build.Wait()
	}
}

// TestGuessNotes checks that notes on a reading are dropped if the file has changed.
func TestGuessNotes(t *testing.T) {
	for _, mode := range []Mode{Names, Counts, Lines} {
		s, dir := believing(t)
		path, rest := filepath.Join(dir, "f"), strings.Repeat(strings.Repeat("@", 99)+"\n", 2000)
		write(t, path, rest+"foo\n"+rest)
		search(t, s, dir, foo(t))
		s.build.Wait()
		write(t, path, rest+"foo, in a line that is longer\n"+rest)
		if a := search(t, s, dir, asked{pattern: "foo", mode: mode}.query(t)); a.Matched != 1 || a.Incomplete != "" {
			t.Errorf("mode %v: %d files, incomplete: %q", mode, a.Matched, a.Incomplete)
		}
	}
}

func foo(t *testing.T) *Query { return asked{pattern: "foo"}.query(t) }
