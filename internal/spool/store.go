// Package spool stores the output of commands: all of it on disk, unmodified. The text for a model
// is made on request.
//
// Layout: <root>/<server>/<log>. A server holds the lock on <root>/<server>.lock while it lives,
// and takes it before its folder exists. Cleaning happens while storing, never at start, and
// removes only logs that nobody writes: first those older than maxAge that no live server holds,
// then the oldest until the quota is met, in bytes and in files.
package spool

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/state"
	"mcp-toolset/internal/store"
)

const (
	// maxAge is the age limit of logs that no live server holds.
	maxAge = 7 * 24 * time.Hour
	// sweepEvery is the interval at which a server that stores output looks for old logs.
	sweepEvery = time.Hour
	logExt     = ".log"
	// maxFiles is the limit of logs, without those of other live servers.
	maxFiles = 2000
	// minAge is the time for which the limit of logs does not apply to a log: an answer may be
	// about to name it.
	minAge = time.Minute
)

// Quota limits the stored output, in bytes.
type Quota struct {
	Task int64 // for one command
	All  int64 // for all commands of all servers of a user
}

// DefaultQuota is many times the output of usual builds and tests.
var DefaultQuota = Quota{Task: 1 << 30, All: 5 << 30}

// The reasons why storing stops.
var (
	ErrTaskQuota = errors.New("it printed more than is kept of one command")
	ErrAllQuota  = errors.New("what running commands printed has used up the room for all output")
)

// Store holds logs below one root folder. It is safe for concurrent use.
type Store struct {
	root   string
	server string // this server's folder
	quota  Quota
	now    func() time.Time

	mu    sync.Mutex
	lock  io.Closer // the lock on server; nil before the first log
	logs  map[string]*Log
	used  int64 // bytes below root at the last sweep, plus those stored since
	files int   // number of files, likewise
	most  int   // maxFiles, except in tests
	swept time.Time
}

// NewStore returns a store. It accesses no file.
func NewStore(root string, quota Quota, now func() time.Time) *Store {
	return &Store{root: root, server: filepath.Join(root, rand.Text()), quota: quota, now: now, most: maxFiles, logs: map[string]*Log{}}
}

// New makes a log. The name of its file begins with name and cannot be guessed.
func (s *Store) New(name string) (*Log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return nil, err
	}
	if s.now().Sub(s.swept) > sweepEvery || s.files >= s.most {
		s.sweep(0)
	}
	// The user may have removed the folder.
	if err := state.EnsurePrivate(s.server); err != nil {
		return nil, err
	}
	path := filepath.Join(s.server, fileName(name)+"-"+rand.Text()+logExt)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making a file for the output: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a file for the output: %w", err), f.Close())
	}
	l := &Log{store: s, path: path, file: f, identity: info, out: f, full: make(chan struct{}), done: make(chan struct{})}
	s.logs[path] = l
	s.files++
	return l, nil
}

// Close releases this server's folder. Its files remain until a later server cleans up. No log may
// be written afterwards.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return nil
	}
	err := s.lock.Close()
	s.lock = nil
	return err
}

func (s *Store) open() error {
	if s.lock != nil {
		return nil
	}
	var err error
	if s.lock, err = store.OwnFolder(s.server); err != nil {
		return err
	}
	s.sweep(0)
	return nil
}

// reserve makes room for up to n more bytes of a log that has had bytes. With an error it returns
// the room there is.
func (s *Store) reserve(had, n int64) (room int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room = n
	if had+room > s.quota.Task {
		room, err = max(0, s.quota.Task-had), ErrTaskQuota
	}
	if s.used+room > s.quota.All {
		s.sweep(room)
	}
	if s.used+room > s.quota.All {
		room, err = max(0, s.quota.All-s.used), ErrAllQuota
	}
	s.used += room
	return room, err
}

// unreserve returns the unused part of a reservation.
func (s *Store) unreserve(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
}

// loose is a file that nobody writes.
type loose struct {
	path string
	size int64
	last time.Time // time of the last write
}

// sweep removes logs until there is room, and counts the rest. It does not count what it cannot
// read.
func (s *Store) sweep(room int64) {
	// Make room for several files at a time, since a sweep examines all of them.
	most := s.most
	if s.files >= most {
		most -= max(1, most/10)
	}
	s.used, s.files, s.swept = 0, 0, s.now()
	var free []loose
	entries, _ := os.ReadDir(s.root)
	for _, e := range entries {
		if dir := filepath.Join(s.root, e.Name()); e.IsDir() {
			free = append(free, s.survey(dir)...)
		}
	}
	slices.SortFunc(free, func(a, b loose) int { return a.last.Compare(b.last) })
	for _, l := range free {
		age := s.now().Sub(l.last)
		if s.used+room <= s.quota.All && age < maxAge && (s.files <= most || age < minAge) {
			break
		}
		if os.Remove(l.path) == nil {
			s.used -= l.size
			s.files--
			if log := s.logs[l.path]; log != nil {
				log.evict()
				delete(s.logs, l.path)
			}
		}
	}
}

// survey counts the files in a server's folder and returns those that nobody writes.
func (s *Store) survey(dir string) (free []loose) {
	live := false
	if dir != s.server {
		lock, err := store.TryLock(dir + store.LockExt)
		if live = err != nil; !live {
			defer func() {
				if os.Remove(dir) == nil { // only if it is empty
					_ = os.Remove(dir + store.LockExt)
				}
				_ = lock.Close()
			}()
		}
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		l := loose{path: filepath.Join(dir, e.Name()), size: info.Size(), last: info.ModTime()}
		s.used += l.size
		if !live {
			s.files++
		}
		if log := s.logs[l.path]; !live && (log == nil || log.isDone()) {
			free = append(free, l)
		}
	}
	return free
}

// remove removes a log's file.
func (s *Store) remove(l *Log, size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logs[l.path] != l {
		return nil // a sweep has removed it
	}
	delete(s.logs, l.path)
	if err := os.Remove(l.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing output: %w", err)
	}
	s.used -= size
	s.files--
	return nil
}

// fileName turns any text into a part of a file name.
func fileName(text string) string {
	const longest = 40
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, text)
	return name[:min(len(name), longest)]
}
