package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadDir(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		dir := tempDir(t)
		ws := mkdir(t, dir, "ws")
		for _, name := range []string{"b", "a", "c/x", "B"} {
			write(t, name, ws, name)
		}
		write(t, "SECRET", dir, "evil/secret")
		link(t, "../evil", ws, "out")
		link(t, ".", ws, "self")
		r := open(ws)
		files := NewFiles(r, inside(r))

		for _, tt := range []struct {
			path  string
			limit int
			want  []string
			err   error
		}{
			{"", 0, []string{"B", "a", "b", "c", "out", "self"}, nil},
			{"", -1, []string{"B", "a", "b", "c", "out", "self"}, nil},
			{"", 2, []string{"B", "a"}, nil},
			{"", 6, []string{"B", "a", "b", "c", "out", "self"}, nil},
			{"self/self", 1, []string{"B"}, nil},
			{"c", 0, []string{"x"}, nil},
			{"out", 0, nil, errOutside},
			{"..", 0, nil, errOutside},
			{"none", 0, nil, fs.ErrNotExist},
			{"a", 0, nil, syscall.ENOTDIR},
		} {
			list, err := files.ReadDir(filepath.Join(ws, tt.path), tt.limit)
			if !errors.Is(err, tt.err) {
				t.Errorf("ReadDir(%q): %v, want %v", tt.path, err, tt.err)
			}
			if diff := cmp.Diff(tt.want, names(list)); diff != "" && runtime.GOOS == "linux" {
				t.Errorf("ReadDir(%q, %d): %s", tt.path, tt.limit, diff)
			}
		}

		list, _ := files.ReadDir(ws, 0)
		for _, d := range list {
			info, err := d.Info()
			if err != nil || info.Name() != d.Name() || info.Mode().Type() != d.Type() {
				t.Errorf("%s: Info() = %v, %v; listed as %v", d.Name(), info, err, d.Type())
			}
		}
	})
}

// The limit selects by name, whatever the order on disk.
func TestReadDirLimitLarge(t *testing.T) {
	dir := tempDir(t)
	var want []string
	for i := range 3*listBatch + 10 {
		// Hard links to one file are faster to make than files.
		name := fmt.Sprintf("%05d", i)
		if i == 0 {
			write(t, "", dir, name)
		} else if err := os.Link(filepath.Join(dir, "00000"), filepath.Join(dir, name)); err != nil {
			t.Skip("hard links:", err)
		}
		want = append(want, name)
	}
	files := NewFiles(openRoots(t, dir), anything)
	for _, limit := range []int{1, 100, listBatch, 2*listBatch + 1, 0} {
		list, err := files.ReadDir(dir, limit)
		if err != nil {
			t.Fatal(err)
		}
		if limit == 0 {
			limit = len(want)
		}
		if diff := cmp.Diff(want[:limit], names(list)); diff != "" {
			t.Errorf("limit %d: %s", limit, diff)
		}
	}
}

func names(list []fs.DirEntry) []string {
	var names []string
	for _, d := range list {
		names = append(names, d.Name())
	}
	return names
}
