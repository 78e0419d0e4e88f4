//go:build linux || darwin

package undo

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestShow checks the diffs and notes of a change set.
func TestShow(t *testing.T) {
	c := newScene(t)
	c.write("a", "one\ntwo\n")
	c.write("b", "gone\n")
	c.write("m", "mode\n")
	c.write("bin", "x\x00")
	c.call(func() {
		c.write("a", "one\nthree\n")
		c.write("new", "x\n")
		c.write("bin", "y\x00")
		for _, err := range []error{os.Remove(c.path("b")), os.Chmod(c.path("m"), 0o700), os.Mkdir(c.path("dir"), 0o755)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	set, err := c.s.Get(c.last())
	if err != nil {
		t.Fatal(err)
	}
	shown, err := c.s.Show(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Shown{}
	for _, s := range shown {
		name := strings.TrimPrefix(s.Path, c.root+"/")
		s.Path, s.Diff = "", strings.ReplaceAll(s.Diff, c.root, "")
		got[name] = s
	}
	want := map[string]Shown{
		"a":   {What: "modified", Diff: "--- /a\n+++ /a\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n"},
		"b":   {What: "deleted", Diff: "--- /b\n+++ /b\n@@ -1 +0,0 @@\n-gone\n"},
		"new": {What: "created", Diff: "--- /new\n+++ /new\n@@ -0,0 +1 @@\n+x\n"},
		"bin": {What: "modified", Note: "the contents are no text, too large, or not stored"},
		"m":   {What: "mode"}, "dir": {What: "created"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
