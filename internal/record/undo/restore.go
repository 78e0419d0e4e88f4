package undo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	Paths   []string      // only at and below these paths; none: all
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

// Step describes the change at a path, or the reason why there is none.
type Step struct {
	Path string
	Text string
	c    *Change
}

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

// Restore undoes change sets. Several are undone as one: each path gets the state from before
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
		u.sweep() // first: these may be further hard links of the files to undo
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

// check accepts only the state that the plan has found.
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

// run stores the present contents, writes the change set of the undo, and makes the planned changes.
func (u *restoration) run(ctx context.Context) error {
	set := &Set{Header: Header{
		Principal: u.r.Owner.Principal, Session: u.s.session(u.r.Owner), Tool: "Undo", Call: u.r.Call, Title: title(u.r.Numbers),
		Began: u.s.o.Now(), Ended: u.s.o.Now(), Undoes: u.r.Numbers, Exact: true, Unfinished: true,
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

// sweep removes files and links that killed undos have left beside the paths of this one, if the
// change sets and the store have them.
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
					if err != nil || !u.has(&now) {
						return errChanged
					}
					if now.Kind == File {
						if _, err = u.s.objects.get(now.Hash); err == nil {
							err = u.s.objects.sync()
						}
					}
					return err
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

// readAs reads a file that has the stamp before and after.
func readAs(file *os.File, want stamp) ([]byte, bool) {
	if now, err := statFile(file); err != nil || now != want {
		return nil, false
	}
	data := make([]byte, want.Size)
	if _, err := io.ReadFull(file, data); err != nil {
		return nil, false
	}
	now, err := statFile(file)
	return data, err == nil && now == want
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
		case st.taken: // removed, but the earlier entry could not be made
			done = append(done, Change{Path: st.Path, Before: st.now})
		}
	}
	return done
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

// make gives a path its earlier state, except the mode of a folder.
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
