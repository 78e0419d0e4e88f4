package session

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/file/workspace"
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

// TestListeners checks that listeners are called in order, after the session
// has stored the read, and not after stop.
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

// TestReadsOfForgetting checks that sessions that forget share what was read, and that none takes a
// text for shown.
func TestReadsOfForgetting(t *testing.T) {
	all := New(Config{})
	one, two := New(Config{Stateless: true, Reads: all}), New(Config{Stateless: true, Reads: all})
	one.Apply(Effect{Dir: "/elsewhere", Reads: []Read{{Path: "/a", Shown: true}}})
	if _, ok := two.View().LastRead("/a"); !ok {
		t.Error("the read is not known")
	}
	if _, ok := two.View().Seen("/a"); !ok {
		t.Error("the file was not seen")
	}
	if _, ok := two.View().ReadOf("/a", Range{}); ok {
		t.Error("another model has the text")
	}
	if one.View().Dir != "" {
		t.Error("the folder was kept")
	}
	two.Narrow("h")
	if _, ok := two.View().LastRead("/a"); ok {
		t.Error("a session with a handle has the reads of others")
	}
}

func TestStatelessTellsNobody(t *testing.T) {
	s := New(Config{Roots: []string{"/w"}, Stateless: true})
	s.OnRead(func(r Read) { t.Errorf("told of %+v", r) })
	s.Apply(Effect{Reads: []Read{{Path: "/w/a"}}})
}

// TestRepeats checks the record that remains after two reads of the same range.
// It must not depend on how they were answered.
func TestRepeats(t *testing.T) {
	at := time.Unix(1000, 0)
	first := Read{Path: "/w/a", Range: Range{Offset: 1}, File: workspace.Identity{Size: 3, ModTime: 1}, Hash: [32]byte{1}, At: at, Shown: true}
	large := first
	large.Hash, large.Large = [32]byte{}, true
	with := func(r Read, change func(*Read)) Read {
		change(&r)
		return r
	}
	fresh := with(large, func(r *Read) { r.File.ModTime = at.Add(-time.Second).UnixNano() })
	told := func(r Read) Read { return with(r, func(r *Read) { r.Told = true }) }
	later := func(r Read, d time.Duration) Read { return with(r, func(r *Read) { r.At = at.Add(d) }) }
	for name, tc := range map[string]struct {
		reads []Read
		want  Read
	}{
		"the first repeat renews nothing":   {[]Read{first, later(first, time.Minute)}, told(first)},
		"the second has the content":        {[]Read{first, first, later(first, time.Minute)}, told(later(first, time.Minute))},
		"late":                              {[]Read{first, later(first, RepeatedFor)}, told(first)},
		"too late":                          {[]Read{first, later(first, RepeatedFor+1)}, later(first, RepeatedFor+1)},
		"too late behind a repeat":          {[]Read{first, first, later(first, RepeatedFor+1)}, later(first, RepeatedFor+1)},
		"another content at the same times": {[]Read{first, first, with(first, func(r *Read) { r.Hash[0] = 2 })}, with(first, func(r *Read) { r.Hash[0] = 2 })},
		"other times":                       {[]Read{first, first, with(first, func(r *Read) { r.File.ModTime = 2 })}, with(first, func(r *Read) { r.File.ModTime = 2 })},
		"another range":                     {[]Read{first, with(first, func(r *Read) { r.Range.Offset = 2 })}, with(first, func(r *Read) { r.Range.Offset = 2 })},
		"behind a write":                    {[]Read{with(first, func(r *Read) { r.Shown = false }), first}, first},
		"a content that is not known":       {[]Read{with(first, func(r *Read) { r.Hash[0] = 0 }), with(first, func(r *Read) { r.Hash[0] = 0 })}, with(first, func(r *Read) { r.Hash[0] = 0 })},
		"large":                             {[]Read{large, later(large, time.Minute)}, told(large)},
		"large and just written":            {[]Read{fresh, later(fresh, time.Minute)}, later(fresh, time.Minute)},
	} {
		s := New(Config{Roots: []string{"/w"}})
		var heard Read
		s.OnRead(func(r Read) { heard = r })
		for _, r := range tc.reads {
			s.Apply(Effect{Reads: []Read{r}})
		}
		got, _ := s.View().LastRead("/w/a")
		if diff := cmp.Diff(tc.want, got); diff != "" || heard != got {
			t.Errorf("%s (-want +got):\n%s\ntold %+v", name, diff, heard)
		}
	}
}
