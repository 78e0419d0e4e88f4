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
	done   []bool // by folder
	want   []bool // by file, see RefreshStat
}

// RefreshStat is [Tree.Refresh] and Stat of what that gives, in buf if that has
// the room. It is quicker: a folder that is as it was is opened once, or not at all.
//
// want is which files of a listing need be looked at, counted as in First, if that is
// still the last: the others may have the zero Stamp. Nil is all.
func (t *Tree) RefreshStat(ctx context.Context, buf []Stamp, of *Listing, want []bool) (*Listing, []Stamp, error) {
	if err := t.begin(ctx); err != nil {
		return nil, nil, err
	}
	defer t.end()
	vouched := t.drain()
	top, err := openTop(t.open)
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
		s.want = want
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
	loc.pace.turn(func(quiet bool) (calls int) {
		loc.quiet = quiet && !n.mixed
		if same = n.same(loc); !same {
			return 1
		}
		first := s.first[n.index]
		stamps := s.stamps[first:][:len(n.dir.Files)]
		var want []bool
		if s.want != nil {
			want = s.want[first:][:len(stamps)]
		}
		calls = loc.files(s.ctx, n.dir, stamps, want)
		mixed := slices.ContainsFunc(stamps, func(f Stamp) bool { return f.Dev != n.key.dev && f != Stamp{} })
		n.mixed = mixed || n.mixed && calls < len(stamps)
		return 2 + calls
	})
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
