package undo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

// Limits of texts.
const (
	maxLines = 40       // steps in a text
	maxDiff  = 64 << 10 // size of the contents that are compared
	maxShown = 8 << 10  // size of the diffs in a text
)

// Last returns the number of the newest change set of a session that is neither an undo nor
// undone. ok is false if there is none.
func (s *Store) Last(o session.Owner) (number int, ok bool, err error) {
	list, err := s.List(maxSets, func(h *Header) bool { return s.Mine(h, o) })
	if err != nil {
		return 0, false, err
	}
	undone := map[int]bool{}
	for _, h := range list {
		switch {
		case undone[h.Number]:
		case h.Unfinished:
		case len(h.Undoes) > 0:
			for _, n := range h.Undoes {
				undone[n] = true
			}
		default:
			return h.Number, true, nil
		}
	}
	return 0, false, nil
}

// Text describes an outcome. root is a folder whose name is left out of paths; dry is as in
// Request.
func (o *Outcome) Text(root string, dry bool) string {
	var b strings.Builder
	switch {
	case len(o.Done) == 0 && len(o.Refused) == 0:
		b.WriteString("Nothing to do: all paths are already as they were before the call.\n")
	case len(o.Done) == 0:
		b.WriteString("Nothing was changed.\n")
	case dry:
		fmt.Fprintf(&b, "An undo would change %s:\n", paths(len(o.Done)))
	default:
		fmt.Fprintf(&b, "%s changed (undo %d takes this back):\n", paths(len(o.Done)), o.Number)
	}
	write := func(steps []Step) {
		for _, s := range steps[:min(len(steps), maxLines)] {
			fmt.Fprintf(&b, "  %s: %s\n", relative(root, s.Path), plain.Line(s.Text))
		}
		if more := len(steps) - maxLines; more > 0 {
			fmt.Fprintf(&b, "  and %d more\n", more)
		}
	}
	write(o.Done)
	if o.Unchanged > 0 && len(o.Done)+len(o.Refused) > 0 {
		fmt.Fprintf(&b, "%s already as before.\n", paths(o.Unchanged))
	}
	if len(o.Refused) > 0 {
		b.WriteString("Not undone:\n")
		write(o.Refused)
	}
	return b.String()
}

func paths(n int) string {
	if n == 1 {
		return "1 path"
	}
	return fmt.Sprintf("%d paths", n)
}

func relative(root, path string) string {
	if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) && root != "" {
		path = rel
	}
	return plain.Line(path)
}

// Diffs returns the changes of contents that the steps of an outcome make, as unified diffs of
// limited size.
func (s *Store) Diffs(o *Outcome, root string) string {
	var b strings.Builder
	if s.lock(context.Background()) != nil {
		return ""
	}
	defer s.unlock()
	if s.objects == nil {
		return ""
	}
	for _, step := range o.Done {
		c := step.c
		if c == nil || c.Before.Kind != File && c.After.Kind != File || c.Before.Hash == c.After.Hash {
			continue
		}
		name := relative(root, step.Path)
		before, err1 := s.text(&c.Before)
		after, err2 := s.text(&c.After)
		if errors.Join(err1, err2) != nil {
			continue
		}
		text := udiff.Unified(name, name, before, after)
		if b.Len()+len(text) > maxShown {
			b.WriteString("[further diffs are left out]\n")
			break
		}
		b.WriteString(plain.Lines(text))
	}
	return b.String()
}

var errNoText = errors.New("it is no text, or too large to be compared")

// text returns the content of a state that is a small text, from the store or, for one that was
// not stored, an error.
func (s *Store) text(st *State) (string, error) {
	if st.Kind != File {
		return "", nil
	}
	if st.Size > maxDiff || !st.Known {
		return "", errNoText
	}
	data, err := s.objects.get(st.Hash)
	if err == nil && (!utf8.Valid(data) || slices.Contains(data, 0)) {
		err = errNoText
	}
	return string(data), err
}
