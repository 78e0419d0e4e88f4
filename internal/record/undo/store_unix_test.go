//go:build linux || darwin

package undo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/testscale"
	"mcp-toolset/session"
)

// TestStoreFails checks that what could not be stored is named, and never restored from older
// content.
func TestStoreFails(t *testing.T) {
	c := newScene(t)
	c.write("a", "first")
	c.write("b", "first")
	if line := c.call(func() { c.write("a", "second") }); line != "changed: 1 modified (undo 1)" {
		t.Fatal(line)
	}
	c.write("a", "third")
	full := errors.New("no space left on device")
	t.Cleanup(func() { writeAt = func(f *os.File, b []byte, at int64) (int, error) { return f.WriteAt(b, at) } })
	writeAt = func(f *os.File, b []byte, at int64) (int, error) { // a part is written
		n, _ := f.WriteAt(b[:len(b)/2], at)
		return n, full
	}
	line := c.call(func() { c.write("a", "fourth") })
	if want := "changed: 1 modified (undo 2); undo covers 0 of 1, not: " + c.path("a"); line != want {
		t.Errorf("%q, want %q", line, want)
	}
	if covered, why := c.s.Covered(t.Context()); covered || why != c.path("a")+" cannot be restored" {
		t.Error(covered, why)
	}
	out := c.undo(Request{Numbers: []int{2}})
	if len(out.Done) != 0 || len(out.Refused) != 1 || out.Refused[0].Text != "its earlier content is not stored" {
		t.Errorf("%+v", out)
	}
	// What an undo replaces has to be stored first.
	c.write("b", "of the user, not stored")
	if out := c.undo(Request{Numbers: []int{1}, Force: true}); len(out.Done) != 0 || len(out.Refused) != 1 {
		t.Errorf("%+v", out)
	}
	writeAt = func(f *os.File, b []byte, at int64) (int, error) { return f.WriteAt(b, at) }
	for name, want := range map[string]string{"a": "fourth", "b": "of the user, not stored"} {
		if data, err := os.ReadFile(c.path(name)); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if covered, why := c.s.Covered(t.Context()); !covered {
		t.Error(why)
	}
	// The incomplete record does no harm to the next server.
	if err := c.s.Close(); err != nil {
		t.Fatal(err)
	}
	c.open()
	c.call(func() { c.write("a", "fifth") })
	c.undo(Request{Numbers: []int{c.last()}})
	if data, _ := os.ReadFile(c.path("a")); string(data) != "fourth" {
		t.Errorf("%q", data)
	}
}

// TestNotOpened checks that attempts to open a store that cannot be opened leave nothing.
func TestNotOpened(t *testing.T) {
	for name, block := range map[string]func(path string) error{
		workspaceFile: func(path string) error { return os.Mkdir(path, 0o700) },
		"packs":       func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		c := newScene(t)
		if err := errors.Join(os.MkdirAll(c.s.dir, 0o700), block(filepath.Join(c.s.dir, name))); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := c.s.Restore(t.Context(), Request{Numbers: []int{1}}); err == nil {
				t.Error("opened")
			}
		}
		if left, err := filepath.Glob(filepath.Join(c.s.dir, "live-*")); err != nil || len(left) > 0 || c.s.live != nil {
			t.Error(left, err)
		}
	}
}

// TestDamaged checks that a damaged content is not restored.
func TestDamaged(t *testing.T) {
	c := newScene(t)
	c.write("a", "the old content")
	c.call(func() { c.write("a", "new") })
	packs, _ := filepath.Glob(filepath.Join(c.s.dir, "packs", "*"+packEnd))
	for _, p := range packs {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		data[headerSize+5] ^= 1
		if err := os.WriteFile(p, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := c.undo(Request{Numbers: []int{1}})
	if len(out.Refused) != 1 || !strings.HasPrefix(out.Refused[0].Text, errMissing.Error()) {
		t.Errorf("%+v", out)
	}
	if data, _ := os.ReadFile(c.path("a")); string(data) != "new" {
		t.Errorf("%q", data)
	}
}

// TestCrash checks that contents that a crash of the system may have damaged are stored again, and that
// a server syncs those that it uses of another one.
func TestCrash(t *testing.T) {
	dir := t.TempDir()
	open := func() *objects {
		t.Helper()
		o, err := openObjects(dir, Quota)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = o.close() })
		return o
	}
	put := func(o *objects, text string) Hash {
		t.Helper()
		hash, err := o.put([]byte(text), 0)
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	synced := func(o *objects) (all bool) {
		for _, p := range o.packs {
			if p.end == 0 || p.synced != p.end {
				return false
			}
		}
		return len(o.packs) > 0
	}
	first := open()
	one := put(first, "one")
	if err := first.sync(); err != nil || !synced(first) {
		t.Fatal(err, "not synced")
	}
	two, three := put(first, "two"), put(first, "three")
	if _, err := first.write.file.WriteAt([]byte{0}, first.index[two].at); err != nil {
		t.Fatal(err)
	}
	second := open()
	if !second.has(one) || second.has(two) || second.has(three) {
		t.Error(second.has(one), second.has(two), second.has(three))
	}
	put(second, "two")
	if text, err := second.get(two); err != nil || string(text) != "two" {
		t.Errorf("%q, %v", text, err)
	}

	dir = t.TempDir()
	first = open()
	put(first, "one")
	second = open()
	put(second, "one")
	if second.write != nil || synced(second) {
		t.Error("stored again, or synced by opening")
	}
	if err := second.sync(); err != nil || !synced(second) {
		t.Error(err, "not synced")
	}
	if third := open(); !synced(third) {
		t.Error("the next server verifies contents that were synced")
	}
}

// TestLate checks that the change set of a call that may destroy files is synced before its answer,
// and others a little later.
func TestLate(t *testing.T) {
	c := newScene(t)
	for i, secure := range []bool{true, false} {
		c.write("a", "old")
		r, err := c.s.Begin(t.Context(), Call{Owner: me})
		if err != nil {
			t.Fatal(err)
		}
		if secure {
			if why := r.Secure(); why != "" {
				t.Fatal(why)
			}
		}
		c.write("a", "new")
		r.End(t.Context())
		c.s.starting.Lock()
		if len(c.s.unsynced) != i {
			t.Errorf("secure %v: %q", secure, c.s.unsynced)
		}
		c.s.starting.Unlock()
	}
}

// TestSpecial checks that pipes and sockets are neither covered nor touched.
func TestSpecial(t *testing.T) {
	c := newScene(t)
	c.write("f", "file")
	t.Chdir(c.root)
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", "sock")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if covered, why := c.s.Covered(t.Context()); covered || why != c.path("pipe")+", "+c.path("sock")+" cannot be restored" {
		t.Error(covered, why)
	}
	line := c.call(func() {
		os.Remove("pipe")
		os.Remove("f")
		_ = syscall.Mkfifo("f", 0o600)
		_ = syscall.Mkfifo("made", 0o600)
	})
	if want := "changed: 1 modified, 1 deleted, 1 created (undo 1); undo covers 2 of 3, not: " + c.path("pipe"); line != want {
		t.Errorf("%q, want %q", line, want)
	}
	out := c.undo(Request{Numbers: []int{1}})
	if len(out.Refused) != 3 || len(out.Done) != 0 {
		t.Errorf("%+v", out)
	}
	for _, name := range []string{"f", "made"} {
		if info, err := os.Lstat(name); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
			t.Error(name, info, err)
		}
	}
}

// TestUnread checks that what is in a folder that could not be read before a call is not removed as
// if the call had made it.
func TestUnread(t *testing.T) {
	c := newScene(t)
	c.write("closed/f", "of the user")
	r, err := c.s.Begin(t.Context(), Call{Owner: me})
	if err != nil {
		t.Fatal(err)
	}
	r.start.Roots[0].Sub.Entries[0].Sub = nil // root can read all folders
	if why := r.Secure(); why != c.path("closed")+" cannot be restored" {
		t.Error(why)
	}
	if err := os.Chmod(c.path("closed"), 0o700); err != nil {
		t.Fatal(err)
	}
	if line, want := r.End(t.Context()), "changed: 1 modified (undo 1); undo covers 0 of 1, not: "+c.path("closed"); line != want {
		t.Errorf("%q, want %q", line, want)
	}
	out := c.undo(Request{Numbers: []int{1}, Force: true})
	if data, err := os.ReadFile(c.path("closed/f")); err != nil || string(data) != "of the user" || len(out.Refused) != 1 {
		t.Errorf("%q, %v, %+v", data, err, out)
	}
}

// TestRootGone checks that what was in a root can be restored after the root was removed, and that
// nothing in a folder that took its place counts as created.
func TestRootGone(t *testing.T) {
	c := newScene(t)
	c.write("d/f", "old")
	before := oracle(t, c.root)
	c.call(func() { os.RemoveAll(c.root) })
	if line, want := c.call(func() { c.write("of the user", "x") }), ""; line != want {
		t.Errorf("%q", line)
	}
	os.Remove(c.path("of the user"))
	c.undo(Request{Numbers: []int{1}})
	if diff := cmp.Diff(before, oracle(t, c.root)); diff != "" {
		t.Error(diff)
	}
	line := c.call(func() {
		os.Rename(c.root, c.root+".old")
		c.write("of the user", "x")
	})
	if want := "changed: 2 deleted (undo 3)"; line != want {
		t.Errorf("%q, want %q", line, want)
	}
	c.undo(Request{Numbers: []int{3}})
	if data, err := os.ReadFile(c.path("of the user")); err != nil || string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestSlow checks that a listing that has failed once makes no later call wait for long, also in
// another server, until one succeeds.
func TestSlow(t *testing.T) {
	c := newScene(t)
	wait := func() (timeout time.Duration) {
		defer func(f func(context.Context, []string, []string, *tree) (*tree, error)) { listRoots = f }(listRoots)
		listRoots = func(ctx context.Context, _, _ []string, _ *tree) (*tree, error) {
			at, _ := ctx.Deadline()
			timeout = time.Until(at).Round(time.Second)
			return nil, errTooMany
		}
		if line := c.call(func() {}); line != "changes cannot be undone from now on: the roots have more than 500000 files" && line != "" {
			t.Error(line)
		}
		return timeout
	}
	later := func() { now := c.s.o.Now().Add(2 * pause); c.s.o.Now = func() time.Time { return now } }
	got := []time.Duration{wait(), wait()}
	later()
	got = append(got, wait())
	c.s.Close()
	c.open()
	got = append(got, wait())
	later()
	c.call(func() {})
	c.s.Close()
	c.open()
	got = append(got, wait())
	if diff := cmp.Diff([]time.Duration{listing, 0, listingLess, listingLess, listing}, got); diff != "" {
		t.Error(diff)
	}
}

// TestPending checks that what a call destroys can be restored if the server is killed during the call.
func TestPending(t *testing.T) {
	c := newScene(t)
	c.write("d/f", "old")
	before := oracle(t, c.root)
	r, err := c.s.Begin(t.Context(), Call{Owner: me, Tool: "Bash", Title: "rm"})
	if err != nil {
		t.Fatal(err)
	}
	if why := r.Secure(); why != "" {
		t.Fatal(why)
	}
	os.RemoveAll(c.path("d"))
	other := c.s
	if err := c.open().Resume(t.Context()); err != nil { // the first one still runs
		t.Fatal(err)
	}
	if n := c.last(); n != 0 {
		t.Error(n)
	}
	other.live.Close() // as a kill does
	if err := c.s.collect(nil, 90); err != nil {
		t.Fatal(err)
	}
	c.s.Close()
	if err := c.open().Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := c.s.List(9, func(*Header) bool { return true })
	if err != nil || len(list) != 1 || list[0].Title != "rm" || !list[0].Late || list[0].Paths != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	c.undo(Request{Numbers: []int{1}})
	if diff := cmp.Diff(before, oracle(t, c.root)); diff != "" {
		t.Error(diff)
	}
	if left, _ := filepath.Glob(filepath.Join(c.s.dir, pendingBegin+"*")); len(left) != 0 {
		t.Error(left)
	}
}

// TestMovedIn checks that an undo does not remove a file that a call has moved in from outside, which
// may be the only copy, but moves one within the roots back.
func TestMovedIn(t *testing.T) {
	c := newScene(t)
	outside := c.root + ".photo"
	if err := os.WriteFile(outside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := born(outside); !ok {
		t.Skip("the file system has no times of creation")
	}
	c.write("in", "y")
	c.s.o.Now = func() time.Time { return time.Now().Add(time.Minute) }
	c.call(func() {
		if err := errors.Join(os.Rename(outside, c.path("photo")), os.Rename(c.path("in"), c.path("in2"))); err != nil {
			t.Error(err)
		}
	})
	out := c.undo(Request{Numbers: []int{1}})
	if len(out.Done) != 2 || len(out.Refused) != 1 || out.Refused[0].Path != c.path("photo") ||
		out.Refused[0].Text != "the call has moved it in from outside of the roots, where an undo cannot put it back" {
		t.Errorf("%+v", out)
	}
}

// TestHidden checks that a workspace with names of temporary files of this program is not covered.
func TestHidden(t *testing.T) {
	c := newScene(t)
	name := ".a.mcp-toolset-0123456789abcdef.tmp"
	c.write(name, "x")
	if covered, why := c.s.Covered(t.Context()); covered || why != c.path(name)+" cannot be restored" {
		t.Error(covered, why)
	}
}

// TestNames checks that a name is not missed in a large folder in which another one is replaced all
// the time.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	if shm, err := os.MkdirTemp("/dev/shm", ""); err == nil { // tmpfs, where that happens often
		defer os.RemoveAll(shm)
		dir = shm
	}
	for i := range 2000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%0100d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				os.WriteFile(filepath.Join(dir, "new"), nil, 0o600)
				os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, fmt.Sprintf("%0100d", 7)))
			}
		}
	})
	for range testscale.N(20, 2000) {
		tr, err := list(t.Context(), []string{dir}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		tr.each(func(_ string, _ int, e *entry) {
			if !strings.HasSuffix(e.Name, "new") {
				n++
			}
		})
		if n != 2000 {
			t.Fatal(n)
		}
	}
	close(stop)
	wait.Wait()
}

// TestSweep checks that an undo removes what a killed one has left only if it can be made again by
// the same change set, and that it is not in the way.
func TestSweep(t *testing.T) {
	c := newScene(t)
	c.write("a", "first")
	c.write("other", "of the user")
	c.call(func() {
		c.write("a", "second")
		os.Symlink("target", c.path("link"))
	})
	left := func(n int) string { return c.path(fmt.Sprintf(".x.mcp-toolset-%016x.undo", n)) }
	for n, text := range []string{"first", "second", "of the user"} {
		if err := os.WriteFile(left(n), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for n, target := range []string{"target", "of the user"} {
		if err := os.Symlink(target, left(10+n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(c.path("a"), left(20)); err != nil {
		t.Fatal(err)
	}
	if out := c.undo(Request{Numbers: []int{1}}); len(out.Done) != 2 || len(out.Refused) > 0 {
		t.Errorf("%+v", out)
	}
	there, err := filepath.Glob(c.path(".*"))
	if want := []string{left(2), left(11)}; err != nil || !slices.Equal(there, want) {
		t.Errorf("%q, want %q; %v", there, want, err)
	}
}

// TestHalf checks that a forced undo that removes a file and cannot make what was there before can
// be undone.
func TestHalf(t *testing.T) {
	c := newScene(t)
	c.write("d/f", "old")
	c.call(func() {
		os.RemoveAll(c.path("d"))
		c.write("d", "new")
	})
	c.write("d", "of the user")
	out, err := c.s.Restore(until{t.Context(), c.path("d")}, Request{Numbers: []int{1}, Force: true})
	if _, gone := os.Lstat(c.path("d")); gone == nil || out.Number == 0 {
		t.Fatalf("%v, %+v, %v", gone, out, err)
	}
	c.undo(Request{Numbers: []int{out.Number}})
	if data, err := os.ReadFile(c.path("d")); err != nil || string(data) != "of the user" {
		t.Errorf("%q, %v", data, err)
	}
}

// until is a context that ends when a path is gone.
type until struct {
	context.Context
	path string
}

func (u until) Err() error {
	if _, err := os.Lstat(u.path); err != nil {
		return context.Canceled
	}
	return nil
}

// TestLinksOut checks that neither a link in place of a folder nor a hard link leads an undo out
// of the roots.
func TestLinksOut(t *testing.T) {
	c := newScene(t)
	outside := filepath.Join(filepath.Dir(c.root), "outside")
	c.write("dir/f", "old")
	c.write("hard", "old")
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	c.call(func() {
		c.write("dir/f", "new")
		os.Remove(c.path("hard"))
		if err := os.WriteFile(filepath.Join(outside, "shared"), []byte("shared"), 0o644); err != nil {
			t.Error(err)
		}
		if err := os.Link(filepath.Join(outside, "shared"), c.path("hard")); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(os.Rename(c.path("dir"), filepath.Join(outside, "dir")), os.Symlink(filepath.Join(outside, "dir"), c.path("dir"))); err != nil {
		t.Fatal(err)
	}
	before := oracle(t, outside)
	for _, force := range []bool{false, true} {
		c.undo(Request{Numbers: []int{1}, Force: force})
		for name, want := range map[string]string{"dir/f": "new", "shared": "shared"} {
			if data, err := os.ReadFile(filepath.Join(outside, name)); err != nil || string(data) != want {
				t.Errorf("%s: %q, %v", name, data, err)
			}
		}
		if !force && cmp.Diff(before, oracle(t, outside)) != "" {
			t.Error("something changed outside")
		}
	}
}

// TestWatch checks the change sets of file tools.
func TestWatch(t *testing.T) {
	c := newScene(t)
	c.write("a", "old")
	files := workspace.NewFiles(c.s.o.Roots, func(string, string) error { return nil })
	update := func(r *Recording, name, text string) {
		t.Helper()
		if _, err := files.Watched(r.Watch).Update(t.Context(), c.path(name), func(*workspace.Old) ([]byte, error) { return []byte(text), nil }); err != nil {
			t.Fatal(err)
		}
	}
	before := oracle(t, c.root)
	r := c.s.BeginExact(Call{Owner: me, Tool: "Write"})
	update(r, "a", "new")
	update(r, "a", "newer")
	update(r, "x/y/z", "made")
	if line := r.End(t.Context()); line != "changed: 1 modified, 3 created (undo 1)" {
		t.Error(line)
	}
	if out := c.undo(Request{Owner: me, Numbers: []int{1}}); len(out.Refused) > 0 {
		t.Errorf("%+v", out)
	}
	if diff := cmp.Diff(before, oracle(t, c.root)); diff != "" {
		t.Error(diff)
	}
	// While a command runs, the change belongs to the tool alone, also to that of another server.
	server := c.s
	another := c.open()
	another.o.Instance = "another"
	for i, s := range []*Store{server, another} {
		c.s = server
		command, err := c.s.Begin(t.Context(), Call{Owner: me, Tool: "Bash"})
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint("of the tool ", i)
		tool := s.BeginExact(Call{Owner: session.Owner{Session: "another"}, Tool: "Write"})
		update(tool, "a", text)
		tool.End(t.Context())
		c.write("b", "of the command")
		if line := command.End(t.Context()); !strings.HasPrefix(line, "changed: 1 created (undo ") {
			t.Error(line)
		}
		c.undo(Request{Owner: me, Numbers: []int{c.last()}})
		if data, _ := os.ReadFile(c.path("a")); string(data) != text {
			t.Errorf("%q", data)
		}
	}
	if n, ok, err := c.s.Last(me); ok || err != nil { // all are undone
		t.Error(n, err)
	}
}

// TestBackground checks that the change set of a call that leaves something running is stored at
// the end of that.
func TestBackground(t *testing.T) {
	c := newScene(t)
	r, err := c.s.Begin(t.Context(), Call{Owner: me, Tool: "Bash"})
	if err != nil {
		t.Fatal(err)
	}
	release := r.Hold(MaxLate)
	c.write("a", "before the answer")
	if line := r.End(t.Context()); line != "" {
		t.Error(line)
	}
	if line := c.call(func() { c.write("b", "of a shorter call") }); line != "changed: 1 created (undo 1)" {
		t.Error(line)
	}
	c.write("c", "after the answer")
	release()
	if err := c.s.Close(); err != nil { // waits for it
		t.Fatal(err)
	}
	c.open()
	set, err := c.s.Get(2)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ch := range set.Changes {
		got = append(got, filepath.Base(ch.Path))
	}
	if !set.Late || cmp.Diff([]string{"a", "c"}, got) != "" {
		t.Errorf("%+v", got)
	}
}

// TestPrune checks age, quota, numbers and that nothing is removed while another server uses the
// store.
func TestPrune(t *testing.T) {
	c := newScene(t)
	now := time.Now()
	c.s.o.Now = func() time.Time { return now }
	c.write("a", "0")
	c.call(func() { c.write("a", "1") })
	first := c.s
	if err := first.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.call(func() { c.write("a", "2") })
	if n := c.last(); n != 2 {
		t.Error("a number was used again:", n)
	}
	other := c.open()
	other.o.Now = func() time.Time { return now.Add(8 * 24 * time.Hour) }
	if err := other.Forget(t.Context()); !errors.Is(err, ErrUsed) {
		t.Error(err)
	}
	if err := other.lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := other.prune(); err != nil {
		t.Error(err)
	}
	other.unlock()
	if c.last() != 2 {
		t.Error("removed while another server uses it")
	}
	if err := errors.Join(first.Close(), other.lock(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := other.prune(); err != nil {
		t.Error(err)
	}
	other.unlock()
	if c.last() != 0 {
		t.Error("an old change set is still there")
	}
	other.o.Now = time.Now
	other.o.Quota, other.objects.quota = 1<<20, 1<<20
	noise := make([]byte, 100<<10)
	for i := range 40 {
		for j := range noise {
			noise[j] = byte(i * j >> 3 * (j + i) >> 5)
		}
		noise[i]++
		c.call(func() { c.write("a", string(noise)+time.Now().String()) })
		if i == 5 { // as a crash of the system may leave it
			if err := os.Truncate(c.s.setPath(c.last()), 0); err != nil {
				t.Fatal(err)
			}
		}
		if other.objects.bytes > 1<<20 {
			t.Fatal(other.objects.bytes)
		}
	}
	if line := c.call(func() { c.write("a", "x") }); strings.Contains(line, "not:") {
		t.Error(line)
	}
	before := c.last()
	c.undo(Request{Numbers: []int{before}})
	if data, _ := os.ReadFile(c.path("a")); !bytes.HasPrefix(data, noise) {
		t.Error("the newest change set lost its content")
	}
}

// TestForgetOthers checks that the store of a workspace that nobody uses any more is removed.
func TestForgetOthers(t *testing.T) {
	c := newScene(t)
	c.write("a", "0")
	c.call(func() { c.write("a", "1") })
	first := c.s
	c.root = filepath.Join(filepath.Dir(c.root), "another")
	if err := os.Mkdir(c.root, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, used := range []bool{true, false} {
		if !used {
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
		}
		c.open()
		c.s.o.Now = func() time.Time { return time.Now().Add(8 * 24 * time.Hour) }
		c.call(func() { c.write("b", time.Now().String()) })
		if _, err := os.Stat(first.dir); (err == nil) != used {
			t.Errorf("used %v: %v", used, err)
		}
		if err := c.s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTrouble checks that calls run although the roots cannot be listed, and that this is said once.
func TestTrouble(t *testing.T) {
	c := newScene(t)
	if err := os.WriteFile(c.state, nil, 0o600); err != nil { // no folder
		t.Fatal(err)
	}
	want := "changes cannot be undone from now on: " + c.state + " is not a folder; remove it"
	for _, want := range []string{want, ""} {
		if line := c.call(func() { c.write("a", time.Now().String()) }); line != want {
			t.Errorf("%q, want %q", line, want)
		}
	}
	if covered, why := c.s.Covered(t.Context()); covered || why == "" {
		t.Error("covered")
	}
	if err := os.Remove(c.state); err != nil {
		t.Fatal(err)
	}
	c.s.o.Now = func() time.Time { return time.Now().Add(2 * pause) }
	if line := c.call(func() { c.write("a", "x") }); line != "changed: 1 modified (undo 1)" {
		t.Error(line)
	}
}

// TestTwoServers checks that two servers use one store.
func TestTwoServers(t *testing.T) {
	c := newScene(t)
	c.write("a", "0")
	c.write("b", "0")
	one := c.s
	two := c.open()
	defer two.Close()
	c.s = one
	one.o.Instance, two.o.Instance = "one", "two"
	c.call(func() { c.write("a", "1") })
	c.s = two
	c.call(func() { c.write("b", "2") })
	if n, ok, err := one.Last(me); n != 1 || !ok || err != nil {
		t.Error(n, ok, err)
	}
	if n, ok, err := two.Last(me); n != 2 || !ok || err != nil {
		t.Error(n, ok, err)
	}
	if out, err := one.Restore(t.Context(), Request{Owner: me, Numbers: []int{2}}); err != nil || len(out.Done) != 1 {
		t.Errorf("the contents of the other: %+v, %v", out, err)
	}
}

// recordForever records changes, for TestKilledRecording.
func recordForever(dir string) {
	roots, err := workspace.OpenRoots([]string{filepath.Join(dir, "root")})
	if err != nil {
		panic(err)
	}
	s := New(Options{State: filepath.Join(dir, "state"), Roots: roots, Log: slog.New(slog.DiscardHandler)})
	for {
		r, err := s.Begin(context.Background(), Call{Owner: me})
		if err != nil {
			panic(err)
		}
		for _, name := range []string{"a", "b", "c"} {
			_ = os.WriteFile(filepath.Join(dir, "root", name), []byte(name+strings.Repeat(time.Now().String(), 500)), 0o600)
		}
		_, _ = os.Stdout.WriteString(r.End(context.Background()) + "\n")
	}
}

// TestKilledRecording kills processes that record. The store can then be read, and all contents
// that it has are right.
func TestKilledRecording(t *testing.T) {
	c := newScene(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for round := range testscale.N(3, 100) {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), childRoot+"="+filepath.Dir(c.root), "UNDO_TEST_RECORD=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, readErr := out.Read(make([]byte, 1)) // it has recorded a call
		<-time.After(time.Duration(round*7%100) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		if readErr != nil {
			t.Fatal(readErr)
		}
	}
	c.open()
	list, err := c.s.List(1<<20, func(*Header) bool { return true })
	if err != nil || len(list) == 0 {
		t.Fatal(len(list), err)
	}
	if _, err := c.s.Restore(t.Context(), Request{Numbers: []int{list[0].Number}, DryRun: true}); err != nil { // opens it
		t.Fatal(err)
	}
	if list, err = c.s.List(1<<20, func(*Header) bool { return true }); err != nil || len(list) == 0 { // opening has removed the oldest over the limit
		t.Fatal(len(list), err)
	}
	for _, h := range list {
		set, err := c.s.Get(h.Number)
		if err != nil {
			t.Fatal(err)
		}
		for _, ch := range set.Changes {
			for _, st := range []State{ch.Before, ch.After} {
				if !st.Known || st.Kind != File {
					continue
				}
				if data, err := c.s.objects.get(st.Hash); err != nil || int64(len(data)) != st.Size {
					t.Errorf("%d: %s: %v", h.Number, ch.Path, err)
				}
			}
		}
	}
}
