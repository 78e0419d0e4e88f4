// Package store manages folders that all servers of a user share, such as those
// of stored results and of the output of commands.
//
// Layout: <root>/<server>/<entry>. An entry is a file or a folder. A server
// holds the lock on <root>/<server>.lock while it lives, and takes it before its
// folder exists.
//
// Cleaning happens while storing, never at start. It removes only entries of
// servers that have ended and entries of this server that nobody holds: first
// those older than MaxAge, then the oldest until the limits are met.
package store

import (
	"crypto/rand"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/record/state"
)

const (
	// MaxAge is the age limit of entries that nobody holds. It outlasts a
	// conversation left over a long weekend.
	MaxAge = 7 * 24 * time.Hour
	// SweepEvery is the interval at which a server that stores something looks
	// for old entries.
	SweepEvery = time.Hour
	// minAge is the time for which the limit of entries does not apply to an
	// entry: an answer may be about to name it.
	minAge = time.Minute
	// cleanTime is the timeout for cleaning when the store is closed. Cleaning
	// takes seconds if there are a thousand servers' folders and the disk must be
	// read for each (2.5 s with 1,740), and clients kill a server that ends late.
	cleanTime = 500 * time.Millisecond
)

// ErrQuota means that entries in use leave no room.
var ErrQuota = errors.New("the store is full")

// Limits holds the limits of all entries of a user.
type Limits struct {
	Bytes   int64
	Entries int // without those of other running servers; 0: no limit
}

// Store manages the entries of one server, and cleans up those of others. It is
// safe for concurrent use.
type Store struct {
	// Evicted, if not nil, is called with the path of each entry that cleaning
	// has removed. It must not call the store.
	Evicted func(path string)

	root   string
	server string // this server's folder
	limits Limits
	now    func() time.Time

	mu      sync.Mutex    // held while sweeping, which may take long
	own     *Folder       // nil before the first entry
	used    int64         // bytes below root at the last sweep, plus those reserved or stored since
	pending int64         // bytes reserved and not settled
	entries int           // at the last sweep, plus those made since
	swept   time.Time     // time of the last sweep; zero before the first
	cleaned chan struct{} // closed after the cleaning that Clean starts

	holders sync.Mutex     // always locked last
	held    map[string]int // entries, with the number of Holds

	closing atomic.Bool // whether to stop cleaning
}

// New returns a store. It accesses no file.
func New(root string, limits Limits, now func() time.Time) *Store {
	return &Store{root: root, server: filepath.Join(root, rand.Text()), limits: limits, now: now, held: map[string]int{}}
}

// Hold returns the path of an entry, which may not exist yet, and retains it
// until Release.
func (s *Store) Hold(name string) string {
	path := filepath.Join(s.server, name)
	s.holders.Lock()
	defer s.holders.Unlock()
	s.held[path]++
	return path
}

// Release undoes one Hold.
func (s *Store) Release(path string) {
	s.holders.Lock()
	defer s.holders.Unlock()
	if s.held[path]--; s.held[path] <= 0 {
		delete(s.held, path)
	}
}

// Add counts a new entry, which the caller creates. It makes this server's
// folder and cleans up if that is due or there are too many entries.
func (s *Store) Add() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return err
	}
	if s.due() || s.limits.Entries > 0 && s.entries >= s.limits.Entries {
		_ = s.sweep(0)
	}
	// The user may have removed the folder.
	if err := state.EnsurePrivate(s.server); err != nil {
		return err
	}
	s.entries++
	return nil
}

// Reserve makes room for n bytes, and for slack bytes more if it has to sweep.
// The caller must call Settle. Periodic sweeps begin only after Clean.
//
// A reservation counts through a sweep, so that concurrent writers cannot exceed
// the quota. A sweep may count its bytes twice until the next sweep.
func (s *Store) Reserve(n, slack int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return err
	}
	if s.used+n > s.limits.Bytes || s.cleaned != nil && s.due() {
		if err := s.sweep(n + slack); err != nil {
			return err
		}
	}
	if s.used+n > s.limits.Bytes {
		return ErrQuota
	}
	s.reserve(n)
	return nil
}

// ReserveSome makes room for up to n bytes and returns the room there is. The
// caller must call Settle.
func (s *Store) ReserveSome(n int64) (room int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+n > s.limits.Bytes {
		_ = s.sweep(n)
	}
	room = max(0, min(n, s.limits.Bytes-s.used))
	s.reserve(room)
	return room
}

func (s *Store) reserve(n int64) {
	s.used += n
	s.pending += n
}

// Settle ends a reservation of which so many bytes were written.
func (s *Store) Settle(reserved, written int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending -= reserved
	s.used -= reserved - written
}

// Return gives up bytes that were removed from a file.
func (s *Store) Return(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
}

// Usage returns the number of bytes and of entries, as far as they are known.
func (s *Store) Usage() (bytes int64, entries int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.entries
}

// Clean starts the cleaning of other servers' entries, once. Until it has
// looked at them, they may exceed the limits together with what is stored here.
func (s *Store) Clean() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cleaned != nil || s.own == nil {
		return
	}
	s.cleaned = make(chan struct{})
	go func() {
		defer close(s.cleaned)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.swept.IsZero() {
			_ = s.sweep(0) // a later Reserve tries again and returns the error
		}
	}()
}

// Close releases this server's folder. Its content remains readable until a
// later server cleans up. Close lets cleaning run for cleanTime.
func (s *Store) Close() error {
	late := time.AfterFunc(cleanTime, func() { s.closing.Store(true) })
	defer late.Stop()
	s.mu.Lock()
	cleaned := s.cleaned
	s.mu.Unlock()
	if cleaned != nil {
		<-cleaned
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own == nil {
		return nil
	}
	err := s.own.Close()
	s.own = nil
	return err
}

// open takes the lock of this server's folder. The caller must hold s.mu. This
// applies to all methods below.
func (s *Store) open() (err error) {
	if s.own == nil {
		s.own, err = Own(s.server)
	}
	return err
}

func (s *Store) due() bool { return s.now().Sub(s.swept) > SweepEvery }

// Name turns any text into a name of up to most characters, without the
// characters that have a meaning in paths.
func Name(text string, most int) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, text)
	return name[:min(len(name), most)]
}
