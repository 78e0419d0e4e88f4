package walk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// withoutOpenat2 runs a test a second time as on kernels before 5.6.
func withoutOpenat2(t *testing.T, test func(t *testing.T)) {
	t.Run("openat2", test)
	t.Run("stepwise", func(t *testing.T) {
		defer noOpenat2.Store(noOpenat2.Swap(true))
		test(t)
	})
}

func descriptors(t testing.TB) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(all)
}

func TestSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, "f", "g/")
	for _, name := range []string{"fifo", "g/fifo", ".gitignore"} {
		if err := unix.Mkfifo(filepath.Join(dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	l := refresh(t, New(opener(dir), Options{Above: func() Rules { return &names{} }}))
	if diff := cmp.Diff([]string{"f", "g/"}, listed(t, l)); diff != "" {
		t.Error(diff)
	}
	if l.Root().Ignored != 0 {
		t.Error("what is no file is said to be ignored")
	}
	top, err := l.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	f, err := top.Folder(l.Root(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, _, err := f.Open("fifo"); err == nil { // and does not block
		t.Error("opened a FIFO")
	}
}

// TestUnknownKinds checks the lookup of kinds that a file system does not report.
func TestUnknownKinds(t *testing.T) {
	dir := memory(t)
	build(t, dir, "f", "d/", "link -> d")
	file, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var e entries
	for _, name := range []string{"f", "d", "link", "gone"} {
		e.add([]byte(name), 1, kindOf(0))
	}
	e.settle(folder{fd: int(file.Fd())})
	for i, want := range []kind{kindFile, kindDir, kindLink, kindSpecial} {
		if e.list[i].kind != want {
			t.Errorf("%s is %d", e.name(i), e.list[i].kind)
		}
	}
}

// TestMovedMeanwhile moves a folder away between the look at its stamps and the visit
// of one below, and back. The stamps of the folders between stay the same.
func TestMovedMeanwhile(t *testing.T) {
	dir, aside := t.TempDir(), filepath.Join(t.TempDir(), "aside")
	if !fineStamps(t, dir) {
		t.Skip("the file system's stamps are coarse")
	}
	build(t, dir, "a/b/c/f", "g")
	a, move := filepath.Join(dir, "a"), false
	rules := &names{hook: func() {
		if move {
			move = false
			os.Rename(a, aside)
		}
	}}
	tree := New(opener(dir), Options{Workers: 1, Above: func() Rules { return rules }})
	tree.racy = -time.Hour
	refresh(t, tree)
	build(t, dir, "a/b/c/h", "i") // c and the top must be visited
	move = true
	if diff := cmp.Diff([]string{"a/", "a/b/", "g", "i"}, listed(t, refresh(t, tree))); diff != "" {
		t.Error(diff)
	}
	os.Rename(aside, a)
	if diff := cmp.Diff(reference(t, dir, nil), listed(t, refresh(t, tree))); diff != "" {
		t.Error(diff)
	}
}

// TestIDs replaces a file by another of the same name.
func TestIDs(t *testing.T) {
	dir := memory(t)
	build(t, dir, "a", "b", "new: x")
	tree := New(opener(dir), Options{})
	old := refresh(t, tree).Root().Files
	os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "a"))
	now := refresh(t, tree).Root().Files
	if now[0].ID == old[0].ID || now[0].ID == old[2].ID || now[1].ID != old[1].ID {
		t.Errorf("%v became %v", old, now)
	}
}

// TestUnchangedIsNotRead counts the calls of the rules.
func TestUnchangedIsNotRead(t *testing.T) {
	dir := t.TempDir()
	if !fineStamps(t, dir) {
		t.Skip("the file system's stamps are coarse")
	}
	build(t, dir, "a/f", "a/.gitignore: x", "b/c/f", ".git/info/exclude: y", "g")
	rules := &names{asked: new(atomic.Int64)}
	tree := New(opener(dir), Options{Above: func() Rules { return rules }})
	step := func(what string, least, most int64) {
		t.Helper()
		rules.asked.Store(0)
		refresh(t, tree)
		if n := rules.asked.Load(); n < least || n > most {
			t.Errorf("%s: %d questions, want %d to %d", what, n, least, most)
		}
	}
	step("first", 7, 7)
	step("young stamps", 7, 7)
	tree.racy = -time.Hour
	step("young stamps, the last time", 7, 7)
	step("nothing changed", 0, 0)
	build(t, dir, "b/c/h")
	step("one folder changed", 2, 2)
	build(t, dir, "a/.gitignore: z")
	step("a list changed", 2, 2)
	build(t, dir, ".git/info/exclude: z")
	step("exclude changed", 8, 8)
	os.Remove(filepath.Join(dir, ".git/info/exclude"))
	step("exclude removed", 8, 8)
	build(t, dir, ".git/info/exclude: y")
	step("exclude is back", 8, 8)
	step("nothing changed", 0, 0)
}

// TestSwap replaces a folder by a link to the outside, and restores it, while others
// walk. No name of the outside may be listed, and in the end nothing is missing.
func TestSwap(t *testing.T) {
	withoutOpenat2(t, func(t *testing.T) {
		dir, outside := memory(t), memory(t)
		build(t, dir, "a/b/c/in", "a/b/c/d/in", "a/b/in", "a/b/e/f/in", "a/z/in")
		build(t, outside, "c/out", "c/d/out", "out", "e/f/out", "e/in: outside")
		b, aside := filepath.Join(dir, "a/b"), filepath.Join(dir, "aside")
		var stop atomic.Bool
		var done sync.WaitGroup
		done.Go(func() {
			for !stop.Load() {
				if err := errors.Join(os.Rename(b, aside), os.Symlink(outside, b), os.Remove(b), os.Rename(aside, b)); err != nil {
					t.Error(err)
					return
				}
			}
		})
		kept := New(opener(dir), Options{Workers: 2})
		for i := range swaps {
			tree := kept
			if i%2 == 0 {
				tree = New(opener(dir), Options{Workers: 2})
			}
			l := refresh(t, tree)
			if all := strings.Join(listed(t, l), " "); strings.Contains(all, "out") {
				t.Error(all)
				break
			}
			for _, d := range l.Dirs {
				readInside(t, l, d)
			}
		}
		stop.Store(true)
		done.Wait()
		if diff := cmp.Diff(reference(t, dir, nil), listed(t, refresh(t, kept))); diff != "" {
			t.Error(diff)
		}
	})
}

// readInside opens the files of a folder that may be gone, and checks that they are
// those of inside, which are empty.
func readInside(t *testing.T, l *Listing, d *Dir) {
	top, err := l.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	f, err := top.Folder(d, nil)
	if err != nil {
		return
	}
	defer f.Close()
	if h, s, err := f.Open("in"); err == nil {
		h.Close()
		if s.Size > 0 {
			t.Fatal("opened a file of outside")
		}
	}
}

func TestDeepPath(t *testing.T) {
	dir := memory(t)
	defer clearDeep(buildDeep(t, dir))
	withoutOpenat2(t, func(t *testing.T) {
		tree := New(opener(dir), Options{})
		tree.racy = -time.Hour
		for range 2 {
			l := refresh(t, tree)
			if len(l.Dirs) != 1+deep+(deep+9)/10 || l.Files != 1 || l.Unreadable != 0 {
				t.Fatalf("%d folders, %d files, %d unreadable", len(l.Dirs), l.Files, l.Unreadable)
			}
			if stamps, err := l.Stat(t.Context(), nil); err != nil || stamps[0].Ino == 0 {
				t.Fatal(stamps, err)
			}
		}
		l := refresh(t, tree)
		last := l.Dirs[deep]
		if want := strings.Repeat("d/", deep-1) + "d"; last.Path() != want {
			t.Errorf("a path of %d bytes, want %d", len(last.Path()), len(want))
		}
		readInside(t, l, last)
	})
}

// buildDeep makes the folder d/d/d and so on with the file f in the last one, and a
// folder e beside every tenth. It returns the last one, open.
func buildDeep(t *testing.T, dir string) (last int) {
	t.Helper()
	at, err := unix.Open(dir, unix.O_PATH, 0)
	for i := 0; i < deep && err == nil; i++ {
		err = unix.Mkdirat(at, "d", 0o755)
		if err == nil && i%10 == 0 {
			err = unix.Mkdirat(at, "e", 0o755)
		}
		if err == nil {
			up := at
			at, err = unix.Openat(up, "d", unix.O_PATH, 0)
			unix.Close(up)
		}
	}
	if err == nil {
		err = unix.Mknodat(at, "f", unix.S_IFREG|0o644, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// clearDeep removes folders too deep for os.RemoveAll, which holds all of them open. It
// begins with the last one.
func clearDeep(at int) {
	unix.Unlinkat(at, "f", 0)
	for range deep {
		up, err := unix.Openat(at, "..", unix.O_PATH, 0)
		unix.Close(at)
		if err != nil {
			return
		}
		unix.Unlinkat(up, "d", unix.AT_REMOVEDIR)
		unix.Unlinkat(up, "e", unix.AT_REMOVEDIR)
		at = up
	}
	unix.Close(at)
}

func TestPathTooLong(t *testing.T) {
	p := &place{}
	long := strings.Repeat("x", 255)
	for p.size <= maxPath {
		p = p.below(long)
	}
	dir := memory(t)
	build(t, dir, "a/f", "b/g")
	tree := New(opener(dir), Options{})
	refresh(t, tree)
	tree.root.kids[0].place = &place{rel: "a", name: "a", size: p.size}
	l := refresh(t, tree)
	if l.Unreadable != 1 || l.Files != 1 || !errors.Is(l.Dirs[1].Err, errTooDeep) {
		t.Errorf("%+v", l.Dirs[1])
	}
}

// TestDescriptors walks a tree that is deep and wide.
func TestDescriptors(t *testing.T) {
	dir := memory(t)
	p := ""
	for i := range 120 {
		for j := range 4 {
			build(t, dir, fmt.Sprintf("%s%d/.gitignore: %d", p, j, i))
		}
		p += "!/" // the first in order: its siblings wait
	}
	before := descriptors(t)
	var most atomic.Int64
	rules := &names{hook: func() {
		n := int64(descriptors(t))
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
	}}
	for _, workers := range []int{1, 2, 16} {
		most.Store(0)
		l := refresh(t, New(opener(dir), Options{Workers: workers, Above: func() Rules { return rules }}))
		if l.Files != 480 {
			t.Error(l.Files, "files")
		}
		// Each worker's count takes a descriptor itself.
		if n := int(most.Load()) - before - workers; n > openFolders {
			t.Errorf("%d workers had %d descriptors open", workers, n)
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func TestCancel(t *testing.T) {
	dir := memory(t)
	for i := range 50 {
		build(t, dir, fmt.Sprintf("d%d/e/f", i), fmt.Sprintf("d%d/g", i))
	}
	for i := range 3 * stride {
		build(t, dir, fmt.Sprintf("z/%d", i))
	}
	before, running := descriptors(t), runtime.NumGoroutine()
	tree := New(opener(dir), Options{Workers: 3})
	tree.racy = -time.Hour // nothing changes here
	for _, after := range []int64{0, 1, 20, 80, 120, 150, 1000, 2500} {
		ctx, cancel := context.WithCancel(t.Context())
		asked := new(atomic.Int64)
		rules := &names{asked: asked, hook: func() {
			if asked.Load() == after {
				cancel()
			}
		}}
		if after == 0 {
			cancel()
		}
		tree.options.Above = func() Rules { return rules }
		if l, err := tree.Refresh(ctx); !errors.Is(err, context.Canceled) || l != nil {
			t.Fatalf("after %d: %v", after, err)
		}
		if n := asked.Load(); n > after+stride+20 {
			t.Errorf("asked %d times more", n-after)
		}
		cancel()
		if n := descriptors(t); n != before {
			t.Fatalf("%d descriptors, %d before", n, before)
		}
		if n := runtime.NumGoroutine(); n > running+1 {
			t.Fatalf("%d goroutines, %d before", n, running)
		}
	}
	if fineStamps(t, t.TempDir()) { // also looks at what the interrupted calls have read
		build(t, dir, "d0/e/late")
	}
	if diff := cmp.Diff(reference(t, dir, nil), listed(t, refresh(t, tree))); diff != "" {
		t.Error(diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := refresh(t, tree).Stat(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestTogether refreshes from several goroutines while files appear: each must see the
// files that existed before its call.
func TestTogether(t *testing.T) {
	dir := memory(t)
	build(t, dir, "a/b/c/")
	tree := New(opener(dir), Options{})
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for j := range 25 {
				name := fmt.Sprintf("a/b/c/%d-%d", i, j)
				build(t, dir, name)
				l, err := tree.Refresh(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if !strings.Contains(" "+strings.Join(listed(t, l), " ")+" ", " "+name+" ") {
					t.Errorf("%s is not listed", name)
				}
			}
		})
	}
	group.Wait()
}

func TestUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	dir := memory(t)
	build(t, dir, "a/f", "b/c/f", "g")
	tree := New(opener(dir), Options{})
	refresh(t, tree)
	b := filepath.Join(dir, "b")
	os.Chmod(b, 0)
	defer os.Chmod(b, 0o755)
	for range 2 {
		l := refresh(t, tree)
		if diff := cmp.Diff([]string{"a/", "a/f", "b/", "g"}, listed(t, l)); diff != "" || l.Unreadable != 1 || !os.IsPermission(l.Dirs[2].Err) {
			t.Error(l.Unreadable, diff)
		}
	}
	os.Chmod(b, 0o755)
	if diff := cmp.Diff(reference(t, dir, nil), listed(t, refresh(t, tree))); diff != "" {
		t.Error(diff)
	}
}

// TestHugeFolder lists one folder of many files, and ends that early.
func TestHugeFolder(t *testing.T) {
	dir := memory(t)
	for i := range huge {
		if err := unix.Mknod(fmt.Sprintf("%s/%d", dir, i*7919%huge), unix.S_IFREG|0o644, 0); err != nil {
			t.Fatal(err)
		}
	}
	tree := New(opener(dir), Options{})
	for wait := time.Millisecond; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		l, err := tree.Refresh(ctx)
		deadline, _ := ctx.Deadline()
		late := time.Since(deadline)
		cancel()
		if err == nil {
			t.Logf("%d files within %v", l.Files, wait)
			if l.Files != huge {
				t.Error(l.Files, "files")
			}
			listed(t, l)
			return
		}
		t.Logf("ended after %v, late by %v", wait, late)
		if late > time.Second { // a loaded machine may be late; the log has the time
			t.Errorf("late by %v", late)
		}
	}
}

// TestUntold checks that folders are read each time where stamps mean nothing.
func TestUntold(t *testing.T) {
	tree := New(opener("/proc/self/task"), Options{})
	tree.racy = -time.Hour
	before := len(refresh(t, tree).Dirs)
	stop, ready := make(chan bool), make(chan bool)
	defer close(stop)
	for range 40 { // more threads than the runtime has spare
		go func() {
			runtime.LockOSThread()
			ready <- true
			<-stop
		}()
		<-ready
	}
	if after := len(refresh(t, tree).Dirs); after <= before {
		t.Errorf("%d folders, and %d before there were 40 threads more", after, before)
	}
}
