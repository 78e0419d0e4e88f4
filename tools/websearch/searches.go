package websearch

import (
	"context"
	"errors"
	"sync"
	"time"

	"mcp-toolset/session"
	"mcp-toolset/web/search"
)

const (
	// mostSearches is the limit of the searches of a session, as in Claude Code.
	mostSearches = 200
	// recent is how long the results of a search are used again.
	recent = 5 * time.Minute
	// maxRecent is the limit of stored searches. Each takes a few KB.
	maxRecent = 200
)

// Searches counts the searches of sessions and deduplicates them: identical searches of a
// principal within five minutes are one. It is safe for concurrent use. The zero value is empty.
type Searches struct {
	mu     sync.Mutex
	counts session.Owned[int]
	made   map[searchKey]*made
}

// searchKey identifies equal searches.
type searchKey struct{ principal, query string }

// made is a search that runs or has succeeded.
type made struct {
	done    chan struct{}
	at      time.Time // when it succeeded; zero while it runs
	waiting int       // calls that wait for it
	cancel  context.CancelFunc
	results search.Results
	err     error
	panic   any // value that the search panicked with; nil if it did not
}

// Forget drops the count of an owner.
func (s *Searches) Forget(o session.Owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Delete(o)
}

// take counts a search. It reports false if the owner has none left.
func (s *Searches) take(o session.Owner) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeLocked(o)
}

func (s *Searches) takeLocked(o session.Owner) bool {
	if o.Session == "" { // requests without a session, which never end
		return true
	}
	n := s.counts.Get(o)
	if *n >= mostSearches {
		return false
	}
	*n++
	return true
}

// do returns the results of run, or those of an identical search that runs or was recent. Only
// a run counts; left is false if the owner has none left. run gets a context that ends when no
// call waits for it.
func (s *Searches) do(ctx context.Context, o session.Owner, query string, run func(context.Context) (search.Results, error)) (results search.Results, left bool, err error) {
	key := searchKey{o.Principal, query}
	s.mu.Lock()
	m := s.made[key]
	if m != nil && !m.at.IsZero() && time.Since(m.at) > recent {
		m = nil
	}
	if m == nil {
		if !s.takeLocked(o) {
			s.mu.Unlock()
			return search.Results{}, false, nil
		}
		m = s.start(ctx, key, run)
	}
	m.waiting++
	s.mu.Unlock()
	select {
	case <-m.done:
		err = m.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.mu.Lock()
	if m.waiting--; m.waiting == 0 && m.at.IsZero() {
		m.cancel()
		if s.made[key] == m {
			delete(s.made, key)
		}
	}
	s.mu.Unlock()
	if err != nil {
		if err == errPanic {
			panic(m.panic) // for the pipeline to log
		}
		return search.Results{}, true, err
	}
	return m.results, true, nil
}

// start runs a search. s is locked.
func (s *Searches) start(ctx context.Context, key searchKey, run func(context.Context) (search.Results, error)) *made {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m := &made{done: make(chan struct{}), cancel: cancel}
	if s.made == nil {
		s.made = map[searchKey]*made{}
	}
	s.drop()
	s.made[key] = m
	go func() {
		defer cancel()
		results, err := m.run(ctx, run)
		s.mu.Lock()
		defer s.mu.Unlock()
		m.results, m.err = results, err
		switch {
		case err == nil:
			m.at = time.Now()
		case s.made[key] == m:
			delete(s.made, key)
		}
		close(m.done)
	}()
	return m
}

// errPanic is the error of a search that panicked.
var errPanic = errors.New("the search panicked")

// run calls f, and records a panic.
func (m *made) run(ctx context.Context, f func(context.Context) (search.Results, error)) (results search.Results, err error) {
	defer func() {
		if m.panic = recover(); m.panic != nil {
			err = errPanic
		}
	}()
	return f(ctx)
}

// drop removes searches that are not recent, and the oldest if too many remain. s is locked.
func (s *Searches) drop() {
	var oldest searchKey
	for key, m := range s.made {
		switch {
		case m.at.IsZero():
		case time.Since(m.at) > recent:
			delete(s.made, key)
		case oldest == searchKey{} || m.at.Before(s.made[oldest].at):
			oldest = key
		}
	}
	if len(s.made) >= maxRecent {
		delete(s.made, oldest)
	}
}
