package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// unlockedEntry is an entry that nobody holds.
type unlockedEntry struct {
	path string
	size int64
	last time.Time // time of the last write to any of its files
}

// sweep removes entries until there is room, and counts the rest.
func (s *Store) sweep(room int64) error {
	servers, err := os.ReadDir(s.root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the user may remove it
		return fmt.Errorf("cleaning %s: %w", s.root, err)
	}
	// Make room for several entries at a time, since a sweep examines all of them.
	most := s.limits.Entries
	if s.entries >= most {
		most -= max(1, most/10)
	}
	s.used, s.entries, s.swept = s.pending, 0, s.now()
	var free []unlockedEntry
	for _, e := range servers {
		if s.closing.Load() {
			return nil // what may be removed is not known yet
		}
		if e.IsDir() {
			free = append(free, s.survey(filepath.Join(s.root, e.Name()))...)
		}
	}
	slices.SortFunc(free, func(a, b unlockedEntry) int { return a.last.Compare(b.last) })
	for _, l := range free {
		if s.closing.Load() {
			break
		}
		age := s.now().Sub(l.last)
		crowded := s.limits.Entries > 0 && s.entries > most && age >= minAge
		if s.used+room <= s.limits.Bytes && age < MaxAge && !crowded {
			break
		}
		if s.evict(l.path) {
			s.used -= l.size
			s.entries--
		}
	}
	return nil
}

// survey counts the entries of a server and returns those that nobody holds. A
// running server cleans up its own.
func (s *Store) survey(dir string) (free []unlockedEntry) {
	if dir == s.server {
		return s.look(dir, true)
	}
	if !Reclaim(dir, func() { free = s.look(dir, true) }) {
		s.look(dir, false)
	}
	return free
}

// look counts the entries of a folder and returns those that nobody holds.
// Those that are not ours to remove do not count as entries.
func (s *Store) look(dir string, ours bool) (free []unlockedEntry) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		l := s.measure(filepath.Join(dir, e.Name()))
		s.used += l.size
		if !ours {
			continue
		}
		s.entries++
		s.holders.Lock()
		if s.held[l.path] == 0 {
			free = append(free, l)
		}
		s.holders.Unlock()
	}
	return free
}

// measure returns the total size of an entry. It stops early if the store is
// closing.
func (s *Store) measure(path string) unlockedEntry {
	l := unlockedEntry{path: path}
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if s.closing.Load() {
			return fs.SkipAll
		}
		if err != nil || d.IsDir() {
			return nil // the file has vanished meanwhile, or it is a folder
		}
		if info, err := d.Info(); err == nil {
			l.size += info.Size()
			if info.ModTime().After(l.last) {
				l.last = info.ModTime()
			}
		}
		return nil
	})
	return l
}

// evict removes an entry, unless it is held again since it was seen.
func (s *Store) evict(path string) bool {
	s.holders.Lock()
	gone := s.held[path] == 0 && os.RemoveAll(path) == nil
	s.holders.Unlock()
	if gone && s.Evicted != nil {
		s.Evicted(path)
	}
	return gone
}

// Remove removes an entry of this server, or a part of one, whether it is held
// or not.
func (s *Store) Remove(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	size := s.measure(path).size
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	s.used -= size
	if filepath.Dir(path) == s.server {
		s.entries--
	}
	return nil
}
