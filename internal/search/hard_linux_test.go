package search

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// memory returns a folder on a file system in memory, if there is one with room for so
// many files, and otherwise one on disk.
func memory(t testing.TB, files int) string {
	t.Helper()
	var fs unix.Statfs_t
	if unix.Statfs("/dev/shm", &fs) == nil && fs.Ffree > uint64(files) {
		if dir, err := os.MkdirTemp("/dev/shm", "search"); err == nil {
			t.Cleanup(func() { os.RemoveAll(dir) })
			return dir
		}
	}
	return t.TempDir()
}

// TestManyFiles searches 100,000 files in one folder, at full scale.
func TestManyFiles(t *testing.T) {
	files := many
	dir := memory(t, files)
	for i := range files {
		name := fmt.Sprintf("%s/f%06d", dir, i)
		err := unix.Mknod(name, unix.S_IFREG|0o644, 0)
		if i%1000 == 0 && err == nil {
			err = os.WriteFile(name, []byte("foo\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s := New(options(0, dir))
	defer s.Close()
	for range 2 {
		a := search(t, s, dir, asked{pattern: "foo", mode: Counts}.query(t))
		if a.Listed != files || a.Total != files/1000 || a.Hits != files/1000 {
			t.Errorf("%+v", a)
		}
		s.build.Wait()
	}
}

// TestManyEntries searches a tree of a million files in a thousand folders, at full
// scale. It checks that the memory of listing and index is bounded per file.
func TestManyEntries(t *testing.T) {
	const (
		each = 1000 // files per folder, all hard links to one file because these are made faster
		kept = 200  // bytes of the heap per file
	)
	dir := memory(t, manyFolders*(each+1))
	for i := range manyFolders {
		folder := filepath.Join(dir, fmt.Sprint("d", i))
		text := "bar\n"
		if i%100 == 7 {
			text = "foo\n"
		}
		write(t, filepath.Join(folder, "0"), text)
		fd, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY, 0)
		for j := 1; j < each && err == nil; j++ {
			err = unix.Linkat(fd, "0", fd, strconv.Itoa(j), 0)
		}
		unix.Close(fd)
		if err != nil {
			t.Fatal(err)
		}
	}
	files, hits := manyFolders*each, (manyFolders+92)/100*each
	before := heap()
	s := New(options(0, dir))
	defer s.Close()
	for range 2 {
		a := search(t, s, dir, asked{pattern: "foo", mode: Counts}.query(t))
		if a.Listed != files || a.Total != hits || a.Hits != hits || a.Incomplete != "" || a.Unreadable != 0 {
			t.Errorf("%d listed, Total %d, Hits %d, incomplete %q, %d unreadable", a.Listed, a.Total, a.Hits, a.Incomplete, a.Unreadable)
		}
		s.build.Wait()
	}
	a := search(t, s, dir, asked{pattern: "foo|bar", mode: Lines, limit: 250}.query(t))
	if n := bytes.Count(a.Text, []byte{'\n'}); n != 250 || a.Total < 250 || a.More == (a.Total == files) {
		t.Errorf("a page of %d lines, Total %d, more %t", n, a.Total, a.More)
	}
	found, err := s.Tree(dir, opener(dir)).Names(context.Background(), &Query{Pick: func(_, name string) bool { return name == "999" }})
	if err != nil || len(found.Files) != manyFolders || found.Listed != files {
		t.Errorf("%d names, %d listed, %v", len(found.Files), found.Listed, err)
	}
	s.build.Wait()
	grown, limit := heap()-before, int64(8<<20+kept*files)
	for i := 0; i < 200 && grown > limit; i++ { // a search of an earlier test may still end
		grown = heap() - before
	}
	t.Logf("%d bytes for each file, of which the index says %d", grown/int64(files), s.indexed.Load()/int64(files))
	if grown > limit {
		t.Errorf("the heap grew by %d MiB for %d files", grown>>20, files)
	}
	if held := s.indexed.Load(); held > DefaultIndex {
		t.Errorf("the index takes %d MiB", held>>20)
	}
	runtime.KeepAlive(s)
}

// heap returns the size of the live heap, in bytes.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the second empties pools
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestDeepTree searches a path far longer than system calls accept, 10,000 folders deep
// at full scale.
func TestDeepTree(t *testing.T) {
	deep := deepest
	dir := memory(t, deep)
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	step := func(to string) {
		t.Helper()
		next, err := unix.Openat(fd, to, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
		fd = next
	}
	for range deep {
		unix.Mkdirat(fd, "d", 0o755)
		step("d")
	}
	defer func() { // os.RemoveAll would hold all of them open
		unix.Unlinkat(fd, "f", 0)
		for range deep {
			step("..")
			unix.Unlinkat(fd, "d", unix.AT_REMOVEDIR)
		}
		unix.Close(fd)
	}()
	file, err := unix.Openat(fd, "f", unix.O_CREAT|unix.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	unix.Write(file, []byte("foo\n"))
	unix.Close(file)
	s := New(options(0, dir))
	defer s.Close()
	for range 2 {
		a := search(t, s, dir, asked{pattern: "foo"}.query(t))
		if len(a.Files) != 1 || a.Files[0].Path != strings.Repeat("d/", deep)+"f" || a.Unreadable != 0 {
			t.Errorf("%d files, %d unreadable", len(a.Files), a.Unreadable)
		}
		s.build.Wait()
	}
}

// TestSpecial checks that only regular files are opened: others might block forever.
func TestSpecial(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "foo\n")
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	unix.Mknod(filepath.Join(dir, "zero"), unix.S_IFCHR|0o644, 1<<8|5) // needs rights
	unix.Mkfifo(filepath.Join(dir, ".gitignore"), 0o644)
	s := New(options(0, dir))
	defer s.Close()
	for range 2 {
		if a := search(t, s, dir, asked{pattern: "foo"}.query(t)); a.Total != 1 || a.Listed != 1 || a.Unreadable != 0 {
			t.Errorf("%+v", a)
		}
		s.build.Wait()
	}
}

// TestHuge checks that a file far larger than acceptable memory use is read in pieces.
func TestHuge(t *testing.T) {
	dir := memory(t, 1)
	path := filepath.Join(dir, "huge")
	write(t, path, "foo\n")
	if err := os.Truncate(path, 1<<hugeLog); err != nil {
		t.Fatal(err)
	}
	s := New(options(0, dir))
	defer s.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, c := range []struct {
		k     asked
		total int
	}{
		{asked{pattern: "foo"}, 0}, {asked{pattern: "foo", mode: Lines}, 1}, {asked{pattern: "bar", mode: Lines}, 0},
		{asked{pattern: "bar", mode: Counts}, 0},
	} {
		if a := search(t, s, dir, c.k.query(t)); a.Total != c.total || a.Incomplete != "" {
			t.Errorf("%v: Total %d, %q", c.k, a.Total, a.Incomplete)
		}
		s.build.Wait()
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 512<<20 {
		t.Errorf("%d MiB were allocated", got>>20)
	}
}

// TestUnrest searches while the tree changes, and checks that unchanged files are
// found.
func TestUnrest(t *testing.T) {
	dir := t.TempDir()
	for i := range 200 {
		write(t, filepath.Join(dir, "still", fmt.Sprint(i%7), fmt.Sprint("f", i)), "foo\n")
	}
	s := New(options(0, dir))
	defer s.Close()
	believe(t, s, dir)
	var stop atomic.Bool
	var wait sync.WaitGroup
	for w := range 2 {
		wait.Go(func() {
			for i := 0; !stop.Load(); i++ {
				d := filepath.Join(dir, "still", fmt.Sprint(i%7), fmt.Sprint("w", w, i%5))
				switch i % 4 {
				case 0:
					os.MkdirAll(filepath.Join(d, "x"), 0o755)
				case 1:
					os.WriteFile(filepath.Join(d, "x", "f"), []byte("foo\nbar\n"), 0o644)
				case 2:
					os.Rename(d, d+"moved")
				case 3:
					os.RemoveAll(d)
					os.RemoveAll(d + "moved")
				}
			}
		})
	}
	wait.Go(func() { // a second searcher at the same time
		for !stop.Load() {
			q := asked{pattern: "foo", mode: Lines, limit: 50}.query(t)
			if a, err := s.Tree(dir, opener(dir)).Search(context.Background(), q); err != nil || a.Total < 50 {
				t.Errorf("%+v, %v", a, err)
			}
		}
	})
	for i := range 100 {
		a := search(t, s, dir, asked{pattern: "foo", mode: Mode(i % 3), limit: 10 * (i % 2)}.query(t))
		still := 0
		for _, f := range a.Files {
			if strings.Contains(f.Path, "/f") && !strings.Contains(f.Path, "/x/") {
				still++
			}
		}
		if i%2 == 0 && i%3 != int(Lines) && still != 200 || a.Total < 200 {
			t.Errorf("query %d: %d of 200 files that stood still, Total %d", i, still, a.Total)
		}
	}
	stop.Store(true)
	wait.Wait()
}

// slowly is a file that cancels a search after some reads.
type slowly struct {
	reads  int
	cancel func()
}

func (f *slowly) ReadAt(p []byte, off int64) (int, error) {
	if f.reads--; f.reads == 0 {
		f.cancel()
	}
	n := copy(p, bytes.Repeat([]byte("foo\n"), len(p)/4))
	if n == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return n, nil
}

func TestEnds(t *testing.T) {
	dir := t.TempDir()
	for i := range 500 {
		write(t, filepath.Join(dir, fmt.Sprint(i)), "foo\n")
	}
	s := New(options(-1, dir))
	defer s.Close()
	tree := s.Tree(dir, opener(dir))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tree.Search(ctx, asked{pattern: "foo"}.query(t)); err != context.Canceled {
		t.Errorf("canceled before: %v", err)
	}
	for _, mode := range []Mode{Names, Counts, Lines} {
		// Cancelled by a callback, which an abandoned search may call later.
		ctx, cancel := context.WithCancel(context.Background())
		q := asked{pattern: "foo", mode: mode}.query(t)
		q.Show = func(string) bool { cancel(); return true }
		if _, err := tree.Search(ctx, q); err != context.Canceled {
			t.Errorf("canceled within: %v", err)
		}
		// The deadline has passed before.
		q = asked{pattern: "foo", mode: mode}.query(t)
		q.Deadline = time.Now().Add(-time.Hour)
		if a, err := tree.Search(context.Background(), q); err != nil || a.Incomplete == "" || a.Total != 0 {
			t.Errorf("no time: %+v, %v", a, err)
		}
	}
	// The deadline passes while files are searched.
	for _, mode := range []Mode{Names, Counts, Lines} {
		soon, late := context.WithCancel(context.Background())
		q := asked{pattern: "foo", mode: mode}.query(t)
		var n atomic.Int32
		q.Show = func(string) bool {
			if n.Add(1) >= 100 {
				late()
			}
			return true
		}
		a := new(Answer)
		p, err := tree.plan(soon, q, a)
		if err != nil {
			t.Fatal(err)
		}
		if err := tree.run(soon, q, p, a); err != context.Canceled || a.Incomplete == "" || a.Total < 100 || a.Total >= 500 || a.Unreadable != 0 {
			t.Errorf("deadline: %+v, %v", a, err)
		}
		if lines := bytes.Count(a.Text, []byte("\n")); len(a.Files)+lines != a.Total {
			t.Errorf("deadline: %d files and %d lines of %d", len(a.Files), lines, a.Total)
		}
	}
	// One long file.
	ctx, cancel = context.WithCancel(context.Background())
	if _, err := s.File(ctx, asked{pattern: "foo", mode: Lines, limit: 5}.query(t), &slowly{100, cancel}, 1<<40, "f"); err != context.Canceled {
		t.Errorf("canceled in a file: %v", err)
	}
	q := asked{pattern: "foo", mode: Lines, limit: 5}.query(t)
	q.Deadline = time.Now().Add(50 * time.Millisecond)
	a, err := s.File(context.Background(), q, &slowly{0, nil}, 1<<40, "f")
	if err != nil || a.Incomplete == "" || strings.Count(string(a.Text), "\n") != 5 || a.Unreadable != 0 {
		t.Errorf("deadline in a file: %q, %v", a.Text, err)
	}
}

// TestClose checks that nothing is left open or running.
func TestClose(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		write(t, filepath.Join(dir, fmt.Sprint("d", i%10), fmt.Sprint(i)), strings.Repeat("foo\n", i))
	}
	before, open := runtime.NumGoroutine(), openFiles(t)
	for i := range 9 {
		s := New(options(0, dir))
		believe(t, s, dir)
		ctx, cancel := context.WithCancel(context.Background())
		q := asked{pattern: "foo", limit: i}.query(t)
		if i%3 == 0 {
			q.Show = func(string) bool { cancel(); return true }
		}
		s.Tree(dir, opener(dir)).Search(ctx, q)
		s.Close() // while the index is built
		cancel()
		if _, err := s.Tree(dir, opener(dir)).Search(context.Background(), asked{pattern: "foo"}.query(t)); err != nil {
			t.Error(err)
		}
	}
	// A goroutine that reported its end may not have returned yet.
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, before %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
	if n := openFiles(t); n != open {
		t.Errorf("%d descriptors are open, before %d", n, open)
	}
}

func openFiles(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(list)
}

// TestLimit checks that the indexes of all trees stay within their limit, that a
// dropped tree takes no memory, and that it can still be searched.
func TestLimit(t *testing.T) {
	const limit = 100 << 10
	s := New(Options{Index: limit, Getenv: func(string) string { return "" }})
	defer s.Close()
	var trees []*Tree
	for range 5 {
		dir := t.TempDir()
		for i := range 100 {
			write(t, filepath.Join(dir, fmt.Sprint(i)), fmt.Sprint(strings.Repeat("foo bar baz\n", i*5), i))
		}
		believe(t, s, dir)
		for range 2 {
			if a := search(t, s, dir, asked{pattern: "foo"}.query(t)); a.Total != 99 {
				t.Errorf("%d files", a.Total)
			}
			s.build.Wait()
		}
		if held := s.indexed.Load(); held > limit+limit/2 {
			t.Errorf("%d bytes are held", held)
		}
		trees = append(trees, s.Tree(dir, opener(dir)))
	}
	for _, tree := range trees {
		a, err := tree.Search(context.Background(), asked{pattern: "foo"}.query(t))
		if err != nil || a.Total != 99 {
			t.Errorf("%+v, %v", a, err)
		}
	}
	s.mu.Lock()
	for _, tree := range append([]*Tree(nil), s.used...) {
		s.drop(tree)
	}
	s.mu.Unlock()
	s.build.Wait()
	if held := s.indexed.Load(); held != 0 || len(s.trees) != 0 {
		t.Errorf("%d bytes are held of %d trees", held, len(s.trees))
	}
}

// TestSpare checks that records of deleted files do not accumulate.
func TestSpare(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "foo")
	s := New(options(0, dir))
	defer s.Close()
	believe(t, s, dir)
	search(t, s, dir, asked{pattern: "foo"}.query(t))
	s.build.Wait()
	tree := s.Tree(dir, opener(dir))
	tree.storeRecord(10*fewRecords, record{kind: unsigned}, nil)
	write(t, filepath.Join(dir, "b"), "foo")
	search(t, s, dir, asked{pattern: "foo"}.query(t))
	s.build.Wait()
	if next := s.Tree(dir, opener(dir)); next == tree || s.indexed.Load() != 0 {
		t.Errorf("the tree is kept with %d bytes", s.indexed.Load())
	}
}

// TestRest checks that a complete index is not built again.
func TestRest(t *testing.T) {
	dir := t.TempDir()
	for i := range 10 {
		write(t, filepath.Join(dir, fmt.Sprint(i)), "foo")
	}
	write(t, filepath.Join(dir, "secret"), "foo")
	os.Chmod(filepath.Join(dir, "secret"), 0)
	s := New(options(0, dir))
	defer s.Close()
	believe(t, s, dir)
	for i := range 3 {
		var a Answer
		p, err := s.Tree(dir, opener(dir)).plan(context.Background(), asked{pattern: "foo"}.query(t), &a)
		if err != nil || p.hasNew != (i == 0) {
			t.Errorf("query %d has news: %t, %v", i, p.hasNew, err)
		}
		search(t, s, dir, asked{pattern: "foo"}.query(t))
		s.build.Wait()
	}
}
