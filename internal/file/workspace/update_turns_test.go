package workspace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// adds returns a change that appends text to the old content and counts its calls.
func adds(text string, calls *int) func(*Old) ([]byte, error) {
	return func(old *Old) ([]byte, error) {
		*calls++
		if old == nil {
			return []byte(text), nil
		}
		was, err := io.ReadAll(old.File)
		return append(was, text...), err
	}
}

// takesTurns changes the file by all its paths at the same time, each with Files of its
// own. It checks that no change is lost and that none had to be repeated, since none
// began while another was running.
func takesTurns(t *testing.T, paths ...string) {
	t.Helper()
	const each = 50
	var calls [16]int
	var all sync.WaitGroup
	for i, path := range paths {
		files := NewFiles(openRoots(t, filepath.Dir(path)), anything)
		all.Go(func() {
			for n := range each {
				if _, err := files.Update(t.Context(), path, adds(fmt.Sprintf("%d.%d\n", i, n), &calls[i])); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got := "\n" + content(paths[0])
	for i := range paths {
		for n := range each {
			if strings.Count(got, fmt.Sprintf("\n%d.%d\n", i, n)) != 1 {
				t.Errorf("change %d of writer %d was lost", n, i)
			}
		}
		if calls[i] != each {
			t.Errorf("writer %d made %d changes of %d", i, calls[i], each)
		}
	}
}

func TestUpdateTurns(t *testing.T) {
	replacesOpen(t)
	dir := memoryDir(t)
	path := write(t, "", dir, "a", "f")
	takesTurns(t, path, path, path, path)
	path = write(t, "", dir, "a", "g")
	linked := link(t, "../a/g", mkdir(t, dir, "b"), "link")
	takesTurns(t, path, linked, path, linked)
	noTemps(t, dir)
}

// Of many concurrent creators of a file one succeeds; the others find the file.
func TestUpdateCreatedOnce(t *testing.T) {
	replacesOpen(t)
	dir := memoryDir(t)
	const writers = 4
	for round := range 50 {
		path := filepath.Join(dir, "d", fmt.Sprint(round))
		var created, calls [writers]int
		var all sync.WaitGroup
		for i := range writers {
			files := NewFiles(openRoots(t, dir), anything)
			all.Go(func() {
				w, err := files.Update(t.Context(), path, adds(fmt.Sprint(i), &calls[i]))
				if err != nil {
					t.Error(err)
				}
				if w.Created {
					created[i]++
				}
			})
		}
		all.Wait()
		sum := 0
		for _, n := range created {
			sum += n
		}
		if got := content(path); sum != 1 || len(got) != writers {
			t.Fatalf("created %v, holds %q", created, got)
		}
	}
	noTemps(t, dir)
}

// A file that appears at the very last moment is not overwritten, whatever calls the
// system supports.
func TestUpdateAppearsLast(t *testing.T) {
	wasExclusive, wasLink := exclusive, linkName
	defer func() { exclusive, linkName = wasExclusive, wasLink }()
	for name, tt := range map[string]struct {
		without int // number of the methods that are not supported
		err     error
	}{
		"renaming": {0, nil}, "a link": {1, errors.ErrUnsupported}, "an old kernel": {1, syscall.EINVAL},
		"a sandbox": {1, syscall.EPERM}, "looking": {2, syscall.EPERM},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tempDir(t)
			path := filepath.Join(dir, "f")
			appears := false
			// step is one of the methods; unsupported ones fail.
			step := func(n int, do func(*os.Root, string, string) error) func(*os.Root, string, string) error {
				return func(root *os.Root, from, to string) error {
					if appears && n == min(tt.without, 1) {
						appears = false
						write(t, "theirs", path)
					}
					if n < tt.without {
						return tt.err
					}
					return do(root, from, to)
				}
			}
			exclusive = step(0, wasExclusive)
			linkName = step(1, wasLink)
			files := NewFiles(openRoots(t, dir), anything)
			calls := 0
			w, err := files.Update(t.Context(), path, adds("mine", &calls))
			if err != nil || !w.Created || calls != 1 || content(path) != "mine" {
				t.Errorf("nobody in the way: %+v, %v after %d calls, %q", w, err, calls, content(path))
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			appears, calls = true, 0
			w, err = files.Update(t.Context(), path, adds("+", &calls))
			if err != nil || w.Created || calls != 2 || content(path) != "theirs+" {
				t.Errorf("%+v, %v after %d calls, %q", w, err, calls, content(path))
			}
			onlyNames(t, dir, "f")
		})
	}
}
