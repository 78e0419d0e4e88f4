package walk

import (
	"context"
	"slices"
)

// sweep looks at the files of folders in the same pass as at these.
type sweep struct {
	ctx    context.Context
	first  []int // of the listing that the nodes are of
	stamps []Stamp
	done   []bool        // by folder
	looker func() Looker // see RefreshStat; nil: there are none
}

// A Looker says for the folders of a [Listing], by their numbers, which files are
// looked at, and is shown their stamps at once. It is for one goroutine, and must not
// call the Tree, which waits for it.
type Looker interface {
	// Want is which files of a folder are looked at; nil: all.
	Want(folder int) []bool
	// Seen is shown the stamps of all files of a folder that is as it was: those that
	// were not looked at have the zero Stamp.
	Seen(folder int, stamps []Stamp)
}

// RefreshStat is [Tree.Refresh] and Stat of what that gives, in buf if that has
// the room. It is quicker: a folder that is as it was is opened once, or not at all.
//
// Each worker has a looker of its own, made when it begins, for the folders of the
// listing given, if that is still the last; else, and if looker is nil, all files are
// looked at. So are all files of a folder that has changed.
func (t *Tree) RefreshStat(ctx context.Context, buf []Stamp, of *Listing, looker func() Looker) (*Listing, []Stamp, error) {
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
	if !stampsTell || t.listing == nil || t.dirty || vouched {
		l, err := t.refresh(ctx, top.top, vouched && t.sameTop(top.top), nil)
		if err != nil {
			return nil, nil, err
		}
		stamps, err := l.Stat(ctx, buf)
		return l, stamps, err
	}
	old := t.listing
	s := &sweep{ctx: ctx, first: old.First, stamps: room(buf, old.Files), done: make([]bool, len(old.Dirs))}
	if of == old {
		s.looker = looker
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

// room is n stamps of any value, in buf if that has the room.
func room(buf []Stamp, n int) []Stamp {
	if cap(buf) < n {
		return make([]Stamp, n)
	}
	return buf[:n]
}

// same is [node.same], and looks at the files of a folder that is. That is on a
// file system of this machine: what is on others is never the same.
func (s *sweep) same(n *node, loc *locator) (same bool) {
	if loc.looker == nil && s.looker != nil {
		loc.looker = s.looker()
	}
	stamps := s.stamps[s.first[n.index]:][:len(n.dir.Files)]
	var want []bool
	if loc.looker != nil {
		want = loc.looker.Want(int(n.index))
	}
	loc.pace.turn(func(quiet bool) (calls int) {
		loc.quiet = quiet && !n.mixed
		if same = n.same(loc); !same {
			return 1
		}
		calls = loc.files(s.ctx, n.dir, stamps, want)
		mixed := slices.ContainsFunc(stamps, func(f Stamp) bool { return f.Dev != n.key.dev && f != Stamp{} })
		n.mixed = mixed || n.mixed && calls < len(stamps)
		return 2 + calls
	})
	if same && loc.looker != nil {
		loc.looker.Seen(int(n.index), stamps)
	}
	s.done[n.index] = same
	return same
}

// moved is what is known of the folders of another listing.
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
