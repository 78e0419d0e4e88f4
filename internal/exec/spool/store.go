// Package spool stores the output of commands: all of it on disk, unmodified. The text for a model
// is made on request.
//
// An entry of the store is the file of a log. It is retained while it is written.
package spool

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"mcp-toolset/internal/record/store"
)

const (
	logExt = ".log"
	// maxName is the limit of the readable part of a file name, in characters.
	maxName = 40
	// maxFiles is the limit of logs, without those of other running servers.
	maxFiles = 2000
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
	store *store.Store
	quota Quota

	mu   sync.Mutex
	logs map[string]*Log
}

// NewStore returns a store. It accesses no file.
func NewStore(root string, quota Quota, now func() time.Time) *Store {
	return limited(root, quota, maxFiles, now)
}

func limited(root string, quota Quota, files int, now func() time.Time) *Store {
	s := &Store{store: store.New(root, store.Limits{Bytes: quota.All, Entries: files}, now), quota: quota, logs: map[string]*Log{}}
	s.store.Evicted = s.evicted
	return s
}

// New makes a log. The name of its file begins with name and cannot be guessed.
func (s *Store) New(name string) (*Log, error) {
	if err := s.store.Add(); err != nil {
		return nil, err
	}
	path := s.store.Hold(store.Name(name, maxName) + "-" + rand.Text() + logExt)
	l, err := s.create(path)
	if err != nil {
		s.store.Release(path)
		return nil, fmt.Errorf("making a file for the output: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logs[path] = l
	return l, nil
}

func (s *Store) create(path string) (*Log, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Log{store: s, path: path, file: f, identity: info, out: f, full: make(chan struct{}), done: make(chan struct{})}, nil
}

// Close releases this server's folder. Its files remain until a later server cleans up. No log may
// be written afterwards.
func (s *Store) Close() error { return s.store.Close() }

// reserve makes room for up to n more bytes of a log that has had bytes. With an error it returns
// the room there is.
func (s *Store) reserve(had, n int64) (room int64, err error) {
	if had+n > s.quota.Task {
		n, err = max(0, s.quota.Task-had), ErrTaskQuota
	}
	if room = s.store.ReserveSome(n); room < n {
		err = ErrAllQuota
	}
	return room, err
}

// evicted marks the log of a file that cleaning has removed.
func (s *Store) evicted(path string) {
	s.mu.Lock()
	l := s.logs[path]
	delete(s.logs, path)
	s.mu.Unlock()
	if l != nil {
		l.evict()
	}
}

// remove removes a log's file.
func (s *Store) remove(l *Log) error {
	s.mu.Lock()
	_, there := s.logs[l.path]
	delete(s.logs, l.path)
	s.mu.Unlock()
	if !there {
		return nil // cleaning has removed it
	}
	if err := s.store.Remove(l.path); err != nil {
		return fmt.Errorf("removing output: %w", err)
	}
	return nil
}
