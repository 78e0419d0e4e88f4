// Package undo records what calls change in the workspace, and puts earlier states back.
//
// A change set lists the paths that one call changed, each with its state before and after.
// What a file tool changes is known exactly: its content is stored before the new file is
// renamed over it. For everything else (commands, hooks, upstream tools), the roots are listed
// before and after the call. Contents are stored before the call, since they are gone after
// it: a background fill stores those of all files once, and each listing those of the files
// that have changed.
//
// The rules that keep an undo from losing anything:
//
//   - A stored content belongs to a stamp (size, times, inode) that was the same before and
//     after reading it. It is used only for a listing with that stamp, and a young stamp is
//     read again (see young). What could not be stored is named as not covered, and never
//     restored from older content.
//   - An undo changes a path only if the path is exactly as the change left it. What it
//     replaces or removes is in the store first, was taken away from its name before it was
//     compared for the last time, and is put back if it differs (workspace.Spot).
//   - An undo is a change set itself, written before the first file changes. An undo that was
//     killed can be finished by the same undo, or undone.
//   - Folders are removed only if they are empty. Named pipes, sockets and devices are never
//     touched. Nothing outside of the roots is touched, through links or otherwise.
//   - Contents are removed from the store only while no other server uses the workspace.
//
// Four ways to save time were not taken. inotify, which --search-watch=on uses, reports neither stores
// through a mapping that lives on nor those by Linux AIO; the stamps in a listing show both. The
// objects in a git repository of the user go with rm -rf .git or git gc, its hard links would count as
// names outside of the workspace, and attributes make them differ from the files. Reflinks need one
// file for each content, and the content must be read nevertheless for its hash, which takes most of
// the time. Storing before the first call that may write would read everything also for sessions
// that only read.
//
// What a user changes while a command runs cannot be told apart from what the command
// changes: both are in the change set. Changes of file tools and of shorter calls at the same
// time are attributed to those.
package undo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/bounded"
	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/record/state"
	"mcp-toolset/session"
)

// Limits.
const (
	// Quota is the default quota of the stored contents of a workspace, in bytes.
	Quota = 2 << 30
	// maxFile is the size of the largest file that is stored before a command runs.
	maxFile = 10 << 20
	// maxExact is the size of the largest file that is stored for a file tool or an undo: that
	// of the largest file that the tools edit.
	maxExact = 64 << 20
	// maxEntries is the limit of files and folders in the roots. Listing more would delay every
	// command by a second.
	maxEntries = 500_000
	// wait is the timeout for storing contents before a command. After it has passed once, calls
	// wait for waitLess, until the background fill has stored the rest.
	wait     = 15 * time.Second
	waitLess = time.Second
	// listing is the timeout for the first listing and for those after a call. After a first one, or
	// if listing has failed before, also in an earlier server, calls wait for listingLess.
	listing     = 10 * time.Second
	listingLess = 2 * time.Second
	// pause is the time after which listing is tried again if it failed.
	pause = 5 * time.Minute
	// maxAge and maxSets are the limits of change sets of a workspace. maxGone is the age for all of
	// a worktree that does not exist any more.
	maxAge  = 7 * 24 * time.Hour
	maxSets = 2000
	maxGone = time.Hour
)

// after is the time for storing contents after a call: at least this, or a twentieth of the call's
// time. The rest is stored in the background. It is a variable so that tests do not depend on the load
// of the machine.
var after = 100 * time.Millisecond

// copiers is the number of files that are read at the same time.
var copiers = max(2, min(runtime.GOMAXPROCS(0), 4))

var (
	errTooMany = fmt.Errorf("the roots have more than %d files", maxEntries)
	errClosed  = errors.New("the server ends")
	errNoTimes = errors.New("a file system such as FAT does not store when a file was changed")
)

// Options are the options of a Store. All fields are required except Skip, Quota and Now.
type Options struct {
	State string           // the state folder
	Roots *workspace.Roots // the workspace; the first root identifies it
	Skip  []string         // canonical paths that are left out
	Quota int64            // 0: Quota
	// Instance identifies this server in change sets, so that sessions of several servers differ.
	Instance string
	Now      func() time.Time
	Log      *slog.Logger
}

// Store holds the change sets of one workspace. Several processes may use those of the same
// workspace. It creates nothing before the first call that changes something. It is safe for
// concurrent use.
type Store struct {
	o     Options
	dir   string
	roots []string

	work    chan struct{} // held while listing and storing, and for the fields below
	objects *objects
	live    *os.File // locked while this process uses the store
	base    *tree    // the last listing
	active  map[*Recording]bool
	listed  bool  // the roots were listed, or the attempt has failed
	trouble error // why the roots cannot be listed
	until   time.Time
	pruned  time.Time
	said    string        // the last reason why changes were not recorded
	patient time.Duration // timeout for storing contents before a call
	over    bool          // closed

	main *Store      // of the workspace; nil unless this is the store of a worktree
	key  string      // identifies the store in the worktrees of main
	made os.FileInfo // of the first root of a worktree

	other     sync.Mutex // for worktrees
	worktrees []*Store   // the least recently used first

	starting   sync.Mutex // for filling, closed, unsynced and unsyncedIn
	filling    sync.WaitGroup
	closed     bool
	fill       chan struct{} // held by the background fill
	filled     atomic.Bool   // nothing is left to store
	unsynced   []string      // change sets to sync
	unsyncedIn *objects      // has their contents, unless it is closed, which syncs
	ctx        context.Context
	stop       context.CancelCauseFunc
}

// session returns the session of an owner as change sets have it.
func (s *Store) session(o session.Owner) string { return s.o.Instance + "-" + o.Session }

// Mine reports whether a change set is of a session of this server.
func (s *Store) Mine(h *Header, o session.Owner) bool {
	return h.Principal == o.Principal && h.Session == s.session(o)
}

// New returns the store of a workspace.
func New(o Options) *Store {
	if o.Quota == 0 {
		o.Quota = Quota
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{o: o, work: make(chan struct{}, 1), fill: make(chan struct{}, 1), active: map[*Recording]bool{}, patient: wait}
	all := o.Roots.Paths()
	for _, root := range all {
		if !slices.ContainsFunc(all, func(r string) bool { return r != root && workspace.Within(r, root) }) {
			s.roots = append(s.roots, root)
		}
	}
	s.dir = Dir(o.State, all)
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	return s
}

// lock takes the right to list and store.
func (s *Store) lock(ctx context.Context) error {
	select {
	case s.work <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.over {
		s.unlock()
		return errClosed
	}
	return nil
}

func (s *Store) unlock() { <-s.work }

// start runs f in a goroutine that Close waits for. It does nothing after Close.
func (s *Store) start(f func()) {
	s.starting.Lock()
	defer s.starting.Unlock()
	if !s.closed {
		s.filling.Go(f)
	}
}

// open opens the folder of the store. The caller must hold the lock.
func (s *Store) open() error {
	if s.objects != nil {
		return nil
	}
	for _, dir := range []string{s.o.State, filepath.Dir(s.dir), s.dir, filepath.Join(s.dir, "sets")} {
		if err := state.EnsurePrivate(dir); err != nil {
			return err
		}
	}
	if err := s.begin(); err != nil {
		return err
	}
	objects, err := openObjects(filepath.Join(s.dir, "packs"), s.o.Quota)
	if err != nil {
		s.end()
		return err
	}
	s.objects = objects
	if s.main != nil {
		_ = os.WriteFile(filepath.Join(s.dir, worktreeFile), []byte(s.main.o.Roots.Paths()[0]), 0o600)
	}
	s.load()
	_, err = os.Lstat(s.failedPath())
	s.listed = err == nil
	s.forgetOthers()
	err = s.resume()
	s.tidy()
	return err
}

// begin marks the store as used by this process.
func (s *Store) begin() error {
	release, err := s.exclusive("sets.lock")
	if err != nil {
		return err
	}
	defer release()
	if s.live, err = os.CreateTemp(s.dir, "live-"); err != nil {
		return err
	}
	if _, err = filelock.TryLock(s.live); err == nil {
		err = s.describe()
	}
	if err != nil {
		s.end()
	}
	return err
}

// end removes the mark of begin.
func (s *Store) end() {
	_ = s.live.Close()
	_ = os.Remove(s.live.Name())
	s.live = nil
}

// exclusive takes a lock between processes.
func (s *Store) exclusive(name string) (release func(), err error) {
	file, err := os.OpenFile(filepath.Join(s.dir, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), time.Minute, errors.New("another server holds the lock of the undo store"))
	defer cancel()
	if err := filelock.Lock(ctx, file); err != nil {
		_ = file.Close()
		return nil, cmp.Or(context.Cause(ctx), fmt.Errorf("locking the undo store: %w", err))
	}
	return func() { _ = file.Close() }, nil
}

// alone reports whether no other process uses the store, and removes the marks of those that
// have ended. The caller must hold sets.lock.
func (s *Store) alone() bool {
	marks, err := filepath.Glob(filepath.Join(s.dir, "live-*"))
	if err != nil {
		return false
	}
	alone := true
	for _, mark := range marks {
		if s.live != nil && mark == s.live.Name() {
			continue
		}
		file, err := os.OpenFile(mark, os.O_RDWR, 0)
		if err != nil {
			alone = alone && errors.Is(err, os.ErrNotExist)
			continue
		}
		free, err := filelock.TryLock(file)
		if err != nil || !free {
			alone = false
		} else {
			_ = os.Remove(mark)
		}
		_ = file.Close()
	}
	return alone
}

// Close ends the background fill, stores the change sets of what still runs, and closes the store.
// Closing it again has no effect.
func (s *Store) Close() error {
	s.stop(errClosed)
	for _, r := range s.running() {
		r.release(1 << 20)
	}
	s.starting.Lock()
	s.closed = true
	s.starting.Unlock()
	s.filling.Wait()
	err := s.closeWorktrees()
	s.work <- struct{}{}
	defer s.unlock()
	s.over = true
	if s.objects == nil {
		return err
	}
	err = errors.Join(err, s.save(), s.objects.close())
	s.end()
	s.objects = nil
	return err
}

// running returns the recordings that have not ended.
func (s *Store) running() []*Recording {
	s.work <- struct{}{}
	defer s.unlock()
	return slices.Collect(maps.Keys(s.active))
}

// reason returns why changes of commands are not recorded now, as a clause; "" if they are.
func reason(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errTooMany):
		return err.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, bounded.ErrTime):
		return "listing the roots takes too long"
	}
	return strings.TrimSpace(err.Error())
}
