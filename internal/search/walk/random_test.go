package walk

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// garden is a random tree that is changed at random.
type garden struct {
	*rand.Rand
	dir string
}

var plants = []string{"a", "b", "c", "d", ".e", "f-long-name", "f-long-none", "ü", ".git", "\xff", "g h"}

// others replaces names in a list by others of the same length.
var others = strings.NewReplacer("a", "b", "b", "c", "c", "d", "d", "a")

var lists = []string{".gitignore", ".ignore", ".rgignore", ".git/info/exclude"}

func (g garden) name() string { return plants[g.IntN(len(plants))] }

// folder returns a folder that is not reached through links.
func (g garden) folder() string {
	all := []string{g.dir}
	filepath.WalkDir(g.dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			all = append(all, p)
		}
		return nil
	})
	return all[g.IntN(len(all))]
}

func (g garden) entry() string { return filepath.Join(g.folder(), g.name()) }

func (g garden) words() []byte {
	var text string
	for range g.IntN(3) {
		text += g.name()
		if g.IntN(2) == 0 {
			text += "/"
		}
		text += "\n"
	}
	return []byte(text)
}

// change makes one change. It ignores errors.
func (g garden) change() {
	switch p := g.entry(); g.IntN(13) {
	case 0, 1:
		os.WriteFile(p, g.words(), 0o644)
	case 2, 3:
		os.MkdirAll(filepath.Join(p, g.name()), 0o755)
	case 4:
		os.RemoveAll(p)
	case 5: // also replaces another file or folder
		os.Rename(p, g.entry())
	case 6: // a folder becomes a link to another
		aside := g.entry()
		if os.Rename(p, aside) == nil {
			os.Symlink(aside, p)
		}
	case 7: // two exchange places
		q, aside := g.entry(), filepath.Join(g.dir, "aside")
		if os.Rename(p, aside) == nil {
			os.Rename(q, p)
			os.Rename(aside, q)
		}
	case 8, 9:
		p = filepath.Join(g.folder(), lists[g.IntN(len(lists))])
		os.MkdirAll(filepath.Dir(p), 0o755)
		info, err := os.Stat(p)
		if err != nil || g.IntN(2) == 0 {
			os.WriteFile(p, g.words(), 0o644)
			break
		}
		text, _ := os.ReadFile(p) // of the same length, and mtime is restored
		os.WriteFile(p, []byte(others.Replace(string(text))), 0o644)
		os.Chtimes(p, info.ModTime(), info.ModTime())
	case 10:
		os.Remove(filepath.Join(g.folder(), lists[g.IntN(len(lists))]))
	case 11: // mtime is restored
		dir := g.folder()
		if info, err := os.Stat(dir); err == nil {
			os.WriteFile(filepath.Join(dir, g.name()), nil, 0o644)
			os.Chtimes(dir, info.ModTime(), info.ModTime())
		}
	case 12:
		if os.Geteuid() != 0 {
			if info, err := os.Lstat(p); err == nil && info.IsDir() {
				os.Chmod(p, 0o000)
				defer os.Chmod(p, 0o755)
			}
		}
	}
}

func TestRandomTrees(t *testing.T) {
	for seed := range uint64(randomTrees) {
		g := garden{rand.New(rand.NewPCG(seed, 1)), memory(t)}
		for range 60 {
			g.change()
		}
		rules := &names{other: []string{"f-long-none"}}
		tree := New(opener(g.dir), Options{Above: func() Rules { return rules }, Workers: 1 + g.IntN(4)})
		if diff := cmp.Diff(reference(t, g.dir, rules), listed(t, refresh(t, tree))); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

// TestChanges changes trees and compares each Refresh with the plain walk and with the
// listing before. In every second tree it accepts racy stamps, if the file system gives
// each change another stamp. Otherwise no stamp would be old enough in a test.
func TestChanges(t *testing.T) {
	for seed := range uint64(changeTrees) {
		for _, believe := range []bool{false, true} {
			t.Run(fmt.Sprint(seed, believe), func(t *testing.T) {
				t.Parallel()
				g := garden{rand.New(rand.NewPCG(seed, 2)), t.TempDir()} // tmpfs has coarse stamps
				if believe && !fineStamps(t, g.dir) {
					t.Skip("the file system's stamps are coarse")
				}
				rules := &names{other: []string{"f-long-none"}}
				tree := New(opener(g.dir), Options{Above: func() Rules { return rules }, Workers: 1 + g.IntN(4)})
				if believe {
					tree.racy = -time.Hour
				}
				testChanges(t, g, tree, rules)
			})
		}
	}
}

func testChanges(t *testing.T, g garden, tree *Tree, rules Rules) {
	for range 40 {
		g.change()
	}
	before, used := refresh(t, tree), map[uint64]string{}
	inodes := folderInodes(t, g.dir, before)
	for range changes {
		for range 1 + g.IntN(4) {
			g.change()
		}
		l := refresh(t, tree)
		if diff := cmp.Diff(reference(t, g.dir, rules), listed(t, l)); diff != "" {
			t.Fatal(diff)
		}
		if again := refresh(t, tree); again != l {
			t.Fatal("nothing changed, but there is another listing")
		}
		now := folderInodes(t, g.dir, l)
		old := map[string]*Dir{}
		for _, d := range before.Dirs {
			old[d.Path()] = d
		}
		for _, d := range l.Dirs {
			p := d.Path()
			same := stampsReliable && old[p] != nil && os.SameFile(inodes[p], now[p])
			if same && alike(old[p], d) && old[p] != d {
				t.Fatalf("%q is unchanged but another Dir", p)
			}
			for _, f := range d.Files {
				id := fmt.Sprintf("%s/%s %d", p, f.Name, f.ino)
				if was, ok := used[f.ID]; ok && was != id {
					t.Fatalf("ID %d was %s and is %s", f.ID, was, id)
				}
				used[f.ID] = id
				if same {
					if i, ok := slices.BinarySearchFunc(old[p].Files, f.Name, byName); ok && (old[p].Files[i].ino == f.ino) != (old[p].Files[i].ID == f.ID) {
						t.Fatalf("%s: was ID %d, is %d", id, old[p].Files[i].ID, f.ID)
					}
				}
			}
		}
		before, inodes = l, now
	}
}

func byName(f File, name string) int {
	if f.Name < name {
		return -1
	}
	if f.Name > name {
		return 1
	}
	return 0
}

// alike reports whether two folders list the same entries.
func alike(a, b *Dir) bool {
	return slices.EqualFunc(a.Files, b.Files, func(a, b File) bool { return a.Name == b.Name && a.ino == b.ino }) &&
		a.Ignored == b.Ignored
}

func folderInodes(t *testing.T, dir string, l *Listing) map[string]fs.FileInfo {
	t.Helper()
	all := map[string]fs.FileInfo{}
	for _, d := range l.Dirs {
		info, err := os.Lstat(filepath.Join(dir, d.Path()))
		if err != nil {
			t.Fatal(err)
		}
		all[d.Path()] = info
	}
	return all
}

// top returns the folder at a path, open until the test ends.
func top(t *testing.T, path string) folder {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := topFolder(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.closeTop()
		file.Close()
	})
	return f
}

// fineStamps reports whether each change of a folder that was looked at leaves another
// stamp, as with ext4 on Linux from 6.13 on. It returns false on tmpfs, where a folder
// gets the stamp of the removed file.
func fineStamps(t *testing.T, dir string) bool {
	t.Helper()
	top := top(t, dir)
	var last Stamp
	p := filepath.Join(dir, "probe")
	for i := range 100 {
		if i%2 == 0 {
			os.Symlink("x", p)
		} else {
			os.Remove(p)
		}
		s, err := top.stamp()
		if err != nil || s.Ctime == last.Ctime || s.Ctime == 0 {
			return false
		}
		last = s
	}
	return true
}
