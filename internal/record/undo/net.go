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

// Net returns the paths that a session has changed since a time, in the order of their last change.
func (s *Store) Net(o session.Owner, since time.Time) (out []Net, err error) {
	mine := map[int]bool{}
	if s == nil {
		return nil, nil
	}
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
