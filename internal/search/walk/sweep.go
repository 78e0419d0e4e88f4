package walk

import (
	"context"
	"slices"
)

// sweep looks at the files of folders in the same pass as at the folders.
type sweep struct {
	ctx        context.Context
	first      []int // of the listing of the nodes
	stamps     []Stamp
	done       []bool             // by folder
	newChooser func() StatChooser // see RefreshStat; nil: there are none
}

// StatChooser chooses which files of the folders of a [Listing] are looked at, and receives
// their stamps at once. Folders are given by their index. A StatChooser is for one
// goroutine. It must not call the Tree, which waits for it.
type StatChooser interface {
	// Choose returns which files of a folder are looked at; nil means all.
	Choose(folder int) []bool
	// Receive receives the stamps of all files of an unchanged folder. Files that were not
	// looked at have the zero Stamp.
	Receive(folder int, stamps []Stamp)
}

// RefreshStat is [Tree.Refresh] followed by Stat of its result. It uses buf if that is
// large enough. It is faster: an unchanged folder is opened once, or not at all.
//
// Each worker calls newChooser once, when it begins, for a StatChooser of the folders of
// the listing of. If of is not the last listing any more, or newChooser is nil, all files
// are looked at. So are all files of a changed folder.
func (t *Tree) RefreshStat(ctx context.Context, buf []Stamp, of *Listing, newChooser func() StatChooser) (*Listing, []Stamp, error) {
	if err := t.begin(ctx); err != nil {
		return nil, nil, err
	}
	defer t.end()
	vouched := t.drain()
	top, err := t.openTop(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer top.Close()
	if !stampsReliable || t.listing == nil || t.dirty || vouched {
		l, err := t.refresh(ctx, top.top, vouched && t.sameTop(top.top), nil)
		if err != nil {
			return nil, nil, err
		}
		stamps, err := l.Stat(ctx, buf)
		return l, stamps, err
	}
	old := t.listing
	s := &sweep{ctx: ctx, first: old.First, stamps: resize(buf, old.Files), done: make([]bool, len(old.Dirs))}
	if of == old {
		s.newChooser = newChooser
	}
	l, err := t.refresh(ctx, top.top, false, s)
	if err != nil {
		return nil, nil, err
	}
	if l != old {
		s = s.moved(old, l)
	}
	l.stat(ctx, top.top, s.stamps, s.done)
	return l, s.stamps, ctx.Err()
}

// resize returns n stamps of any value, in buf if that is large enough.
func resize(buf []Stamp, n int) []Stamp {
	if cap(buf) < n {
		return make([]Stamp, n)
	}
	return buf[:n]
}

// same is [node.same], and looks at the files of an unchanged folder. Such a folder is
// on a local file system, because a folder on another one is never the same.
func (s *sweep) same(n *node, loc *locator) (same bool) {
	if loc.chooser == nil && s.newChooser != nil {
		loc.chooser = s.newChooser()
	}
	stamps := s.stamps[s.first[n.index]:][:len(n.dir.Files)]
	var want []bool
	if loc.chooser != nil {
		want = loc.chooser.Choose(int(n.index))
	}
	loc.pace.turn(func(quiet bool) (calls int) {
		loc.unnotified = quiet && !n.mixed
		if same = n.same(loc); !same {
			return 1
		}
		calls = loc.files(s.ctx, n.dir, stamps, want)
		mixed := slices.ContainsFunc(stamps, func(f Stamp) bool { return f.Dev != n.key.dev && f != Stamp{} })
		n.mixed = mixed || n.mixed && calls < len(stamps)
		return 2 + calls
	})
	if same && loc.chooser != nil {
		loc.chooser.Receive(int(n.index), stamps)
	}
	s.done[n.index] = same
	return same
}

// moved returns the sweep for the listing l, with the results for folders of old.
func (s *sweep) moved(old, l *Listing) *sweep {
	was := make(map[*Dir]int, len(old.Dirs))
	for i, d := range old.Dirs {
		if s.done[i] {
			was[d] = i
		}
	}
	m := &sweep{ctx: s.ctx, first: l.First, stamps: make([]Stamp, l.Files), done: make([]bool, len(l.Dirs))}
	for i, d := range l.Dirs {
		if at, ok := was[d]; ok {
			copy(m.stamps[l.First[i]:], s.stamps[old.First[at]:][:len(d.Files)])
			m.done[i] = true
		}
	}
	return m
}
