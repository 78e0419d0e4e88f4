package undo

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"mcp-toolset/internal/file/workspace"
)

// Refusals.
var (
	errChanged  = errors.New("changed since")
	errUnstored = errors.New("its earlier content is not stored")
	errLinked   = fmt.Errorf("it has hard links outside of the roots, or more than %d, which an undo cannot make again", maxOthers)
	errLarge    = fmt.Errorf("its present content is larger than %d MiB or cannot be read, so it cannot be stored first", maxExact>>20)
	errSpecial  = errors.New("it is or was a named pipe, a socket, a device or a folder that cannot be read")
	errOpen     = errors.New("a program has it open for writing; end the program first")
	errMoved    = errors.New("the call has moved it in from outside of the roots, where an undo cannot put it back")
	errGap      = errors.New("somebody else changed it between these calls")
)

// ErrNoPath is the error of Restore if the change sets have no change at the paths.
var ErrNoPath = errors.New("no change is recorded at this path")

// step is one change that an undo reverts.
type step struct {
	Change
	now   State // at present
	alone bool  // made without its other names
	taken bool  // the entry of now has been removed
	force bool  // as in Request
}

// wanted reports whether the request selects a path.
func (r *Request) wanted(path string) bool {
	return len(r.Paths) == 0 || slices.ContainsFunc(r.Paths, func(p string) bool { return workspace.Within(p, path) })
}

// merge sets the changes of all change sets as one.
func (u *restoration) merge() error {
	numbers := slices.Clone(u.r.Numbers)
	slices.Sort(numbers)
	all := map[string]Change{}
	for _, n := range numbers {
		set, err := u.s.read(n, true)
		if err != nil {
			return err
		}
		for _, c := range set.Changes {
			if !u.r.wanted(c.Path) {
				continue
			}
			if first, ok := all[c.Path]; ok {
				if !first.After.same(&c.Before) && !(first.After.Stamp == c.Before.Stamp && first.After.Kind == c.Before.Kind) {
					u.gap[c.Path] = true
				}
				c.Before = first.Before
			}
			all[c.Path] = c
		}
	}
	if len(all) == 0 {
		return ErrNoPath
	}
	u.changes = slices.SortedFunc(maps.Values(all), func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// plan finds out what to do at each path.
func (u *restoration) plan(ctx context.Context) error {
	for i := range u.changes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		st := &step{Change: u.changes[i], force: u.r.Force}
		err := u.consider(st)
		switch {
		case errors.Is(err, workspace.ErrNoChange):
			u.out.Unchanged++
		case err != nil:
			u.refuse(st, err)
		default:
			u.steps = append(u.steps, st)
		}
	}
	return u.findOthers(ctx)
}

// findOthers completes the other names of the files that are there now, so that the undo can be
// undone. A file with names elsewhere is only removed, not replaced.
func (u *restoration) findOthers(ctx context.Context) error {
	if !slices.ContainsFunc(u.steps, func(st *step) bool { return st.now.Kind == File && st.now.Links > 1 }) {
		return nil
	}
	t, err := u.s.look(ctx, listing)
	if err != nil {
		return err
	}
	groups := t.groups()
	u.steps = slices.DeleteFunc(u.steps, func(st *step) bool {
		if st.now.Kind != File || st.now.Links <= 1 {
			return false
		}
		st.now.findOthers(st.Path, groups)
		refused := st.now.Others == nil && st.Before.Kind != Nothing && !u.r.Force
		if refused {
			u.refuse(st, errLinked)
		}
		return refused
	})
	return nil
}

// consider returns nil if the change can be reverted, ErrNoChange if that is not necessary, and
// otherwise the reason why not.
func (u *restoration) consider(st *step) error {
	var err error
	if st.now, err = u.s.stateAt(st.Path); err != nil {
		return err
	}
	switch {
	case st.now.same(&st.Before) && u.linkedAsBefore(st):
		return workspace.ErrNoChange
	case st.now.Kind == Special || st.After.Kind == Special || st.Before.Kind == Special || st.Before.Kind == Folder && !st.Before.Known:
		return errSpecial
	case !st.Before.Known && st.Before.Kind != Nothing:
		return errUnstored
	case !st.Before.restorable() && !u.r.Force:
		return errLinked
	}
	if st.Before.Kind == File {
		if _, err := u.s.objects.get(st.Before.Hash); err != nil {
			return err
		}
	}
	if u.r.Allowed != nil {
		if err := u.r.Allowed(st.Path); err != nil {
			return err
		}
	}
	if !st.expected() && !u.r.Force {
		return errChanged
	}
	switch {
	case u.gap[st.Path] && !u.r.Force:
		return errGap
	case st.open(&st.now):
		return errOpen
	case st.Before.Kind == Nothing && st.After.Moved && !u.r.Force:
		return errMoved
	case st.now.Kind == File && !st.now.Known && !st.modeOnly():
		return errLarge
	}
	return nil
}

// modeOnly reports whether the change was only one of the mode, by the stamps.
func (st *step) modeOnly() bool {
	b, n := &st.Before.Stamp, &st.now.Stamp
	return st.now.Stamp == st.After.Stamp && inodeOf(*b) == inodeOf(*n) && b.Size == n.Size && b.Modified == n.Modified
}

// linkedAsBefore reports whether the file at the path of a change has another name of before, or
// none if it had none.
func (u *restoration) linkedAsBefore(st *step) bool {
	switch {
	case !st.relinked() || st.now.Kind != File:
		return true
	case st.Before.Links <= 1:
		return st.now.Links <= 1
	}
	return slices.ContainsFunc(st.Before.Others, func(path string) bool {
		other := u.s.lookAt(path)
		return other != nil && inodeOf(fromInfo(other.Info)) == inodeOf(st.now.Stamp)
	})
}

// expected reports whether the path is as the change left it, or as a killed undo leaves it. That is
// nothing, where a folder replaces something else or the reverse, or a folder with a mode in which
// files can be made.
func (st *step) expected() bool {
	if st.now.same(&st.After) || st.now.same(&st.Before) { // the latter with other hard links
		return true
	}
	if st.now.Kind == Folder && (st.Before.Kind == Folder || st.After.Kind == Folder) {
		return st.now.Mode == 0o700 || st.After.Kind == Folder && st.now.Mode == st.After.Mode|0o700
	}
	if st.now.Kind == Nothing && st.After.Kind != Nothing && st.Before.Kind != Nothing && (st.After.Kind == Folder) != (st.Before.Kind == Folder) {
		return true
	}
	return st.now.Kind == File && st.After.Kind == File && !st.After.Known && st.now.Stamp == st.After.Stamp
}

// stateAt returns the present state of a path, with the hash of its content.
func (s *Store) stateAt(path string) (State, error) {
	spot, err := s.o.Roots.Spot(path)
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, nil
	}
	if err != nil {
		return State{}, err
	}
	defer spot.Close()
	l, err := spot.Look()
	if err != nil || l == nil {
		return State{}, err
	}
	return stateIn(l)
}

// stateIn returns the state of the entry that l has found. It hashes the content, and does not store it.
func stateIn(l *workspace.Look) (st State, err error) {
	st = stateOf(fromInfo(l.Info))
	switch st.Kind {
	case Link:
		st.Target, err = l.Target()
		st.Known = err == nil
	case File:
		if st.Size > maxExact {
			return st, nil
		}
		file, err := l.Open()
		if errors.Is(err, fs.ErrPermission) {
			return st, nil
		}
		if err != nil {
			return st, err
		}
		defer file.Close()
		st.writing = workspace.Writing(file)
		st.Hash, st.Known, err = hashOf(file, st.Stamp)
		return st, err
	}
	return st, err
}

func hashOf(file *os.File, want stamp) (hash Hash, known bool, err error) {
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(file, maxExact+1))
	if err != nil {
		return hash, false, err
	}
	now, err := statFile(file)
	if err != nil || n != want.Size || now.Size != want.Size || now.Modified != want.Modified {
		return hash, false, errors.Join(err, errChanged)
	}
	return Hash(h.Sum(nil)), true, nil
}

// open reports whether a program may write to the file that is at the path now after the undo has
// taken it away.
func (st *step) open(now *State) bool { return now.writing && !st.force && !st.modeOnly() }

// single reports whether what the step makes is a file without other names, so that it depends on no
// other step than those for folders, and small enough to have many in memory.
func (st *step) single() bool {
	return st.Before.Kind == File && st.Before.Links <= 1 && st.Before.Size <= 1<<20
}
