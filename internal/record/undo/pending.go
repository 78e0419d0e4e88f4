package undo

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/gob"
	"os"
	"path/filepath"
	"strings"

	"mcp-toolset/internal/record/state"
)

// pending is what a call that may destroy files began with. If the server is killed during the call,
// the next process that uses the store makes the change set from it.
type pending struct {
	Header
	Start *tree
}

const pendingBegin = "pending-"

// Secure makes sure that everything can be restored that the call may change, also if the server is
// killed meanwhile. If that is not so, it returns the reason as a clause.
func (r *Recording) Secure() (why string) {
	if r.start == nil {
		return reason(r.why)
	}
	s := r.s
	if err := s.lock(context.Background()); err != nil {
		return reason(err)
	}
	defer s.unlock()
	if why := notCovered(r.start.uncovered()); why != "" {
		return why
	}
	if err := s.objects.sync(); err != nil {
		return reason(err)
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(pending{r.header(), r.start}); err != nil {
		return reason(err)
	}
	path := filepath.Join(s.dir, pendingBegin+strings.ToLower(rand.Text()))
	if err := state.Replace(path, s.objects.encoder.EncodeAll(b.Bytes(), nil)); err != nil {
		return reason(err)
	}
	r.pending = path
	return ""
}

// Resume stores the change sets of calls during which a server was killed. It does nothing while
// another process uses the store.
func (s *Store) Resume(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	return s.open()
}

// pendings returns the paths of the files by Secure.
func (s *Store) pendings() []string {
	paths, _ := filepath.Glob(filepath.Join(s.dir, pendingBegin+"*")) // fails only for a bad pattern
	return paths
}

// resume is Resume for the one who opens the store. Calls that cannot be resumed are forgotten.
func (s *Store) resume() error {
	left := s.pendings()
	if len(left) == 0 {
		return nil
	}
	release, err := s.exclusive("sets.lock")
	if err != nil {
		return err
	}
	alone := s.alone()
	release()
	for _, path := range left {
		if !alone {
			break
		}
		var p pending
		err := s.readTree(path, &p)
		if err == nil {
			r := &Recording{s: s, began: p.Began, whole: true, start: p.Start}
			set := &Set{Header: p.Header}
			set.Late, set.Ended = true, s.o.Now()
			if set.Changes, err = r.compare(s.ctx); err == nil && len(set.Changes) > 0 {
				err = s.add(set, true)
			}
		}
		if err != nil {
			s.o.Log.Warn("the changes of a call whose server was killed cannot be undone", "error", err.Error())
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}
