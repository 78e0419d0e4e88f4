package undo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aymanbagabas/go-udiff"
)

// Shown describes the change of a call at one path.
type Shown struct {
	Path string
	What string // "created", "deleted", "modified", "mode" or "kind"
	Diff string // unified diff of the contents; "" if there is none
	Note string // why there is no diff; may be ""
}

// maxShownDiffs is the limit of the diffs of one change set, in bytes.
const maxShownDiffs = 512 << 10

// Show returns what a change set has changed, with diffs of its texts.
func (s *Store) Show(ctx context.Context, set *Set) ([]Shown, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	if err := s.open(); err != nil {
		return nil, err
	}
	var out []Shown
	room := maxShownDiffs
	for i := range set.Changes {
		c := &set.Changes[i]
		one := Shown{Path: c.Path, What: what(c)}
		if (c.Before.Kind == File || c.After.Kind == File) && c.Before.Hash != c.After.Hash {
			before, err1 := s.text(&c.Before)
			after, err2 := s.text(&c.After)
			switch err := errors.Join(err1, err2); {
			case err != nil:
				one.Note = "the contents are no text, too large, or not stored"
			default:
				one.Diff = udiff.Unified(c.Path, c.Path, before, after)
				if room -= len(one.Diff); room < 0 {
					one.Diff, one.Note = "", fmt.Sprintf("the diffs have more than %d KiB", maxShownDiffs>>10)
				}
			}
		}
		out = append(out, one)
	}
	return out, nil
}

func what(c *Change) string {
	switch {
	case c.Before.Kind == Nothing:
		return "created"
	case c.After.Kind == Nothing:
		return "deleted"
	case c.Before.Kind != c.After.Kind:
		return "kind"
	case c.Before.Hash == c.After.Hash && c.Before.Mode != c.After.Mode:
		return "mode"
	}
	return "modified"
}
