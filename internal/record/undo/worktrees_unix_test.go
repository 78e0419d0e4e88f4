//go:build linux || darwin

package undo

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/session"
)

// TestWorktrees checks that stores of worktrees are separate, that those not in use are closed and
// opened again, and that they end with the store of the workspace.
func TestWorktrees(t *testing.T) {
	c := newScene(t)
	main := c.s
	inside := session.View{Worktree: &session.Worktree{Folder: c.path("below")}}
	if main.For(session.View{}) != main || main.For(inside) != main || (*Store)(nil).For(inside) != nil {
		t.Fatal("not the store of the workspace")
	}
	base := t.TempDir()
	at := func(i int) (dir string, v session.View) {
		dir = filepath.Join(base, fmt.Sprint(i))
		return dir, session.View{Roots: []string{dir}, Worktree: &session.Worktree{Folder: dir}}
	}
	if _, v := at(99); main.For(v) != nil {
		t.Error("a store of a folder that does not exist")
	}
	const n = maxOpen + 3
	for round := range 2 {
		for i := range n {
			dir, v := at(i)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			c.s, c.root = main.For(v), dir
			want := fmt.Sprintf("changed: 1 created (undo %d)", 1+round*n+i)
			if line := c.call(func() { c.write(fmt.Sprint(round), "text") }); line != want {
				t.Errorf("%q, want %q", line, want)
			}
		}
	}
	_, first := at(0)
	main.For(first) // the last one used: another one may rest
	main.filling.Wait()
	open := 0
	for _, w := range main.worktrees {
		if w.objects != nil {
			open++
		}
	}
	if open > maxOpen {
		t.Errorf("%d stores are open", open)
	}
	// One that rests, and another server with the same worktree.
	dir, v := at(1)
	c.s, c.root = main.For(v), dir
	if out := c.undo(Request{Numbers: []int{2}}); len(out.Done) != 1 || out.Number != 1+2*n {
		t.Errorf("%+v", out)
	}
	roots, err := workspace.OpenRoots([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	other := New(Options{State: c.state, Roots: roots, Log: slog.New(slog.DiscardHandler)})
	if out, err := other.Restore(t.Context(), Request{Numbers: []int{1 + 2*n}}); err != nil || len(out.Done) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(c.path("0")); err != nil || string(data) != "text" {
		t.Errorf("%q, %v", data, err)
	}
	// A worktree that was removed and made again, and two that were removed.
	dir, v = at(2)
	gone, _ := at(3)
	unused, _ := at(4)
	if err := errors.Join(os.Rename(dir, dir+"x"), os.RemoveAll(gone), os.RemoveAll(unused)); err != nil {
		t.Fatal(err)
	}
	if main.For(v) != nil {
		t.Error("a store of a folder that is gone")
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c.s, c.root = main.For(v), dir
	if line := c.call(func() { c.write("new", "text") }); line != fmt.Sprintf("changed: 1 created (undo %d)", 3+2*n) {
		t.Error(line)
	}
	if len(main.worktrees) != n-2 {
		t.Errorf("%d stores of %d worktrees", len(main.worktrees), n-2)
	}
	if err := main.Close(); err != nil {
		t.Error(err)
	}
	if main.For(v) != nil {
		t.Error("a store after the end")
	}
	if marks, _ := filepath.Glob(filepath.Join(c.state, "undo", "*", "live-*")); len(marks) != 0 {
		t.Errorf("%q", marks)
	}
	// The stores of worktrees that are gone are removed sooner than others, and those that exist are not.
	ages := map[string]time.Duration{unused: maxGone / 2, gone: 2 * maxGone, base + "/5": 2 * maxGone}
	for dir, age := range ages {
		at := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(Dir(c.state, []string{dir}), workspaceFile), at, at); err != nil {
			t.Fatal(err)
		}
	}
	c.root = main.roots[0]
	if err := c.open().Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	for dir := range ages {
		if _, err := os.Lstat(Dir(c.state, []string{dir})); (err == nil) != (dir != gone) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	// Nor are those on a file system that is not mounted.
	if err := errors.Join(c.s.Close(), os.Rename(base, base+"x"), c.open().Resume(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(Dir(c.state, []string{base + "/5"})); err != nil {
		t.Error(err)
	}
}
