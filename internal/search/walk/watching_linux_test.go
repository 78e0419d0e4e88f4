package walk

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"mcp-toolset/internal/exec/mounttest"
	"mcp-toolset/internal/search/watch"
)

// vouchDirs returns the file systems to test on: one in memory has other inodes.
func vouchDirs(t *testing.T) map[string]func() string {
	t.Helper()
	return map[string]func() string{
		"disk": func() string { return reporting(t, t.TempDir()) },
		"memory": func() string {
			dir, err := os.MkdirTemp("/dev/shm", "walk")
			if err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			return reporting(t, dir)
		},
	}
}

// reporting skips the test where a watcher is of no use.
func reporting(t testing.TB, dir string) string {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !watch.Reports(int(f.Fd())) {
		t.Skip("the file system does not tell of changes")
	}
	return dir
}

// watchedTree returns a tree that is vouched for and accepts young stamps: all are
// young in a test.
func watchedTree(t testing.TB, dir string, rules Rules) *Tree {
	t.Helper()
	o := Options{Watch: true, Workers: 2}
	if rules != nil {
		o.Above = func() Rules { return rules }
	}
	tree := New(opener(dir), o)
	tree.watching.young, tree.watching.mapping = -time.Hour, -time.Hour
	t.Cleanup(tree.Close)
	start(t, tree)
	if !tree.Covered() || !tree.watching.memory.on {
		t.Fatal("not vouched for")
	}
	return tree
}

func start(t testing.TB, tree *Tree) {
	t.Helper()
	if err := tree.StartWatching(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// stamped returns the stamps by path.
func stamped(l *Listing, stamps []Stamp) map[string]Stamp {
	all := map[string]Stamp{}
	for i, d := range l.Dirs {
		for j, f := range d.Files {
			all[d.Path()+"/"+f.Name] = stamps[l.First[i]+j]
		}
	}
	return all
}

// compare checks that the tree returns the same as a fresh walk. It reports whether the
// stamps came from the cache.
func compare(t *testing.T, tree *Tree, dir string, rules Rules) bool {
	t.Helper()
	l := refresh(t, tree)
	got, err := tree.Stamps(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(reference(t, dir, rules), listed(t, l)); diff != "" {
		t.Fatal(diff)
	}
	want, err := l.Stat(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stamped(l, want), stamped(l, got)); diff != "" {
		t.Fatal(diff)
	}
	return tree.Covered() && tree.watching.memory.listing == l
}

// store changes a file, or its names, in ways that leave few traces.
func (g garden) store(outside string) {
	p, q := g.entry(), g.entry()
	info, err := os.Lstat(p)
	if err != nil || !info.Mode().IsRegular() {
		if _, err := os.Lstat(p); os.IsNotExist(err) {
			os.WriteFile(p, []byte("new"), 0o644)
		}
		return
	}
	link := filepath.Join(outside, g.name())
	switch g.IntN(10) {
	case 0: // in place, mtime restored
		if f, err := os.OpenFile(p, os.O_RDWR, 0); err == nil {
			f.WriteAt([]byte{byte(g.IntN(256))}, 0)
			f.Close()
			os.Chtimes(p, info.ModTime(), info.ModTime())
		}
	case 1:
		if f, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0); err == nil {
			f.WriteString("more")
			f.Close()
		}
	case 2: // replaced
		os.WriteFile(link, []byte("other"), 0o644)
		os.Rename(link, p)
	case 3:
		os.Chmod(p, 0o600|os.FileMode(g.IntN(64)))
	case 4: // a link outside, and changes through it
		os.Remove(link)
		os.Link(p, link)
	case 5:
		os.WriteFile(link, g.words(), 0o644)
	case 6:
		os.Remove(link)
	case 7: // a link inside
		os.Link(p, q)
	case 8: // moved out and another in
		os.Rename(p, filepath.Join(outside, "moved"))
		os.Rename(link, p)
	case 9: // the inode may be reused
		os.Remove(p)
		os.WriteFile(p, []byte("again"), 0o644)
	}
}

// moveFolders moves a folder out of the tree and perhaps another in.
func (g garden) moveFolders(outside string) {
	p, aside := g.folder(), filepath.Join(outside, "folder")
	switch g.IntN(4) {
	case 0:
		if p != g.dir && os.Rename(p, aside+g.name()) == nil {
			os.Rename(aside+g.name(), p)
		}
	case 1:
		os.Rename(aside+g.name(), g.entry())
	case 2:
		if p != g.dir {
			os.Rename(p, aside+g.name())
		}
	case 3: // changed outside
		os.WriteFile(filepath.Join(aside+g.name(), g.name()), nil, 0o644)
	}
}

func TestVouchedChanges(t *testing.T) {
	for name, make := range vouchDirs(t) {
		for seed := range uint64(vouchTrees) {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				t.Parallel()
				top := make()
				outside := filepath.Join(top, "outside")
				g := garden{rand.New(rand.NewPCG(seed, 3)), filepath.Join(top, "tree")}
				os.Mkdir(outside, 0o755)
				os.Mkdir(g.dir, 0o755)
				for range 40 {
					g.change()
				}
				rules := &names{other: []string{"f-long-none"}}
				tree := watchedTree(t, g.dir, rules)
				vouched, files := 0, 0
				for range vouchRounds {
					l := refresh(t, tree)
					files += l.Files
					for i := 0; l.Files < 15 && i < 20; i++ { // do not let the tree become empty
						os.MkdirAll(g.entry(), 0o755)
						os.WriteFile(g.entry(), g.words(), 0o644)
					}
					for range 1 + g.IntN(6) {
						switch g.IntN(4) {
						case 0:
							g.change()
						case 1:
							g.moveFolders(outside)
						default:
							g.store(outside)
						}
					}
					if g.IntN(3) == 0 {
						refresh(t, tree)
					}
					if compare(t, tree, g.dir, rules) {
						vouched++
					}
					l = refresh(t, tree)
					s, _ := tree.Stamps(t.Context(), l)
					if l2 := refresh(t, tree); l2 != l {
						t.Fatal("nothing changed, but there is another listing")
					}
					// A mount made meanwhile makes the watcher lose track.
					if s2, _ := tree.Stamps(t.Context(), l); len(s) > 0 && &s[0] != &s2[0] && tree.Covered() {
						t.Fatal("nothing changed, but there are other stamps")
					}
					if g.IntN(5) == 0 {
						start(t, tree)
					}
				}
				t.Logf("%d files, %d of %d rounds vouched for", files/vouchRounds, vouched, vouchRounds)
				if vouched < vouchRounds/2 {
					t.Errorf("only %d rounds were vouched for", vouched)
				}
				if err := tree.Audit(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// tick returns when a file that is written gets another stamp than one written at the
// time of the call.
func tick(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tick")
	var first unix.Stat_t
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		var now unix.Stat_t
		if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600), unix.Stat(path, &now)); err != nil {
			t.Fatal(err)
		}
		if first.Ino == 0 {
			first = now
		}
		// Some file systems have finer stamps than others; the coarsest have 10 ms.
		if now.Ctim.Nano()-first.Ctim.Nano() >= int64(10*time.Millisecond) {
			return
		}
	}
	t.Fatal("the clock of the file system stands still")
}

// TestVouchedLooksAtNothing changes a file in a way that is not reported, to check that
// stamps come from the cache, and that an Audit finds the change.
func TestVouchedLooksAtNothing(t *testing.T) {
	dir := reporting(t, t.TempDir())
	build(t, dir, "a/f: 1", "b/g: 2")
	f, err := os.OpenFile(filepath.Join(dir, "a/f"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tree := watchedTree(t, dir, nil)
	page, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	l := refresh(t, tree)
	before, _ := tree.Stamps(t.Context(), l)
	tick(t)
	page[0] = 'x'
	if now, _ := tree.Stamps(t.Context(), l); &now[0] != &before[0] {
		t.Error("other stamps, though nobody told")
	}
	if err := tree.Audit(t.Context()); !errors.Is(err, ErrMissed) {
		t.Error(err)
	}
	if now, _ := tree.Stamps(t.Context(), l); now[0] == before[0] {
		t.Error("still from memory")
	}
	unix.Munmap(page)

	// The end of the mapping is reported.
	tree = watchedTree(t, dir, nil)
	page, err = unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	page[0] = 'y'
	unix.Munmap(page)
	compare(t, tree, dir, nil)

	// While the stamps are young the change is seen without an event.
	f, _ = os.OpenFile(filepath.Join(dir, "b/g"), os.O_RDWR, 0)
	page, err = unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(page)
	defer f.Close()
	for _, d := range []struct{ young, mapping time.Duration }{{time.Hour, -time.Hour}, {-time.Hour, time.Hour}} {
		tree = watchedTree(t, dir, nil)
		tree.watching.young, tree.watching.mapping = d.young, d.mapping
		os.Chmod(filepath.Join(dir, "b/g"), 0o600) // so that it is looked at, and found young
		compare(t, tree, dir, nil)
		unix.Msync(page, unix.MS_SYNC) // the next store is stamped
		tick(t)
		page[0]++
		compare(t, tree, dir, nil)
	}
}

// TestVouchedLinks writes through a link that was made outside after everything was
// watched.
func TestVouchedLinks(t *testing.T) {
	dir, outside := reporting(t, t.TempDir()), t.TempDir()
	build(t, dir, "a/f: 1", "b/")
	tree := watchedTree(t, dir, nil)
	f, link, inside := filepath.Join(dir, "a/f"), filepath.Join(outside, "f"), filepath.Join(dir, "b/f")
	step := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if !compare(t, tree, dir, nil) {
			t.Fatal("not vouched for")
		}
	}
	step(os.Link(f, link))
	step(os.WriteFile(link, []byte("through"), 0o644))
	step(os.Remove(link))
	step(os.WriteFile(f, []byte("after"), 0o644))
	step(os.Link(f, inside))
	step(os.WriteFile(inside, []byte("through inside"), 0o644))
	step(os.Remove(inside))
	step(os.WriteFile(f, []byte("after that"), 0o644))
	step(os.Rename(f, inside))
	step(os.WriteFile(inside, []byte("moved"), 0o644))
	step(os.Rename(inside, f))
	step(os.WriteFile(f, []byte("and back"), 0o644))
}

// TestVouchedMoved changes folders that were moved during a Refresh: they lose their
// watches to others.
func TestVouchedMoved(t *testing.T) {
	dir := reporting(t, t.TempDir())
	build(t, dir, "p/x/f: 1", "q/g")
	move := false
	rules := &names{hook: func() {
		if move {
			move = false
			os.Rename(filepath.Join(dir, "p/x"), filepath.Join(dir, "q/r/x"))
		}
	}}
	tree := watchedTree(t, dir, rules)
	build(t, dir, "q/a/b", "q/r/s/t")
	move = true
	refresh(t, tree)
	if move {
		t.Fatal("nothing was read")
	}
	compare(t, tree, dir, rules)
	build(t, dir, "q/r/x/new", "q/r/x/f: changed")
	compare(t, tree, dir, rules)
	os.Rename(filepath.Join(dir, "q/r/x"), filepath.Join(dir, "p/x"))
	build(t, dir, "p/x/f: again")
	compare(t, tree, dir, rules)

	// Away and back: only the ctime differs afterwards.
	for range 2 {
		if err := errors.Join(os.Rename(filepath.Join(dir, "q"), filepath.Join(dir, "z")), os.Rename(filepath.Join(dir, "z"), filepath.Join(dir, "q"))); err != nil {
			t.Fatal(err)
		}
	}
	compare(t, tree, dir, rules)
	if err := tree.Audit(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestVouchedRights(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	dir := reporting(t, t.TempDir())
	build(t, dir, "a/b/f")
	tree := watchedTree(t, dir, nil)
	os.Chmod(filepath.Join(dir, "a"), 0o600)
	defer os.Chmod(filepath.Join(dir, "a"), 0o755)
	if l := refresh(t, tree); l.Files != 0 {
		t.Error(l.Files, "files")
	}
	os.Chmod(filepath.Join(dir, "a"), 0o755)
	compare(t, tree, dir, nil)
}

// TestVouchedIgnoreFiles changes lists through other paths than their folder's.
func TestVouchedIgnoreFiles(t *testing.T) {
	dir, outside := reporting(t, t.TempDir()), t.TempDir()
	build(t, dir, ".git/info/exclude: x", "a/.gitignore: y", "a/x", "a/y", "a/z")
	if err := os.Link(filepath.Join(dir, "a/.gitignore"), filepath.Join(outside, "list")); err != nil {
		t.Fatal(err)
	}
	rules := &names{}
	tree := watchedTree(t, dir, rules)
	tree.racy = -time.Hour
	compare(t, tree, dir, rules)
	build(t, dir, ".git/info/exclude: z")
	compare(t, tree, dir, rules)
	build(t, outside, "list: x")
	compare(t, tree, dir, rules)
}

// TestVouchedOverflow makes more changes than the kernel queues.
func TestVouchedOverflow(t *testing.T) {
	dir := memory(t)
	reporting(t, dir)
	build(t, dir, "a/f", "b/g")
	tree := watchedTree(t, dir, nil)
	a, c := filepath.Join(dir, "a"), filepath.Join(dir, "c")
	for range 20_000 {
		os.Rename(a, c)
		os.Rename(c, a)
	}
	build(t, dir, "b/late", "b/g: changed")
	if compare(t, tree, dir, nil) {
		t.Error("still vouched for")
	}
	start(t, tree)
	build(t, dir, "b/later", "b/g: changed again")
	if !compare(t, tree, dir, nil) {
		t.Error("not vouched for again")
	}
}

// TestVouchedTogether changes the tree while it is refreshed.
func TestVouchedTogether(t *testing.T) {
	for name, make := range vouchDirs(t) {
		t.Run(name, func(t *testing.T) {
			top := make()
			outside, dir := filepath.Join(top, "outside"), filepath.Join(top, "tree")
			os.Mkdir(outside, 0o755)
			build(t, dir, "a/b/c/f", "d/e")
			rules := &names{}
			tree := watchedTree(t, dir, rules)
			for round := range uint64(vouchStress) {
				var group sync.WaitGroup
				ctx, cancel := context.WithCancel(t.Context())
				for w := range uint64(2) {
					group.Go(func() {
						g := garden{rand.New(rand.NewPCG(round, w)), dir}
						for range vouchWrites {
							g.store(outside)
							g.change()
							g.moveFolders(outside)
							if g.IntN(20) == 0 { // deep and fast
								os.MkdirAll(filepath.Join(g.folder(), "a/b/c/d/a/b/c/d"), 0o755)
								os.WriteFile(filepath.Join(g.folder(), "a/f"), nil, 0o644)
							}
						}
					})
				}
				var readers sync.WaitGroup
				for range 2 {
					readers.Go(func() {
						for ctx.Err() == nil {
							if l, err := tree.Refresh(ctx); err == nil {
								tree.Stamps(ctx, l)
							} else if ctx.Err() == nil {
								t.Error(err)
							}
						}
					})
				}
				readers.Go(func() {
					for ctx.Err() == nil {
						if err := tree.StartWatching(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, watch.ErrLost) {
							t.Error(err)
						}
						if err := tree.Audit(ctx); err != nil && ctx.Err() == nil {
							t.Error(err)
							return
						}
					}
				})
				group.Wait()
				cancel()
				readers.Wait()
				compare(t, tree, dir, rules)
				start(t, tree)
				compare(t, tree, dir, rules)
			}
		})
	}
}

func TestVouchedGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	dir := memory(t)
	reporting(t, dir)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e", "-c", "init.defaultBranch=one"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for i := range 60 {
		build(t, dir, fmt.Sprintf("d%d/e/f%d: %d", i%7, i, i))
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "one")
	git("checkout", "-qb", "two")
	for i := range 40 {
		build(t, dir, fmt.Sprintf("d%d/e/f%d: other", i%7, i), fmt.Sprintf("n%d/e/f%d: %d", i%7, i, i))
	}
	build(t, dir, ".gitignore: f3")
	git("rm", "-rqf", "d6")
	git("add", ".")
	git("commit", "-qm", "two")
	rules := &names{}
	tree := watchedTree(t, dir, rules)
	for i := range 6 {
		git("checkout", "-q", []string{"one", "two"}[i%2])
		if !compare(t, tree, dir, rules) {
			t.Error("not vouched for")
		}
	}
}

// watches returns the number of watches of the process, and of inotify descriptors.
func watches(t *testing.T) (watches, descriptors int) {
	t.Helper()
	all, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if to, err := os.Readlink(strings.Replace(p, "fdinfo", "fd", 1)); err == nil && to == "anon_inode:inotify" {
			descriptors++
			data, _ := os.ReadFile(p)
			watches += strings.Count(string(data), "inotify wd:")
		}
	}
	return watches, descriptors
}

func TestVouchedLeaks(t *testing.T) {
	dir, outside := reporting(t, t.TempDir()), t.TempDir()
	build(t, dir, "a/f", "b/g")
	warm := watchedTree(t, dir, nil) // opens the descriptors that stay open
	warm.Close()
	before := descriptors(t)
	tree := watchedTree(t, dir, nil)
	if w, d := watches(t); w != 5 || d != 1 {
		t.Errorf("%d watches of %d descriptors", w, d)
	}
	for i := range spareWatches * 5 / 4 { // moved files stay watched for a while
		name := fmt.Sprint(i)
		build(t, dir, "a/"+name)
		refreshAll(t, tree)
		os.Rename(filepath.Join(dir, "a", name), filepath.Join(outside, name))
		refreshAll(t, tree)
		if i%100 == 0 {
			start(t, tree)
		}
	}
	if w, _ := watches(t); w > spareWatches+200 {
		t.Errorf("%d watches", w)
	}
	compare(t, tree, dir, nil)
	os.RemoveAll(filepath.Join(dir, "b"))
	compare(t, tree, dir, nil)
	tree.Close()
	if w, d := watches(t); w != 0 || d != 0 {
		t.Errorf("%d watches of %d descriptors", w, d)
	}
	if n := descriptors(t); n != before {
		t.Errorf("%d descriptors, %d before", n, before)
	}
	if err := tree.StartWatching(t.Context()); !errors.Is(err, watch.ErrClosed) {
		t.Error(err)
	}
	compare(t, tree, dir, nil)
}

func refreshAll(t *testing.T, tree *Tree) {
	t.Helper()
	if _, err := tree.Stamps(t.Context(), refresh(t, tree)); err != nil {
		t.Fatal(err)
	}
}

// TestVouchedLimit has too few watches, for files and then for folders.
func TestVouchedLimit(t *testing.T) {
	dir := reporting(t, t.TempDir())
	build(t, dir, "a/f", "a/g", "b/h")
	tree := New(opener(dir), Options{Watch: true})
	defer tree.Close()
	tree.watching.limit = 5 // of six
	start(t, tree)
	if !tree.Covered() || tree.watching.memory.on {
		t.Error("the folders fit, the files do not")
	}
	compare(t, tree, dir, nil)
	build(t, dir, "c/d/e/f")
	compare(t, tree, dir, nil)
	if tree.Covered() {
		t.Error("vouched for more folders than are watched")
	}
	if err := tree.StartWatching(t.Context()); !errors.Is(err, watch.ErrFull) {
		t.Error(err)
	}
	compare(t, tree, dir, nil)

	os.RemoveAll(filepath.Join(dir, "c"))
	tree.watching.limit = 7
	start(t, tree)
	build(t, dir, "b/i", "b/j", "b/k")
	compare(t, tree, dir, nil)
	if !tree.Covered() || tree.watching.memory.on {
		t.Error("the files are still remembered")
	}
	compare(t, tree, dir, nil)
}

// TestNotReported checks a file system that does not report changes.
func TestNotReported(t *testing.T) {
	tree := New(opener("/proc/self/net"), Options{Watch: true})
	defer tree.Close()
	if err := tree.StartWatching(t.Context()); !errors.Is(err, ErrNotReported) {
		t.Error(err)
	}
	if tree.Covered() {
		t.Error("vouched for")
	}
	if err := New(opener(t.TempDir()), Options{}).StartWatching(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

// TestVouchedMounts mounts over a folder and on a folder below, and unmounts again.
func TestVouchedMounts(t *testing.T) {
	if !mounttest.Own(t) {
		return
	}
	dir, other := reporting(t, t.TempDir()), t.TempDir()
	build(t, dir, "a/f", "b/g")
	build(t, other, "f: other", "h")
	tree := watchedTree(t, dir, nil)
	a := filepath.Join(dir, "a")
	if err := unix.Mount(other, a, "", unix.MS_BIND, ""); err != nil {
		t.Skip("cannot mount:", err)
	}
	defer unix.Unmount(a, unix.MNT_DETACH)
	compare(t, tree, dir, nil)
	start(t, tree)
	build(t, other, "i", "f: changed")
	compare(t, tree, dir, nil)
	if err := unix.Unmount(a, 0); err != nil {
		t.Fatal(err)
	}
	compare(t, tree, dir, nil)
	start(t, tree)

	if err := unix.Mount(filepath.Join(dir, "b"), a, "", unix.MS_BIND, ""); err != nil { // one folder, two paths
		t.Fatal(err)
	}
	refresh(t, tree) // loses track
	start(t, tree)
	for i := range 4 {
		build(t, dir, fmt.Sprint("b/g: ", strings.Repeat("x", i)), fmt.Sprint("b/", i))
		compare(t, tree, dir, nil)
		start(t, tree)
	}
	if err := unix.Unmount(a, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", a, "proc", 0, ""); err == nil {
		if err := tree.StartWatching(t.Context()); !errors.Is(err, watch.ErrLost) && !errors.Is(err, ErrNotReported) {
			t.Error(err)
		}
		if err := tree.StartWatching(t.Context()); !errors.Is(err, ErrNotReported) {
			t.Error(err)
		}
		unix.Unmount(a, 0)
	}
}

// TestVouchedFileMount mounts a file on another: one inode, two names, one link.
func TestVouchedFileMount(t *testing.T) {
	if !mounttest.Own(t) {
		return
	}
	dir := reporting(t, t.TempDir())
	build(t, dir, "a/f: 1", "b/g: 2", "c")
	f, g := filepath.Join(dir, "a/f"), filepath.Join(dir, "b/g")
	if err := unix.Mount(f, g, "", unix.MS_BIND, ""); err != nil {
		t.Skip("cannot mount:", err)
	}
	defer unix.Unmount(g, unix.MNT_DETACH)
	tree := watchedTree(t, dir, nil)
	for i := range 6 {
		build(t, dir, fmt.Sprint([]string{"a/f: ", "b/g: "}[i%2], strings.Repeat("x", i)))
		compare(t, tree, dir, nil)
		if i%3 == 0 {
			start(t, tree)
		}
	}
}

// TestVouchedInodes stores into files that took the names of others, perhaps with their
// inodes.
func TestVouchedInodes(t *testing.T) {
	dir, outside := reporting(t, t.TempDir()), t.TempDir()
	build(t, dir, "a/f: 1", "b/g: 2", "c/")
	build(t, outside, "linked: 1")
	if err := os.Link(filepath.Join(outside, "linked"), filepath.Join(dir, "b/linked")); err != nil {
		t.Fatal(err)
	}
	tree := watchedTree(t, dir, nil)
	f, reused := filepath.Join(dir, "a/f"), 0
	for i := range 30 {
		before, _ := os.Lstat(f)
		if i%3 == 0 {
			build(t, outside, "new: other")
			os.Rename(filepath.Join(outside, "new"), f)
		} else {
			os.Remove(f)
			build(t, dir, "a/f: new")
		}
		if after, _ := os.Lstat(f); os.SameFile(before, after) {
			reused++
		}
		if i%2 == 0 { // another listing
			build(t, dir, fmt.Sprint("c/", i))
		}
		compare(t, tree, dir, nil)
		build(t, dir, fmt.Sprint("a/f: ", strings.Repeat("x", i)))
		build(t, outside, fmt.Sprint("linked: ", strings.Repeat("x", i)))
		if !compare(t, tree, dir, nil) {
			t.Fatal("not vouched for")
		}
	}
	t.Log(reused, "inodes were used again")
}

// TestVouchedMany stores into more files of a folder than are recorded separately.
func TestVouchedMany(t *testing.T) {
	dir := reporting(t, t.TempDir())
	for i := range 3 * maxTouched {
		build(t, dir, fmt.Sprint("a/", i))
	}
	tree := watchedTree(t, dir, nil)
	for i := range 3 * maxTouched {
		build(t, dir, fmt.Sprint("a/", i, ": text"))
	}
	if !compare(t, tree, dir, nil) {
		t.Error("not vouched for")
	}
}

// TestStartLate starts watching a tree that has changed since it was listed.
func TestStartLate(t *testing.T) {
	dir := reporting(t, t.TempDir())
	if !fineStamps(t, dir) {
		t.Skip("the file system's stamps are coarse")
	}
	build(t, dir, "a/f", "b/c/g")
	tree := New(opener(dir), Options{Watch: true})
	defer tree.Close()
	tree.racy = -time.Hour
	refresh(t, tree)
	build(t, dir, "b/c/late", "b/d/late")
	start(t, tree)
	compare(t, tree, dir, nil)
}

// TestVouchedTop replaces the top by another folder.
func TestVouchedTop(t *testing.T) {
	top := reporting(t, t.TempDir())
	dir, aside := filepath.Join(top, "dir"), filepath.Join(top, "aside")
	build(t, dir, "a/f", "g")
	build(t, aside, "a/f: other", "h")
	tree := watchedTree(t, dir, nil)
	for range 3 {
		l := refresh(t, tree)
		if err := errors.Join(os.Rename(dir, dir+"2"), os.Rename(aside, dir), os.Rename(dir+"2", aside)); err != nil {
			t.Fatal(err)
		}
		same(t, tree, l)
		compare(t, tree, dir, nil)
		build(t, dir, "a/f: changed again", "a/new")
		compare(t, tree, dir, nil)
		start(t, tree)
	}
}

// same compares the stamps of a listing that may be out of date.
func same(t *testing.T, tree *Tree, l *Listing) {
	t.Helper()
	got, err := tree.Stamps(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	want, err := l.Stat(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stamped(l, want), stamped(l, got)); diff != "" {
		t.Fatal(diff)
	}
}

// TestVouchedBetween makes changes between Refresh and Stamps.
func TestVouchedBetween(t *testing.T) {
	dir := reporting(t, t.TempDir())
	build(t, dir, "a/b/f", "g", "x/f: other")
	tree := watchedTree(t, dir, nil)
	l := refresh(t, tree)
	for _, step := range []func() error{
		func() error { return os.Remove(filepath.Join(dir, "g")) },
		func() error { return os.Rename(filepath.Join(dir, "a/b"), filepath.Join(dir, "c")) },
		func() error { return os.Rename(filepath.Join(dir, "x"), filepath.Join(dir, "a/b")) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		same(t, tree, l)
	}
	handed, _ := tree.Stamps(t.Context(), refresh(t, tree))
	was := handed[0]
	build(t, dir, "a/b/f: longer than it was")
	same(t, tree, refresh(t, tree))
	if handed[0] != was {
		t.Error("stamps handed out were changed")
	}
}

// breaking is a context that is cancelled once Err was called a few times.
type breaking struct {
	context.Context
	left int
}

func (b *breaking) Err() error {
	if b.left--; b.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestVouchedBrokenOff checks that a look interrupted anywhere leaves a state from
// which the next one can continue.
func TestVouchedBrokenOff(t *testing.T) {
	dir := memory(t)
	for i := range 8 {
		build(t, dir, fmt.Sprintf("d%d/a", i), fmt.Sprintf("d%d/b", i))
	}
	tree := watchedTree(t, dir, nil)
	for left := range 40 {
		for i := 7; i >= 0; i-- { // in another order than that of the tree
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("d%d/a", i)), []byte(strconv.Itoa(left)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if l, err := tree.Refresh(t.Context()); err == nil {
			_, _ = tree.Stamps(&breaking{t.Context(), left}, l)
		}
		if !compare(t, tree, dir, nil) {
			t.Fatal("not from memory")
		}
	}
}
