//go:build linux || darwin

package undo

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/testscale"
)

// aged returns a listing whose names were read long after the folders had changed, except for folders
// that had changed just before, in which a later change may have the same time.
func aged(t *tree) *tree {
	var age func(*dir)
	age = func(d *dir) {
		if d == nil {
			return
		}
		if d.at-max(d.seen.Modified, d.seen.Changed) > int64(20*time.Millisecond) && d.seen.Changed > 0 {
			d.at += int64(time.Hour)
		}
		for i := range d.Entries {
			age(d.Entries[i].Sub)
		}
	}
	for i := range t.Roots {
		age(t.Roots[i].Sub)
	}
	return t
}

// paths returns all that a listing has.
func (t *tree) paths() map[string]stamp {
	out := map[string]stamp{}
	t.each(func(folder string, _ int, e *entry) { out[join(folder, e.Name)] = e.Stamp })
	return out
}

// TestListAgain checks that a listing that uses an earlier one has what one without it has, after
// random changes of folders.
func TestListAgain(t *testing.T) {
	root := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	listed := func(old *tree) *tree {
		t.Helper()
		out, err := list(t.Context(), []string{root}, []string{filepath.Join(root, "skip")}, old)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	folders := []string{root}
	for i := range 20 {
		dir := filepath.Join(folders[r.IntN(len(folders))], fmt.Sprint("d", i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		folders = append(folders, dir)
	}
	old := aged(listed(nil))
	for round := range testscale.N(200, 5000) {
		for range r.IntN(4) {
			dir, other := folders[r.IntN(len(folders))], folders[r.IntN(len(folders))]
			at, to := filepath.Join(dir, fmt.Sprint("f", r.IntN(4))), filepath.Join(other, fmt.Sprint("f", r.IntN(4)))
			switch r.IntN(7) {
			case 0:
				_ = os.WriteFile(at, fmt.Append(nil, round), 0o600)
			case 1:
				_ = os.RemoveAll(at)
			case 2:
				_ = os.Rename(at, to) // also of folders
			case 3:
				_ = os.Link(at, to)
			case 4:
				_ = os.Mkdir(at, 0o700)
			case 5: // the folder is another one
				_ = os.Rename(dir, dir+"x")
				_ = os.Mkdir(dir, 0o755)
				_ = os.RemoveAll(dir + "x")
			case 6:
				_ = os.Chtimes(dir, time.Unix(1, 0), time.Unix(1, 0))
			}
		}
		fresh := listed(old)
		if diff := cmp.Diff(listed(nil).paths(), fresh.paths()); diff != "" {
			t.Fatalf("round %d: %s", round, diff)
		}
		old = aged(fresh)
	}
}

// TestListNames checks when the names in a folder are read again: always, if it has changed a short
// time before an earlier listing, or holds temporary files, or if a name is not there.
func TestListNames(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	count := func(change func(*dir)) int {
		t.Helper()
		old, err := list(t.Context(), []string{root}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		change(old.Roots[0].Sub)
		fresh, err := list(t.Context(), []string{root}, nil, old)
		if err != nil {
			t.Fatal(err)
		}
		return len(fresh.Roots[0].Sub.Entries)
	}
	without := func(d *dir) { d.Entries = d.Entries[:1] }
	long := func(d *dir) {
		if d.at != 0 {
			d.at += int64(2 * young)
		}
	}
	want := 2
	if dir, err := os.Open(root); err == nil {
		if names, _ := stamps(int(dir.Fd())); names {
			want = 1 // the names of the earlier listing are used
		}
		dir.Close()
	}
	if got := count(func(d *dir) { long(d); without(d) }); got != want {
		t.Errorf("%d entries of an unchanged folder, want %d", got, want)
	}
	if got := count(without); got != 2 {
		t.Errorf("%d entries of a folder that had changed just before", got)
	}
	if got := count(func(d *dir) { long(d); d.Entries[0].Name = "0" }); got != 2 {
		t.Errorf("%d entries of a folder without one of the names", got)
	}
	if got := count(func(d *dir) { long(d); d.seen.Changed--; without(d) }); got != 2 {
		t.Errorf("%d entries of a folder that has changed", got)
	}
	second := &dir{seen: stamp{Changed: 1e9}, at: 1e12}
	if second.has(second.seen) {
		t.Error("the time of the folder may be one of seconds")
	}
	if err := os.WriteFile(filepath.Join(root, ".a.mcp-toolset-0123456789abcdef.tmp"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := count(func(d *dir) { long(d); without(d) }); got != 2 {
		t.Errorf("%d entries of a folder with a temporary file", got)
	}
}
