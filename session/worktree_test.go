package session_test

import (
	"crypto/sha256"
	"slices"
	"testing"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/session"
)

// TestMove checks what of a session follows it into a worktree and back.
func TestMove(t *testing.T) {
	one, two := sha256.Sum256([]byte("one")), sha256.Sum256([]byte("two"))
	planning := true
	s := session.New(session.Config{Roots: []string{"/main", "/other"}})
	s.Apply(session.Effect{Planning: &planning, Reads: []session.Read{
		{Path: "/main/a", Hash: one, Shown: true}, {Path: "/main/b", Hash: one}, {Path: "/other/c", Hash: one}, {Path: "/main/large", Large: true},
	}})
	var told []string
	s.OnMove(func(roots []string) { told = roots })
	w := &session.Worktree{Folder: "/tree", Main: "/main", Roots: []string{"/main", "/other"}, Dir: "/main"}
	file := workspace.Identity{Size: 3}
	var seen []string
	for _, r := range s.View().SeenBelow(w.Main) {
		seen = append(seen, r.Path)
	}
	if !slices.Equal(seen, []string{"/main/b", "/main/a"}) {
		t.Errorf("it has seen %q", seen)
	}
	s.Apply(session.Effect{Move: &session.Move{To: w, Roots: []string{"/tree", "/other"}, Dir: "/tree", Reads: []session.Copied{
		{From: "/main/a", To: "/tree/a", Hash: one, File: file}, {From: "/main/b", To: "/tree/b", Hash: two, File: file}, {From: "/main/no", To: "/tree/no", Hash: one},
	}}})
	v := s.View()
	if !v.Planning || v.Dir != "/tree" || v.Worktree != w || !slices.Equal(v.Roots, told) || !slices.Equal(told, []string{"/tree", "/other"}) || v.Project() != "/main" {
		t.Errorf("%+v, %q", v, told)
	}
	if r, ok := v.LastRead("/tree/a"); !ok || r.Path != "/tree/a" || r.File != file || !r.Shown {
		t.Errorf("the record does not follow: %+v", r)
	}
	if r, ok := v.Seen("/tree/a"); !ok || r.Hash != one || r.File != file {
		t.Errorf("what was seen does not follow: %+v", r)
	}
	for _, path := range []string{"/tree/b", "/tree/no"} {
		if _, ok := v.Seen(path); ok {
			t.Errorf("%s counts as read", path)
		}
	}
	if _, ok := v.Seen("/main/a"); !ok {
		t.Error("the record of the checkout is gone")
	}
	s.Apply(session.Effect{Move: &session.Move{Roots: w.Roots, Dir: w.Dir}})
	if v := s.View(); v.Worktree != nil || v.Dir != "/main" || v.Project() != "/main" || !slices.Equal(told, w.Roots) {
		t.Errorf("%+v", v)
	}
}

// TestInside checks the translation of paths, also where one folder is in the other.
func TestInside(t *testing.T) {
	apart, within := &session.Worktree{Folder: "/tree", Main: "/main"}, &session.Worktree{Folder: "/main/.trees/w", Main: "/main"}
	for _, test := range []struct{ have, want string }{
		{apart.Inside("/main"), "/tree"}, {apart.Inside("/main/a/b"), "/tree/a/b"}, {apart.Inside("/main2"), "/main2"}, {apart.Inside("/tree/a"), "/tree/a"},
		{apart.Outside("/tree/a"), "/main/a"}, {apart.Outside("/main/a"), "/main/a"},
		{within.Inside("/main/a"), "/main/.trees/w/a"}, {within.Inside("/main/.trees/w/a"), "/main/.trees/w/a"}, {within.Outside("/main/.trees/w/a"), "/main/a"}, {within.Outside("/main/a"), "/main/a"},
	} {
		if test.have != test.want {
			t.Errorf("have %s, want %s", test.have, test.want)
		}
	}
}
