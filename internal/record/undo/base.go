package undo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/bounded"
	"mcp-toolset/internal/record/state"
)

// Warm begins to store the contents of the workspace in the background, unless that is done.
func (s *Store) Warm() {
	if !Commands || s == nil || s.filled.Load() {
		return
	}
	select {
	case s.fill <- struct{}{}:
	default:
		return
	}
	s.start(func() {
		defer func() { <-s.fill }()
		s.filled.Store(true) // until a call leaves something to store
		for more := true; more; {
			more = s.fillSome()
		}
	})
}

// slice is the time for which the fill holds the lock.
const slice = 400 * time.Millisecond

// fillSome stores some contents, and reports whether there are more.
func (s *Store) fillSome() (more bool) {
	if s.lock(s.ctx) != nil {
		return false
	}
	defer s.unlock()
	if s.base == nil || len(s.active) == 0 {
		if _, err := s.look(s.ctx, listingLess); err != nil {
			return false
		}
	}
	ctx, cancel := context.WithTimeout(s.ctx, slice)
	defer cancel()
	jobs := s.base.jobs()
	if len(s.active) > 0 {
		// The base may be what a running call began with, so nothing that the call may have
		// changed without a new stamp is stored for it.
		settled := s.o.Now().Add(-youngMapping).UnixNano()
		jobs = slices.DeleteFunc(jobs, func(j job) bool {
			return j.e.Content != nil || max(j.e.Stamp.Modified, j.e.Stamp.Changed) > settled
		})
	}
	err := s.copy(ctx, jobs, s.o.Quota/4)
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	if err == nil && len(jobs) > 0 {
		_ = s.save()
	}
	return false
}

// listRoots is a variable so that tests can simulate large and slow roots.
var listRoots = list

// failedPath is the path of a file that exists if listing the roots has failed.
func (s *Store) failedPath() string { return filepath.Join(s.dir, "failed") }

// look lists the roots, and makes the listing the base. The first time, timeout is ignored. The
// caller must hold the lock.
func (s *Store) look(ctx context.Context, timeout time.Duration) (*tree, error) {
	if s.trouble != nil && s.o.Now().Before(s.until) {
		return nil, s.trouble
	}
	if err := s.open(); err != nil {
		return nil, s.failed(err)
	}
	if !s.listed {
		timeout = listing
	}
	old := s.base
	// A file system that does not answer must not block the store.
	t, err := bounded.Do(ctx, timeout, func(ctx context.Context) (*tree, error) { return listRoots(ctx, s.roots, s.o.Skip, old) })
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !s.listed || s.trouble == nil {
			_ = os.WriteFile(s.failedPath(), nil, 0o600)
		}
		s.listed = true
		return nil, s.failed(err)
	}
	if s.trouble != nil || !s.listed {
		_ = os.Remove(s.failedPath())
	}
	s.listed, s.trouble, s.said = true, nil, ""
	t.carryFrom(s.base)
	s.base = t
	return t, nil
}

func (s *Store) failed(err error) error {
	if s.trouble == nil {
		s.o.Log.Warn("changes of commands cannot be recorded for undo", "error", err.Error())
	}
	s.trouble, s.until = err, s.o.Now().Add(pause)
	return err
}

// checkpoint lists the roots and stores what is not stored yet, for a limited time. The caller
// must hold the lock.
func (s *Store) checkpoint(ctx context.Context) (*tree, error) {
	t, err := s.look(ctx, listingLess)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, s.patient)
	defer cancel()
	err = s.copy(limited, t.jobs(), s.o.Quota/4)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		s.patient = waitLess
		s.filled.Store(false)
		s.Warm() // runs when the lock is free
	default:
		s.patient = wait
	}
	return t, nil
}

// copy stores contents. It returns an error if it did not try all: ctx has ended, or the store
// is full or fails.
func (s *Store) copy(ctx context.Context, jobs []job, reserve int64) error {
	if len(jobs) == 0 {
		return nil
	}
	var wait sync.WaitGroup
	var next atomic.Int64
	var mu sync.Mutex
	var failed error
	try := func(f *fetcher, some []job) (err error) {
		for _, j := range some {
			if err = ctx.Err(); err == nil {
				err = s.copyOne(f, j, reserve)
			}
			if err != nil {
				break
			}
		}
		mu.Lock()
		defer mu.Unlock()
		failed = cmp.Or(failed, err)
		return failed
	}
	for range min(copiers, 1+len(jobs)/atOnce) {
		wait.Go(func() {
			f := &fetcher{roots: s.roots}
			defer f.close()
			for {
				from := int(next.Add(atOnce)) - atOnce
				if from >= len(jobs) || try(f, jobs[from:min(from+atOnce, len(jobs))]) != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	return failed
}

// atOnce is the number of files that one goroutine stores before it looks for more.
const atOnce = 16

// copyOne stores the content of one file or link, if it is as the listing saw it. It returns
// only errors of the store.
func (s *Store) copyOne(f *fetcher, j job, reserve int64) (err error) {
	c := &content{At: stampNow()}
	var ok bool
	j.e.Content = nil
	if j.e.Stamp.kind() == Link {
		c.Target, ok = f.link(j.path, j.e.Stamp)
	} else {
		var data []byte
		if data, ok = f.file(j.path, j.e.Stamp); ok {
			c.Hash, err = s.objects.put(data, reserve)
		}
	}
	if ok && err == nil { // otherwise it has changed, is gone or not readable: not covered
		j.e.Content = c
	}
	return err
}

// uncovered returns the number of paths that could not be restored, and some of them.
func (t *tree) uncovered() (n int, some []string) {
	add := func(path string) {
		if n++; len(some) < 3 {
			some = append(some, path)
		}
	}
	groups := t.groups()
	check := func(path string, e *entry) {
		if st := e.state(path, groups); !st.restorable() {
			add(path)
		}
		if e.Sub != nil {
			for _, name := range e.Sub.Hidden {
				add(join(path, name))
			}
		}
	}
	for i := range t.Roots {
		if root := &t.Roots[i]; root.Stamp.kind() == Folder {
			check(root.Name, root)
		} else {
			add(root.Name)
		}
	}
	t.each(func(folder string, _ int, e *entry) { check(join(folder, e.Name), e) })
	return n, some
}

// Covered reports whether everything in the roots could be restored now. If not, it returns
// the reason as a clause. It stores what is missing, for a limited time.
func (s *Store) Covered(ctx context.Context) (covered bool, why string) {
	if s == nil || !Commands {
		return false, "changes of commands are not recorded"
	}
	if err := s.lock(ctx); err != nil {
		return false, reason(err)
	}
	defer s.unlock()
	t, err := s.checkpoint(ctx)
	if err == nil {
		err = s.objects.sync()
	}
	if err != nil {
		return false, reason(err)
	}
	n, some := t.uncovered()
	return n == 0, notCovered(n, some)
}

// save writes the base, so that the next server need not read the contents again. The caller
// must hold the lock.
func (s *Store) save() error {
	if s.base == nil {
		return nil
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(s.base); err != nil {
		return err
	}
	if err := s.objects.sync(); err != nil {
		return err
	}
	release, err := s.exclusive("sets.lock")
	if err != nil {
		return err
	}
	defer release()
	return state.Replace(filepath.Join(s.dir, "base"), s.objects.encoder.EncodeAll(b.Bytes(), nil))
}

// maxBase is the limit of the size of the stored base.
const maxBase = 256 << 20

// load reads the base of an earlier server. It trusts only contents that the store has.
func (s *Store) load() {
	t := new(tree)
	if err := s.readTree(filepath.Join(s.dir, "base"), t); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.o.Log.Warn("the base of the undo store is made again", "error", err.Error())
		}
		return
	}
	t.each(func(_ string, _ int, e *entry) {
		if e.Content != nil && e.Stamp.kind() == File && !s.objects.has(e.Content.Hash) {
			e.Content = nil
		}
	})
	s.base = t
}

// readTree reads a file that save or Secure has written into v.
func (s *Store) readTree(path string, v any) error {
	data, _, err := state.ReadTrusted(path, maxBase)
	if err == nil {
		data, err = s.objects.decodeAll(data)
	}
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(data)).Decode(v)
	}
	return err
}
