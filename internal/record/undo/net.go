package undo

import (
	"maps"
	"slices"
	"time"

	"mcp-toolset/session"
)

// Net is what the calls of a session and all undos of them have made of a path.
type Net struct {
	Path   string
	What   string // "created", "changed" or "deleted"; "": it is as it was before
	Undone bool   // an undo has changed it
	Number int    // of the last change set with the path
}

// mostNet is the limit of change sets that Net reads, from the newest.
const mostNet = 200

// Net returns the paths that a session has changed since a time, also in worktrees that it has left,
// in the order of their last change.
func (s *Store) Net(o session.Owner, since time.Time) (out []Net, err error) {
	if s == nil {
		return nil, nil
	}
	s.other.Lock()
	all := append([]*Store{s}, s.worktrees...)
	s.other.Unlock()
	for _, w := range all {
		if w.isGone() {
			continue
		}
		list, err := w.net(o, since)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	slices.SortStableFunc(out, func(a, b Net) int { return a.Number - b.Number }) // no two stores have one
	return out, nil
}

// net returns the paths of the store that a session has changed since a time, in the order of their
// last change.
func (s *Store) net(o session.Owner, since time.Time) (out []Net, err error) {
	mine := map[int]bool{}
	list, err := s.List(mostNet, func(h *Header) bool { return !h.Began.Before(since) && !h.Unfinished })
	if err != nil {
		return nil, err
	}
	type known struct {
		Net
		before State
		order  int
	}
	order, of := 0, map[string]*known{}
	for _, h := range slices.Backward(list) {
		undoes := slices.ContainsFunc(h.Undoes, func(n int) bool { return mine[n] })
		if !s.Mine(&h, o) && !undoes {
			continue
		}
		mine[h.Number] = true
		set, err := s.Get(h.Number)
		if err != nil {
			continue // it was removed, or is damaged
		}
		for i := range set.Changes {
			c := &set.Changes[i]
			k := of[c.Path]
			if k == nil {
				k = &known{Net: Net{Path: c.Path}, before: c.Before}
				of[c.Path] = k
			}
			k.Undone, k.Number, k.What = k.Undone || len(h.Undoes) > 0, h.Number, "changed"
			order++
			k.order = order
			switch {
			case k.before.same(&c.After):
				k.What = ""
			case k.before.Kind == Nothing:
				k.What = "created"
			case c.After.Kind == Nothing:
				k.What = "deleted"
			}
		}
	}
	for _, k := range slices.SortedFunc(maps.Values(of), func(a, b *known) int { return a.order - b.order }) {
		out = append(out, k.Net)
	}
	return out, nil
}
