package undo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/session"
)

// Request selects what to undo.
type Request struct {
	Owner   session.Owner // who undoes
	Call    string        // its call
	Numbers []int         // change sets, undone together
	Paths   []string      // only these paths and what is below them; none: all
	DryRun  bool          // only find out what would be done
	Force   bool          // also replace and remove what has changed since; only for the user
	// Allowed returns an error for a path that must not be changed. nil: all are allowed.
	Allowed func(path string) error
}

// Outcome is the effect of an undo.
type Outcome struct {
	Number    int // of the change set that the undo is; 0: nothing changed
	Done      []Step
	Unchanged int // paths that already are as before
	Refused   []Step
}

// Step is what was done at a path, or why nothing was done there.
type Step struct {
	Path string
	Text string
	c    *Change
}

// Refusals.
var (
	errChanged  = errors.New("changed since")
	errUnstored = errors.New("what it was is not stored")
	errLinked   = errors.New("it has hard links outside of the roots or too many, which cannot be made again")
	errLarge    = errors.New("what it is now is too large to be stored first")
	errSpecial  = errors.New("it is or was a named pipe, a socket, a device or a folder that cannot be read")
	errOpen     = errors.New("a program has it open for writing, which would write to the removed file")
	errMoved    = errors.New("the call has moved it in from outside of the roots, where an undo cannot put it back")
	errGap      = errors.New("somebody else changed it between these calls")
)

// errNoPath is the error of Restore if the change sets have no change at the paths.
var errNoPath = errors.New("nothing was changed at this path")

// syncers is the number of files that an undo makes at the same time.
const syncers = 16

// restoration is an undo that runs.
type restoration struct {
	s     *Store
	r     Request
	steps []*step

	changes []Change        // all that is asked for, sorted by path
	gap     map[string]bool // paths that others changed between two of the change sets
	out     Outcome
	made    map[inode]string // paths of files with several names that were made
}

// step is one change that an undo reverts.
type step struct {
	Change
	now   State // what is there
	alone bool  // made without its other names
	taken bool  // what was there has been removed
	force bool  // as in Request
}

// Restore undoes change sets. Several are undone as one: each path becomes what it was before
// the first. After an error, a part may be done; the change set Outcome.Number, if any, has it.
func (s *Store) Restore(ctx context.Context, r Request) (Outcome, error) {
	if err := s.lock(ctx); err != nil {
		return Outcome{}, err
	}
	defer s.unlock()
	if err := s.open(); err != nil {
		return Outcome{}, err
	}
	release, err := s.exclusive("restore.lock")
	if err != nil {
		return Outcome{}, err
	}
	defer release()
	u := &restoration{s: s, r: r, gap: map[string]bool{}, made: map[inode]string{}}
	if err := u.merge(); err != nil {
		return u.out, err
	}
	if !r.DryRun {
		u.sweep() // first: what is left may be further hard links of the files to undo
	}
	if err := u.plan(ctx); err != nil {
		return u.out, err
	}
	if r.DryRun {
		for _, st := range u.steps {
			u.did(st)
		}
		return u.out, nil
	}
	if len(u.steps) == 0 {
		return u.out, nil
	}
	return u.out, u.run(ctx)
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
		return errNoPath
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

// expected reports whether what is there is what the change left, or what an undo leaves that is
// killed: nothing, between removing a folder or its opposite and making the other, or a folder
// with a mode in which files can be made.
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

// stateAt returns what is at a path, with its content.
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

// stateIn returns the state of what was found. The content is hashed, not stored.
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

// check returns a check that accepts exactly what the plan found.
func (st *step) check(l *workspace.Look) error {
	now, err := stateIn(l)
	if err != nil {
		return err
	}
	if !now.same(&st.now) && !(st.modeOnly() && now.Stamp == st.now.Stamp) {
		return errChanged
	}
	if st.open(&now) {
		return errOpen
	}
	return nil
}

// open reports whether a program may write to the file that is at the path now after the undo has
// taken it away.
func (st *step) open(now *State) bool { return now.writing && !st.force && !st.modeOnly() }

// run does what was planned.
func (u *restoration) run(ctx context.Context) error {
	set := &Set{Header: Header{
		Principal: u.r.Owner.Principal, Session: u.s.session(u.r.Owner), Tool: "Undo", Call: u.r.Call, Title: title(u.r.Numbers),
		Began: u.s.o.Now(), Ended: u.s.o.Now(), Undoes: u.r.Numbers, Unfinished: true,
	}}
	u.steps = slices.DeleteFunc(u.steps, func(st *step) bool {
		err := u.store(st)
		if err != nil {
			u.refuse(st, err)
		}
		return err != nil
	})
	if len(u.steps) == 0 {
		return nil
	}
	for _, st := range u.steps {
		set.Changes = append(set.Changes, Change{Path: st.Path, Before: st.now, After: st.Before})
	}
	if err := u.s.add(set, true); err != nil {
		return fmt.Errorf("storing what the undo changes: %w", err)
	}
	u.out.Number = set.Number
	done := u.execute(ctx)
	u.s.claim(nil, done)
	set.Changes, set.Unfinished, set.Ended = done, false, u.s.o.Now()
	if len(done) == 0 {
		u.out.Number = 0
		return os.Remove(u.s.setPath(set.Number))
	}
	if err := u.s.write(set, true); err != nil {
		return fmt.Errorf("storing what the undo has changed: %w", err)
	}
	return context.Cause(ctx)
}

// sweep removes what killed undos have left beside the paths of this one, if the change sets and the
// store have it.
func (u *restoration) sweep() {
	swept := map[string]bool{}
	for i := range u.changes {
		c := &u.changes[i]
		for _, folder := range []string{filepath.Dir(c.Path), c.Path} {
			if swept[folder] || folder == c.Path && c.Before.Kind != Folder && c.After.Kind != Folder {
				continue
			}
			swept[folder] = true
			left, err := u.s.o.Roots.Leftovers(folder)
			if err != nil {
				continue
			}
			for _, spot := range left {
				_ = spot.Remove(func(l *workspace.Look) error {
					now, err := stateIn(l)
					if err == nil && u.has(&now) && (now.Kind == Link || u.s.objects.has(now.Hash)) {
						return nil
					}
					return errChanged
				})
				spot.Close()
			}
		}
	}
}

// has reports whether the change sets have the content of a file or the target of a link.
func (u *restoration) has(st *State) bool {
	return slices.ContainsFunc(u.changes, func(c Change) bool {
		return slices.ContainsFunc([]State{c.Before, c.After}, func(o State) bool {
			return o.Kind == st.Kind && o.Known && st.Known && o.Hash == st.Hash && o.Target == st.Target
		})
	})
}

func title(numbers []int) string {
	if len(numbers) == 1 {
		return fmt.Sprintf("undo of %d", numbers[0])
	}
	return fmt.Sprintf("undo of %d change sets", len(numbers))
}

// store stores what the undo will replace or remove.
func (u *restoration) store(st *step) error {
	if st.now.Kind != File || !st.now.Known {
		return nil
	}
	file, err := u.s.o.Roots.OpenRegular(st.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	data, ok := readAs(file, st.now.Stamp)
	if !ok || sha256.Sum256(data) != st.now.Hash {
		return errChanged
	}
	if _, err := u.s.objects.put(data, -u.s.o.Quota/2); err != nil { // a full store must not prevent an undo
		return err
	}
	_, err = u.s.objects.get(st.now.Hash)
	return err
}

// execute reverts the changes in an order in which each can be: folders that must become
// writable, removals from below, the rest from above, and the modes of folders at the end.
func (u *restoration) execute(ctx context.Context) (done []Change) {
	failed := map[*step]bool{}
	var mu sync.Mutex // for failed and u.out
	fail := func(st *step) {
		mu.Lock()
		defer mu.Unlock()
		failed[st] = true
	}
	try := func(st *step, f func(*step, *workspace.Spot) error) {
		mu.Lock()
		skip := failed[st]
		mu.Unlock()
		if skip || ctx.Err() != nil {
			fail(st)
			return
		}
		spot, err := u.s.o.Roots.Spot(st.Path)
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("its folder does not exist any more")
		}
		if err == nil {
			err = f(st, spot)
			spot.Close()
		}
		if err != nil {
			fail(st)
			mu.Lock()
			defer mu.Unlock()
			u.refuse(st, err)
		}
	}
	for _, st := range u.steps {
		if st.now.Kind == Folder && st.now.Mode&0o700 != 0o700 {
			try(st, func(st *step, at *workspace.Spot) error { return at.SetMode(st.now.Mode|0o700, isFolder) })
		}
	}
	for _, st := range slices.Backward(u.steps) {
		if st.now.Kind != Nothing && (st.Before.Kind == Nothing || (st.now.Kind == Folder) != (st.Before.Kind == Folder)) {
			try(st, removeAt)
		}
	}
	for _, st := range u.steps {
		if st.Before.Kind == Folder {
			try(st, u.make)
		}
	}
	// Most of the time goes to syncing files, which is far faster for several at once.
	var wait sync.WaitGroup
	slots := make(chan struct{}, syncers)
	for _, st := range u.steps {
		if st.single() {
			slots <- struct{}{}
			wait.Go(func() {
				try(st, u.make)
				<-slots
			})
		}
	}
	wait.Wait()
	for _, st := range u.steps {
		if st.Before.Kind != Nothing && st.Before.Kind != Folder && !st.single() {
			try(st, u.make)
		}
	}
	for _, st := range u.steps {
		if st.alone { // its other names may only be right by now
			try(st, u.linkAgain)
		}
	}
	for _, st := range slices.Backward(u.steps) {
		if st.Before.Kind == Folder {
			try(st, func(st *step, at *workspace.Spot) error { return at.SetMode(st.Before.Mode, isFolder) })
		} else if st.now.Kind == Folder && failed[st] {
			_ = u.s.setFolder(st.Path, st.now.Mode)
		}
	}
	u.sync()
	slices.SortStableFunc(u.out.Refused, func(a, b Step) int { return strings.Compare(a.Path, b.Path) })
	for _, st := range u.steps {
		switch {
		case !failed[st]:
			u.did(st)
			done = append(done, Change{Path: st.Path, Before: st.now, After: st.Before})
		case st.taken: // removed, but what was there before could not be made
			done = append(done, Change{Path: st.Path, Before: st.now})
		}
	}
	return done
}

// single reports whether what the step makes is a file without other names, so that it depends on no
// other step than those for folders, and small enough to have many in memory.
func (st *step) single() bool {
	return st.Before.Kind == File && st.Before.Links <= 1 && st.Before.Size <= 1<<20
}

// sync syncs the folders in which something was changed. It ignores errors: the change set has all
// that is needed to finish the undo.
func (u *restoration) sync() {
	synced := map[string]bool{}
	for _, st := range u.steps {
		folder := filepath.Dir(st.Path)
		if synced[folder] {
			continue
		}
		synced[folder] = true
		if spot, err := u.s.o.Roots.Spot(st.Path); err == nil {
			_ = spot.Sync()
			spot.Close()
		}
	}
}

func isFolder(l *workspace.Look) error {
	if !l.Info.IsDir() {
		return errChanged
	}
	return nil
}

func (s *Store) setFolder(path string, mode fs.FileMode) error {
	spot, err := s.o.Roots.Spot(path)
	if err != nil {
		return err
	}
	defer spot.Close()
	return spot.SetMode(mode, isFolder)
}

func removeAt(st *step, at *workspace.Spot) (err error) {
	if st.now.Kind == Folder {
		err = at.RemoveFolder()
	} else {
		err = at.Remove(st.check)
	}
	st.taken = err == nil
	return err
}

// make makes what was there before.
func (u *restoration) make(st *step, at *workspace.Spot) error {
	var check func(*workspace.Look) error // of what is replaced; nil: nothing is
	if st.now.Kind != Nothing && st.now.Kind != Folder && st.Before.Kind != Folder {
		check = st.check
	}
	switch st.Before.Kind {
	case Folder:
		if st.now.Kind == Folder {
			return nil
		}
		return at.MakeFolder()
	case Link:
		return at.PutLink(st.Before.Target, check)
	}
	if check != nil && st.now.Kind == File && (st.now.Hash == st.Before.Hash && st.now.Links <= 1 && st.Before.Links <= 1 || !st.now.Known) {
		return at.SetMode(st.Before.Mode, st.check)
	}
	if linked, err := u.link(st, at, check); linked || err != nil {
		return err
	}
	data, err := u.s.objects.get(st.Before.Hash)
	if err != nil {
		return err
	}
	owner := workspace.Owner{User: int(st.Before.User), Group: int(st.Before.Group)}
	if err := at.PutFile(bytes.NewReader(data), st.Before.Mode, owner, check); err != nil {
		return err
	}
	if st.Before.Links > 1 {
		u.made[inodeOf(st.Before.Stamp)], st.alone = st.Path, true
	}
	return nil
}

// linkAgain makes a file that was made by itself another name of the one that it was before.
func (u *restoration) linkAgain(st *step, at *workspace.Spot) error {
	linked, err := u.link(st, at, func(l *workspace.Look) error {
		if now, err := stateIn(l); err != nil || !now.same(&st.Before) {
			return errChanged
		}
		return nil
	})
	if linked || errors.Is(err, errChanged) {
		st.alone = !linked
		return nil
	}
	return err
}

// link makes the path another name of a file that it was one of before, if there is such a file
// with the content and mode of before.
func (u *restoration) link(st *step, at *workspace.Spot, over func(*workspace.Look) error) (linked bool, err error) {
	if st.Before.Links <= 1 {
		return false, nil
	}
	for _, path := range append([]string{u.made[inodeOf(st.Before.Stamp)]}, st.Before.Others...) {
		if path == "" || path == st.Path {
			continue
		}
		// After earlier undos, the file may have another inode.
		if other, err := u.s.stateAt(path); err != nil || !other.same(&st.Before) {
			continue
		}
		if mine := u.s.lookAt(st.Path); mine != nil && over != nil {
			if other := u.s.lookAt(path); other != nil && os.SameFile(mine.Info, other.Info) {
				return true, nil
			}
		}
		from, err := u.s.o.Roots.Spot(path)
		if err != nil {
			continue
		}
		err = at.PutHardLink(from, func(l *workspace.Look) error {
			if now, err := stateIn(l); err != nil || !now.same(&st.Before) {
				return errChanged
			}
			return nil
		}, over)
		from.Close()
		return err == nil, err
	}
	return false, nil
}

func (u *restoration) refuse(st *step, err error) {
	u.out.Refused = append(u.out.Refused, Step{Path: st.Path, Text: err.Error(), c: &st.Change})
}

func (u *restoration) did(st *step) {
	text := "restored"
	switch {
	case st.Before.Kind == Nothing:
		text = "removed"
	case st.now.Kind == Nothing:
		text = "made again"
	case st.now.Kind == st.Before.Kind && st.now.Hash == st.Before.Hash && st.now.Target == st.Before.Target:
		text = "mode restored"
	}
	if st.alone && !slices.ContainsFunc(u.steps, func(o *step) bool { return o != st && !o.alone && slices.Contains(st.Before.Others, o.Path) }) {
		text += ", without its other names"
	}
	u.out.Done = append(u.out.Done, Step{Path: st.Path, Text: text, c: &Change{Path: st.Path, Before: st.now, After: st.Before}})
}
