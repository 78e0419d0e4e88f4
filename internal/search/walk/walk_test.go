package walk

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/search/ignore"
)

func opener(dir string) Opener {
	return func() (*os.File, error) { return os.Open(dir) }
}

func refresh(t testing.TB, tree *Tree) *Listing {
	t.Helper()
	l, err := tree.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// names is rules whose patterns are bare names. They apply in the folder and all its
// descendants; those of git's files end at a repository.
type names struct {
	git, other []string
	asked      *atomic.Int64 // number of calls of Ignored
	hook       func()        // called by Ignored
}

func (r *names) Enter(_ string, f Found) Rules {
	below := *r
	if f.Repo {
		below.git = nil
	}
	below.git = slices.Concat(below.git, strings.Fields(string(f.Gitignore)), strings.Fields(string(f.Exclude)))
	below.other = slices.Concat(below.other, strings.Fields(string(f.Ignore)), strings.Fields(string(f.Rgignore)))
	return &below
}

func (r *names) Ignored(name string, dir bool) bool {
	if r.asked != nil {
		r.asked.Add(1)
	}
	if r.hook != nil {
		r.hook()
	}
	if dir {
		name += "/"
	}
	return slices.Contains(r.git, name) || slices.Contains(r.other, name)
}

// reference lists a tree in the plain way: folders end with a slash.
func reference(t testing.TB, dir string, rules Rules) []string {
	t.Helper()
	entered := map[string]Rules{}
	var all []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(dir, p)
		rel = filepath.ToSlash(rel)
		up, name, top := rules, "", rel == "."
		if !top {
			up, name = entered[filepath.Dir(p)], d.Name()
			if slices.Contains([]string{".git", ".jj", ".hg", ".svn"}, name) || up != nil && up.Ignored(name, d.IsDir()) {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
		}
		switch {
		case d.Type().IsRegular():
			all = append(all, rel)
		case d.IsDir():
			if !top {
				all = append(all, rel+"/")
			}
			if up != nil {
				entered[p] = up.Enter(name, foundIn(p))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

func foundIn(dir string) Found {
	read := func(name string) []byte {
		p := filepath.Join(dir, name)
		if info, err := os.Lstat(p); err != nil || !info.Mode().IsRegular() {
			return nil
		}
		data, _ := os.ReadFile(p)
		return data
	}
	f := Found{Rgignore: read(".rgignore"), Ignore: read(".ignore"), Gitignore: read(".gitignore")}
	if info, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
		f.Repo = true
		if info.IsDir() {
			f.Exclude, f.Fold = read(".git/info/exclude"), ignore.FoldsCase(read(".git/config"))
		}
	}
	return f
}

// listed returns a listing in the form of reference, and checks its order and its
// counts.
func listed(t testing.TB, l *Listing) []string {
	t.Helper()
	var all []string
	files, ids := 0, map[uint64]bool{}
	var before []string
	for i, d := range l.Dirs {
		p := d.Path()
		parts := strings.Split(p, "/")
		if i > 0 {
			if slices.Compare(before, parts) >= 0 {
				t.Fatalf("%q comes after %q", p, before)
			}
			all = append(all, p+"/")
			p += "/"
			before = parts
		}
		if l.First[i] != files {
			t.Fatalf("First[%d] = %d, want %d", i, l.First[i], files)
		}
		files += len(d.Files)
		for j, f := range d.Files {
			if j > 0 && d.Files[j-1].Name >= f.Name {
				t.Fatalf("%q comes after %q", f.Name, d.Files[j-1].Name)
			}
			if ids[f.ID] || f.ID == 0 {
				t.Fatalf("%s%s has no ID of its own: %d", p, f.Name, f.ID)
			}
			ids[f.ID] = true
			all = append(all, p+f.Name)
		}
	}
	if files != l.Files {
		t.Fatalf("Files = %d, want %d", l.Files, files)
	}
	slices.Sort(all)
	return all
}

// memory returns a folder on a file system in memory, if there is one and the tests
// should be fast.
func memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "walk")
	if err == nil && !inMemory {
		os.Remove(dir)
	}
	if err != nil || !inMemory {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// build makes a tree: a name that ends with a slash is a folder, "a -> b" a link, "a:
// text" a file with text, any other name an empty file.
func build(t testing.TB, dir string, entries ...string) {
	t.Helper()
	for _, e := range entries {
		name, text, _ := strings.Cut(e, ": ")
		link, to, isLink := strings.Cut(e, " -> ")
		var err error
		switch {
		case isLink:
			err = os.Symlink(to, filepath.Join(dir, link))
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(filepath.Join(dir, e), 0o755)
		default:
			p := filepath.Join(dir, name)
			if err = os.MkdirAll(filepath.Dir(p), 0o755); err == nil {
				err = os.WriteFile(p, []byte(text), 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestTrees(t *testing.T) {
	for _, test := range []struct {
		name    string
		tree    []string
		want    []string
		ignored int // of the top
	}{
		{"empty", nil, nil, 0},
		{"hidden", []string{".a", ".b/c", "d/.e/f"}, []string{".a", ".b/", ".b/c", "d/", "d/.e/", "d/.e/f"}, 0},
		{"version control", []string{".git/config", ".hg/x", ".svn/x", ".jj/x", "sub/.git", "git/x"}, []string{"git/", "git/x", "sub/"}, 0},
		{"links", []string{"a/f", "to -> a", "file -> a/f", "nowhere -> x", "loop -> ."}, []string{"a/", "a/f"}, 0},
		{"ignored", []string{".gitignore: f d/", "f", "d/x", "a/f", "a/d", "g"}, []string{".gitignore", "a/", "a/d", "g"}, 2},
		{"kinds of lists", []string{".rgignore: a", ".ignore: b", ".gitignore: c", ".git/info/exclude: d", "a", "b", "c", "d", "e"},
			[]string{".gitignore", ".ignore", ".rgignore", "e"}, 4},
		{"repository below", []string{".gitignore: f", ".ignore: g", "r/.git: gitdir", "r/f", "r/g", "r/h"},
			[]string{".gitignore", ".ignore", "r/", "r/f", "r/h"}, 0},
		{"a list that is a link", []string{"sub/list: f", ".gitignore -> sub/list", "f"}, []string{"f", "sub/", "sub/list"}, 0},
		{"a list that is a folder", []string{".gitignore/f"}, []string{".gitignore/", ".gitignore/f"}, 0},
		{"order", []string{"a.b", "a/b", "a-", "a0/c", "B", "long-name-2", "long-name-10"},
			[]string{"B", "a-", "a.b", "a/", "a/b", "a0/", "a0/c", "long-name-10", "long-name-2"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := memory(t)
			build(t, dir, test.tree...)
			l := refresh(t, New(opener(dir), Options{Above: func() Rules { return &names{} }}))
			if diff := cmp.Diff(test.want, listed(t, l)); diff != "" {
				t.Error(diff)
			}
			if got := l.Root().Ignored; got != test.ignored {
				t.Errorf("%d left out, want %d", got, test.ignored)
			}
			if diff := cmp.Diff(reference(t, dir, &names{}), listed(t, l)); diff != "" {
				t.Error("the reference is another:", diff)
			}
		})
	}
}

func TestHugeIgnoreFile(t *testing.T) {
	dir := memory(t)
	line := strings.Repeat("x", 1000) + "\n"
	text := "f\n" + strings.Repeat(line, maxIgnoreFile/len(line)) + "half" + line + "late\n"
	build(t, dir, ".gitignore: "+text, "f", "half", "late")
	l := refresh(t, New(opener(dir), Options{Above: func() Rules { return &names{} }}))
	if diff := cmp.Diff([]string{".gitignore", "half", "late"}, listed(t, l)); diff != "" {
		t.Error(diff)
	}
}

func TestTopGone(t *testing.T) {
	dir := memory(t)
	build(t, dir, "a/f")
	tree := New(opener(filepath.Join(dir, "a")), Options{})
	refresh(t, tree)
	os.RemoveAll(filepath.Join(dir, "a"))
	if _, err := tree.Refresh(t.Context()); !os.IsNotExist(err) {
		t.Error(err)
	}
	build(t, dir, "a/g")
	if diff := cmp.Diff([]string{"g"}, listed(t, refresh(t, tree))); diff != "" {
		t.Error(diff)
	}
}

func TestAboveChanges(t *testing.T) {
	dir := memory(t)
	build(t, dir, "a/f", "b/c/f", "g")
	var above Rules = &names{}
	tree := New(opener(dir), Options{Above: func() Rules { return above }})
	for _, rules := range []Rules{above, &names{git: []string{"f"}}, nil, &names{git: []string{"b/"}}} {
		above = rules
		if diff := cmp.Diff(reference(t, dir, rules), listed(t, refresh(t, tree))); diff != "" {
			t.Error(diff)
		}
	}
}

func TestStat(t *testing.T) {
	dir := memory(t)
	build(t, dir, "a: 1", "b/c: 22", "b/gone: 1", "b/link: 1", "d/e: 333", "d/z: 4444")
	l := refresh(t, New(opener(dir), Options{}))
	os.Remove(filepath.Join(dir, "b/gone"))
	os.Remove(filepath.Join(dir, "b/link"))
	os.Symlink("c", filepath.Join(dir, "b/link"))
	stamps, err := l.Stat(t.Context(), make([]Stamp, 2, 50))
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int64
	for _, s := range stamps {
		sizes = append(sizes, s.Size)
		if (s.Mtime == 0) != (s.Size == 0) {
			t.Errorf("%+v", s)
		}
	}
	if diff := cmp.Diff([]int64{1, 2, 0, 0, 3, 4}, sizes); diff != "" {
		t.Error(diff)
	}
}

func TestOpen(t *testing.T) {
	dir := memory(t)
	build(t, dir, "b/c: text", "b/link -> c", "b/d/")
	l := refresh(t, New(opener(dir), Options{}))
	top, err := l.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	f, err := top.Folder(l.Dirs[1], new(Pace))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, s, err := f.Open("c")
	if err != nil || s.Size != 4 {
		t.Fatal(s, err)
	}
	if again, err := f.Stat("c"); again != s || err != nil {
		t.Error(again, err)
	}
	defer h.Close()
	buf := make([]byte, 10)
	if n, err := h.ReadAt(buf, 1); err != nil || string(buf[:n]) != "ext" {
		t.Errorf("%q, %v", buf[:n], err)
	}
	for _, name := range []string{"link", "d", "none"} {
		_, failed := f.Stat(name)
		if _, _, err := f.Open(name); err == nil || failed == nil || !HasVanished(failed) {
			t.Errorf("%s opened", name)
		}
	}
}
