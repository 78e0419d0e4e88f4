//go:build linux || darwin

package undo

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/testscale"
	"mcp-toolset/session"
)

// place is a workspace with a store.
type scene struct {
	t     *testing.T
	root  string
	state string
	s     *Store
}

func newScene(t *testing.T) *scene {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &scene{t: t, root: filepath.Join(base, "root"), state: filepath.Join(base, "state")}
	if err := os.Mkdir(c.root, 0o755); err != nil {
		t.Fatal(err)
	}
	c.open()
	t.Cleanup(func() { _ = c.s.Close() })
	return c
}

// open opens the store anew, as another server would.
func (c *scene) open() *Store {
	roots, err := workspace.OpenRoots([]string{c.root})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { roots.Close() })
	c.s = New(Options{State: c.state, Roots: roots, Log: slog.New(slog.DiscardHandler)})
	return c.s
}

var me = session.Owner{Session: "me"}

// call records f and returns the line of the answer.
func (c *scene) call(f func()) string {
	c.t.Helper()
	if err := c.s.lock(c.t.Context()); err == nil { // so that names in unchanged folders are not read again
		if c.s.base != nil {
			aged(c.s.base)
		}
		c.s.unlock()
	}
	r, err := c.s.Begin(c.t.Context(), Call{Owner: me, Tool: "Bash", ID: "1"})
	if err != nil {
		c.t.Fatal(err)
	}
	f()
	return r.End(c.t.Context())
}

func (c *scene) undo(r Request) Outcome {
	c.t.Helper()
	out, err := c.s.Restore(c.t.Context(), r)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// last returns the number of the newest change set.
func (c *scene) last() int {
	list, err := c.s.List(1, func(*Header) bool { return true })
	if err != nil {
		c.t.Fatal(err)
	}
	if len(list) == 0 {
		return 0
	}
	return list[0].Number
}

func (c *scene) path(name string) string { return filepath.Join(c.root, name) }

func (c *scene) write(name, text string) {
	c.t.Helper()
	if err := os.MkdirAll(filepath.Dir(c.path(name)), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(c.path(name), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// oracle is a full copy of a tree: kind, mode, content, links by group.
func oracle(t *testing.T, root string) map[string]string {
	t.Helper()
	out, first := map[string]string{}, map[uint64]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		name := path[len(root)+1:]
		text := info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " -> " + target
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %d %x", len(data), sha256.Sum256(data))
			st := info.Sys().(*syscall.Stat_t)
			if st.Nlink > 1 {
				if first[st.Ino] == "" {
					first[st.Ino] = name
				}
				text += " = " + first[st.Ino]
			}
		}
		out[name] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCommand(t *testing.T) {
	c := newScene(t)
	c.write("a.txt", "one")
	c.write("dir/b.txt", "two")
	before := oracle(t, c.root)
	line := c.call(func() {
		c.write("a.txt", "changed")
		os.RemoveAll(c.path("dir"))
		c.write("new/c.txt", "three")
	})
	if want := "changed: 1 modified, 2 deleted, 2 created (undo 1)"; line != want {
		t.Errorf("%q, want %q", line, want)
	}
	after := oracle(t, c.root)
	out := c.undo(Request{Owner: me, Numbers: []int{1}})
	if len(out.Done) != 5 || len(out.Refused) != 0 || out.Number != 2 {
		t.Errorf("%+v", out)
	}
	if diff := cmp.Diff(before, oracle(t, c.root)); diff != "" {
		t.Error(diff)
	}
	if out := c.undo(Request{Owner: me, Numbers: []int{1}}); out.Unchanged != 5 || out.Number != 0 {
		t.Errorf("again: %+v", out)
	}
	c.undo(Request{Owner: me, Numbers: []int{2}})
	if diff := cmp.Diff(after, oracle(t, c.root)); diff != "" {
		t.Error("undo of the undo:", diff)
	}
	if line := c.call(func() {}); line != "" {
		t.Error(line)
	}
}

// TestConflict checks that a path that the user has changed since is refused and unharmed.
func TestConflict(t *testing.T) {
	c := newScene(t)
	for _, name := range []string{"a", "b", "c", "d", "dir/e"} {
		c.write(name, "old "+name)
	}
	c.call(func() {
		for _, name := range []string{"a", "b", "c"} {
			c.write(name, "new "+name)
		}
		os.Remove(c.path("d"))
		c.write("made/f", "f")
		c.write("g", "g")
	})
	c.write("a", "of the user")
	os.Remove(c.path("b"))
	c.write("d", "of the user")
	c.write("made/of the user", "x")
	c.write("g", "of the user")
	out := c.undo(Request{Owner: me, Numbers: []int{1}})
	got := map[string]string{}
	for _, s := range out.Refused {
		got[s.Path[len(c.root)+1:]] = s.Text
	}
	want := map[string]string{"a": "changed since", "b": "changed since", "d": "changed since", "g": "changed since", "made": "directory not empty"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{"a": "of the user", "c": "old c", "d": "of the user", "made/of the user": "x", "g": "of the user"} {
		if data, err := os.ReadFile(c.path(name)); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	forced := c.undo(Request{Owner: me, Numbers: []int{1}, Force: true})
	if data, err := os.ReadFile(c.path("a")); err != nil || string(data) != "old a" {
		t.Errorf("forced: %q, %v, %+v", data, err, forced)
	}
	c.undo(Request{Owner: me, Numbers: []int{forced.Number}})
	if data, err := os.ReadFile(c.path("a")); err != nil || string(data) != "of the user" {
		t.Errorf("undone: %q, %v", data, err)
	}
}

// TestOpen checks that an undo does not take a file away that a program has open for writing.
func TestOpen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs leases")
	}
	c := newScene(t)
	c.write("log", "old")
	c.call(func() { c.write("log", "new") })
	f, err := os.OpenFile(c.path("log"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := c.undo(Request{Numbers: []int{1}})
	if len(out.Refused) != 1 || out.Refused[0].Text != "a program has it open for writing; end the program first" {
		t.Errorf("%+v", out)
	}
	if out := c.undo(Request{Numbers: []int{1}, Force: true}); len(out.Done) != 1 {
		t.Errorf("forced: %+v", out)
	}
}

// TestBesideWriter undoes while another program writes the same files in all ways. Nothing that it
// wrote last is lost.
func TestBesideWriter(t *testing.T) {
	c := newScene(t)
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprint("f", i))
		c.write(names[i], "old")
	}
	for round := range testscale.N(3, 200) {
		c.call(func() {
			for i, name := range names {
				os.Remove(c.path(name))
				if i%4 > 0 {
					c.write(name, fmt.Sprint("of the call ", round))
				}
			}
		})
		number, last := c.last(), map[string]string{}
		var wait sync.WaitGroup
		stop := make(chan struct{})
		wait.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				name, text := names[rand.IntN(len(names))], fmt.Sprint("of the user ", round, " ", i)
				var err error
				switch i % 3 {
				case 0:
					err = os.WriteFile(c.path(name), []byte(text), 0o644)
				case 1:
					err = errors.Join(os.WriteFile(c.path("new"), []byte(text), 0o644), os.Rename(c.path("new"), c.path(name)))
				case 2:
					var f *os.File
					if f, err = os.OpenFile(c.path(name), os.O_RDWR|os.O_CREATE, 0o644); err == nil {
						runtime.Gosched()
						err = f.Truncate(0)
						_, failed := f.WriteAt([]byte(text), 0)
						err = errors.Join(err, failed, f.Close())
					}
				}
				if err != nil {
					t.Error(err)
				}
				last[name] = text
			}
		})
		c.undo(Request{Numbers: []int{number}})
		close(stop)
		wait.Wait()
		for name, want := range last {
			if data, err := os.ReadFile(c.path(name)); err != nil || string(data) != want {
				left, _ := filepath.Glob(c.path("*.saved"))
				t.Errorf("round %d, %s: %q, %v, want %q; %v", round, name, data, err, want, left)
			}
		}
	}
}

// random changes a tree at random, within root.
type random struct {
	*rand.Rand
	root  string
	other string // a folder outside of the roots
}

func (r *random) paths(want func(fs.FileMode) bool) (out []string) {
	_ = filepath.WalkDir(r.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != r.root && want(d.Type()) {
			out = append(out, path)
		}
		return nil
	})
	return out
}

func (r *random) pick(want func(fs.FileMode) bool) string {
	if list := r.paths(want); len(list) > 0 {
		return list[r.IntN(len(list))]
	}
	return ""
}

func (r *random) file() string { return r.pick(fs.FileMode.IsRegular) }
func (r *random) any() string  { return r.pick(func(fs.FileMode) bool { return true }) }

var someNames = []string{"a", "b", "c.go", "ignored.log", ".git", "node_modules", "ab\xff\xfe", "with space", "new\nline", "x"}

func (r *random) fresh() string {
	dir := r.root
	if d := r.pick(fs.FileMode.IsDir); d != "" && r.IntN(3) > 0 {
		dir = d
	}
	return filepath.Join(dir, someNames[r.IntN(len(someNames))])
}

func (r *random) text() []byte {
	if r.IntN(8) == 0 {
		return make([]byte, r.IntN(5000))
	}
	return fmt.Appendf(nil, "%d\n%s", r.Int(), strings.Repeat("text ", r.IntN(20)))
}

// change makes one random change. Errors do not matter.
func (r *random) change() {
	switch r.IntN(15) {
	case 0, 1, 2:
		_ = os.WriteFile(r.fresh(), r.text(), 0o644)
	case 3:
		_ = os.Mkdir(r.fresh(), 0o755)
	case 4:
		if f := r.file(); f != "" {
			_ = os.Truncate(f, int64(r.IntN(9)))
		}
	case 5:
		if f, err := os.OpenFile(r.file(), os.O_WRONLY|os.O_APPEND, 0); err == nil {
			_, _ = f.Write(r.text())
			f.Close()
		}
	case 6:
		if f := r.file(); f != "" {
			_ = os.Chmod(f, fs.FileMode(r.IntN(0o1000))|0o600|[]fs.FileMode{0, 0, 0, fs.ModeSetgid}[r.IntN(4)])
		} else if d := r.pick(fs.FileMode.IsDir); d != "" {
			_ = os.Chmod(d, fs.FileMode(r.IntN(0o1000))|0o700)
		}
	case 7, 8:
		if from := r.any(); from != "" {
			_ = os.Rename(from, r.fresh())
		}
	case 9, 10:
		if p := r.any(); p != "" {
			_ = os.RemoveAll(p)
		}
	case 11:
		_ = os.Symlink([]string{"a", "..", r.other, filepath.Join(r.other, "secret"), "none"}[r.IntN(5)], r.fresh())
	case 12:
		if f := r.file(); f != "" {
			_ = os.Link(f, r.fresh())
		}
	case 13: // the same times and size
		if f := r.file(); f != "" {
			if info, err := os.Stat(f); err == nil && info.Size() > 0 {
				data, _ := os.ReadFile(f)
				data[r.IntN(len(data))]++
				_ = os.WriteFile(f, data, 0)
				_ = os.Chtimes(f, info.ModTime(), info.ModTime())
			}
		}
	case 14: // a file becomes a folder, or the opposite
		if p := r.any(); p != "" {
			_ = os.RemoveAll(p)
			if r.IntN(2) == 0 {
				_ = os.MkdirAll(filepath.Join(p, "deep"), 0o755)
				_ = os.WriteFile(filepath.Join(p, "f"), r.text(), 0o600)
			} else {
				_ = os.WriteFile(p, r.text(), 0o755)
			}
		}
	}
}

// TestRandom undoes random calls, one by one, in bulk and again, and compares with full copies.
func TestRandom(t *testing.T) {
	for seed := range testscale.N(3, 100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { testRandom(t, uint64(seed)) })
	}
}

func testRandom(t *testing.T, seed uint64) {
	c := newScene(t)
	outside := filepath.Join(filepath.Dir(c.root), "outside")
	if err := errors.Join(os.Mkdir(outside, 0o755), os.WriteFile(filepath.Join(outside, "secret"), []byte("s"), 0o600)); err != nil {
		t.Fatal(err)
	}
	r := &random{rand.New(rand.NewPCG(seed, 1)), c.root, outside}
	for range 40 {
		r.change()
	}
	states := []map[string]string{oracle(t, c.root)}
	var numbers []int // of the call between states[i] and states[i+1]; 0: nothing changed
	for range 20 {
		if r.IntN(6) == 0 { // another server
			if err := c.s.Close(); err != nil {
				t.Fatal(err)
			}
			c.open()
		}
		line := c.call(func() {
			for range 1 + r.IntN(6) {
				r.change()
			}
		})
		now := oracle(t, c.root)
		n := 0
		if line != "" {
			n = c.last()
		} else if diff := cmp.Diff(states[len(states)-1], now); diff != "" {
			t.Fatal("a change was not noticed:", diff)
		}
		if strings.Contains(line, "not:") || strings.Contains(line, "cannot") {
			t.Fatal(line)
		}
		numbers, states = append(numbers, n), append(states, now)
	}
	expect := func(what string, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, oracle(t, c.root)); diff != "" {
			t.Fatalf("%s: %s", what, diff)
		}
	}
	far := oracle(t, outside)
	at := len(numbers)
	for at > 10 { // one by one
		at--
		if numbers[at] != 0 {
			if out := c.undo(Request{Owner: me, Numbers: []int{numbers[at]}}); len(out.Refused) > 0 {
				t.Fatalf("undo %d: %+v", numbers[at], out.Refused)
			}
		}
		expect(fmt.Sprintf("undo %d", numbers[at]), states[at])
	}
	bulk := slices.DeleteFunc(slices.Clone(numbers[:at]), func(n int) bool { return n == 0 })
	out := c.undo(Request{Owner: me, Numbers: bulk})
	if len(out.Refused) > 0 {
		t.Fatalf("in bulk: %+v", out.Refused)
	}
	expect("in bulk", states[0])
	if out.Number != 0 {
		c.undo(Request{Owner: me, Numbers: []int{out.Number}})
		expect("again", states[at])
	}
	// Each call by itself, whatever the order: nothing that is refused changes, and nothing is lost.
	for _, i := range r.Perm(at) {
		if numbers[i] != 0 {
			before := oracle(t, c.root)
			out := c.undo(Request{Owner: me, Numbers: []int{numbers[i]}})
			if out.Number != 0 {
				c.undo(Request{Owner: me, Numbers: []int{out.Number}})
			}
			expect("undone twice", before)
		}
	}
	if diff := cmp.Diff(far, oracle(t, outside)); diff != "" {
		t.Error("outside of the roots:", diff)
	}
	_ = filepath.WalkDir(c.root, func(path string, _ fs.DirEntry, _ error) error {
		if strings.Contains(path, ".mcp-toolset-") {
			t.Error("left over:", path)
		}
		return nil
	})
}

// destructive lists commands that destroy files of a tree with git repositories.
var destructive = []string{
	"rm -rf src", "rm -rf .git", "rm -rf .[a-z]* *", "find . -name '*.log' -delete", "find . -type f -size -20c -delete",
	"git reset -q --hard", "git reset -q --hard HEAD~1", "git clean -qfdx", "git clean -qffdx", "git checkout -q .", "git checkout -q -f HEAD~1", "git stash -q -u", "git rm -rqf src", "git gc -q --prune=now",
	"git -C nested reset -q --hard", "git -C nested clean -qfdx", "git branch -q -D side", "git update-ref -d HEAD", "git commit -qam x --amend --reset-author", "git filter-branch -f --tree-filter 'rm -f a.txt' HEAD >/dev/null 2>&1",
	"sed -i s/e/E/g $(find . -name '*.txt')", "truncate -s 3 a.txt src/*", "chmod -R u=rwX,go= .", "chmod 4755 a.txt", "chmod -R a-w src",
	"mv src away", "mv nested src/", "mv a.txt b.txt; mv b.txt c.txt", "ln -sf /etc/passwd a.txt", "ln -f a.txt hard; rm a.txt", "cp -r nested copy; rm -rf nested",
	"rm -rf src; ln -s nested src", "rm a.txt; mkdir a.txt; echo x > a.txt/y", "tar cf t.tar --remove-files src", "echo x | tee -a $(find . -name '*.txt') >/dev/null", "for f in $(find . -name '*.txt'); do touch -r $f ref; printf '\\1' | dd of=$f conv=notrunc bs=1 status=none; touch -r ref $f; done; rm -f ref",
	"mkdir -p node_modules/a/b; for i in 1 2 3 4 5 6 7 8 9; do echo $i > node_modules/a/b/$i.js; done", "shred -n 1 a.txt",
}

// TestDestructive undoes commands that destroy.
func TestDestructive(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	sh := func(c *scene, script string) {
		cmd := exec.Command("sh", "-c", script)
		cmd.Dir = c.root
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "FILTER_BRANCH_SQUELCH_WARNING=1")
		_ = cmd.Run() // a command that fails may have changed something, too
	}
	for round := range testscale.N(2, 30) {
		c := newScene(t)
		sh(c, `umask 022; git init -q .; printf '*.log\nignored/\n' > .gitignore; mkdir -p src/deep ignored empty; echo one > a.txt; echo two > src/b.txt; echo deep > src/deep/c.txt
			git add .; git commit -qm one; echo more >> a.txt; git commit -qam two; git branch side; git init -q nested; cd nested; echo n > n.txt; git add .; git commit -qm n; echo dirty >> n.txt; echo u > untracked.txt; cd ..
			echo log > x.log; echo ig > ignored/f; echo dirty >> src/b.txt; echo untracked > u.txt; ln a.txt src/hard; ln -s a.txt link; ln -s nowhere dangling; chmod 700 src/deep; printf x > "$(printf 'b\377d')"`)
		for range 10 {
			before := oracle(t, c.root)
			var script string
			line := c.call(func() {
				for range 1 + r.IntN(2) {
					next := destructive[r.IntN(len(destructive))]
					script += next + "\n"
					sh(c, next)
				}
			})
			after := oracle(t, c.root)
			if line == "" {
				if diff := cmp.Diff(before, after); diff != "" {
					t.Fatalf("round %d: %s: not noticed: %s", round, script, diff)
				}
				continue
			}
			if strings.Contains(line, "not:") {
				t.Fatalf("round %d: %s: %s", round, script, line)
			}
			out := c.undo(Request{Owner: me, Numbers: []int{c.last()}})
			if diff := cmp.Diff(before, oracle(t, c.root)); diff != "" || len(out.Refused) > 0 {
				t.Fatalf("round %d: %s: %s %+v", round, script, diff, out.Refused)
			}
			if r.IntN(2) == 0 {
				c.undo(Request{Owner: me, Numbers: []int{out.Number}})
				if diff := cmp.Diff(after, oracle(t, c.root)); diff != "" {
					t.Fatalf("round %d: %s: undone twice: %s", round, script, diff)
				}
			}
		}
	}
}
