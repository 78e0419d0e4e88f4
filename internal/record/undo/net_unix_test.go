//go:build linux || darwin

package undo

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"mcp-toolset/session"
)

// TestNet checks that changes are those of a session, without what was undone, also in part.
func TestNet(t *testing.T) {
	c := newScene(t)
	want := func(since time.Time, want string) {
		t.Helper()
		var got []string
		list, err := c.s.Net(me, since)
		for _, n := range list {
			got = append(got, fmt.Sprintf("%s:%s:%t:%d", strings.TrimPrefix(n.Path, c.root+"/"), n.What, n.Undone, n.Number))
		}
		if all := strings.Join(got, " "); err != nil || all != want {
			t.Errorf("%s, %v; want %s", all, err, want)
		}
	}
	c.write("old", "1")
	c.write("gone", "1")
	c.call(func() { c.write("old", "2"); c.write("new", "1"); os.Remove(c.root + "/gone") })
	want(time.Time{}, "gone:deleted:false:1 new:created:false:1 old:changed:false:1")
	later := time.Now()
	c.call(func() { os.Remove(c.root + "/new"); c.write("more", "1") })
	want(time.Time{}, "gone:deleted:false:1 old:changed:false:1 more:created:false:2 new::false:2")
	want(later, "more:created:false:2 new:deleted:false:2")
	if _, err := c.s.Restore(t.Context(), Request{Numbers: []int{1}, Paths: []string{c.root + "/old"}}); err != nil {
		t.Fatal(err)
	}
	want(time.Time{}, "gone:deleted:false:1 more:created:false:2 new::false:2 old::true:3")
	if list, err := c.s.Net(session.Owner{Session: "other"}, time.Time{}); len(list) > 0 || err != nil {
		t.Errorf("of another session: %v, %v", list, err)
	}
	dir := t.TempDir() // a worktree
	main := c.s
	c.s, c.root = main.For(session.View{Roots: []string{dir}, Worktree: &session.Worktree{Folder: dir}}), dir
	c.call(func() { c.write("there", "1") })
	c.s = main
	last := func() string {
		list, err := main.Net(me, time.Time{})
		if err != nil || len(list) == 0 {
			t.Fatal(list, err)
		}
		return fmt.Sprint(list[len(list)-1])
	}
	if got := last(); got != fmt.Sprintf("{%s created false 4}", dir+"/there") {
		t.Errorf("in a worktree: %s", got)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if got := last(); strings.Contains(got, dir) {
		t.Errorf("in a worktree that is gone: %s", got)
	}
	if list, err := (*Store)(nil).Net(me, time.Time{}); list != nil || err != nil {
		t.Errorf("%v, %v", list, err)
	}
}
