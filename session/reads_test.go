package session

import (
	"slices"
	"testing"

	"mcp-toolset/internal/workspace"
)

func TestRangesOfOneFile(t *testing.T) {
	s := New(Config{Roots: []string{"/w"}})
	read := func(r Read) { s.Apply(Effect{Reads: []Read{r}}) }
	old, changed := workspace.Identity{Inode: 1, ModTime: 1}, workspace.Identity{Inode: 1, ModTime: 2}
	head, page := Range{Offset: 1}, Range{FirstPage: 1, LastPage: 2}
	read(Read{Path: "/w/a", Range: head, File: old, Shown: true})
	read(Read{Path: "/w/a", Range: page, File: old, Shown: true})
	read(Read{Path: "/w/a", Range: head, File: old})
	v := s.View()
	if r, ok := v.ReadOf("/w/a", head); !ok || r.Shown {
		t.Errorf("a range read again: %+v, %v", r, ok)
	}
	if r, ok := v.ReadOf("/w/a", page); !ok || !r.Shown {
		t.Errorf("the other range: %+v, %v", r, ok)
	}
	if _, ok := v.ReadOf("/w/a", Range{Offset: 2}); ok {
		t.Error("a range that nobody read has a record")
	}
	if r, _ := v.LastRead("/w/a"); r.Range != head {
		t.Errorf("the latest record is %+v", r)
	}
	read(Read{Path: "/w/a", Range: head, File: changed, Shown: true})
	if _, ok := v.ReadOf("/w/a", page); ok {
		t.Error("a record of what the file was before a change is still there")
	}
	for i := range maxRanges + 5 {
		read(Read{Path: "/w/a", Range: Range{Offset: i + 10}, File: changed})
	}
	if n := len(s.reads.of["/w/a"]); n != maxRanges {
		t.Errorf("%d ranges of one file are kept", n)
	}
	if _, ok := v.ReadOf("/w/a", Range{Offset: maxRanges + 14}); !ok {
		t.Error("the latest range is gone")
	}
}

// TestListeners: they hear of a read when the record has it, in order, and
// not after they stopped.
func TestListeners(t *testing.T) {
	s := New(Config{Roots: []string{"/w"}})
	var heard []string
	stop := s.OnRead(func(r Read) {
		if had, ok := s.View().LastRead(r.Path); !ok || had != r {
			t.Errorf("told of %+v before the record has it: %+v, %v", r, had, ok)
		}
		heard = append(heard, r.Path)
	})
	s.Apply(Effect{Dir: "/w/sub"})
	s.Apply(Effect{Reads: []Read{{Path: "/w/a"}, {Path: "/w/b"}}})
	stop()
	stop()
	s.Apply(Effect{Reads: []Read{{Path: "/w/c"}}})
	if want := []string{"/w/a", "/w/b"}; !slices.Equal(heard, want) {
		t.Errorf("heard of %v, want %v", heard, want)
	}
}

func TestStatelessTellsNobody(t *testing.T) {
	s := New(Config{Roots: []string{"/w"}, Stateless: true})
	s.OnRead(func(r Read) { t.Errorf("told of %+v", r) })
	s.Apply(Effect{Reads: []Read{{Path: "/w/a"}}})
}
