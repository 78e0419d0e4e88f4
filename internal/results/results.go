// Package results stores results that are too long for a model on disk.
//
// Layout: <root>/<server>/<holder>/<file>, or <folder>/<part> in place of the file. A server holds
// the lock on <root>/<server>.lock while it lives, and takes it before its folder exists. A holder
// is a session, or a principal for calls without a session, and is held until released.
//
// Cleaning happens after a server's first result and while storing more, never at start. It removes
// only results that nobody holds: first those older than maxAge, then the oldest until the quota is
// met. The first result does not wait for the count of other servers' results, so the quota may be
// exceeded by that much.
package results

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/store"
)

// Limits of all stored results of a user.
const (
	// Quota is the limit of all results, in bytes. It is large compared with the 100 KB that make a
	// result too long, and small compared with a disk.
	Quota int64 = 1 << 30
	// maxAge is the age limit of results nobody holds. It outlasts a conversation left over a long
	// weekend.
	maxAge = 7 * 24 * time.Hour
	// sweepEvery is the interval at which a server that stores results looks for old ones.
	sweepEvery = time.Hour
	// cleanTime is the timeout for cleaning when the store is closed. Cleaning takes seconds if
	// there are a thousand servers' folders and the disk must be read for each (2.5 s with 1,740),
	// and clients kill a server that ends late.
	cleanTime = 500 * time.Millisecond
)

// ErrQuota means that the results in use leave no room.
var ErrQuota = errors.New("stored results have used up their quota")

// Store holds results below one root folder. It is safe for concurrent use.
type Store struct {
	root   string
	server string // this server's folder
	quota  int64
	now    func() time.Time

	mu      sync.Mutex    // held while sweeping, which may take long
	lock    io.Closer     // the lock on server; nil before the first result
	count   int           // number of results stored
	used    int64         // bytes below root at the last sweep, plus those stored since
	swept   time.Time     // time of the last sweep; zero before the first
	cleaned chan struct{} // closed after the cleaning that the first result starts

	holders sync.Mutex     // always locked last
	held    map[string]int // holder folders, with the number of Holds

	closing atomic.Bool // whether to stop cleaning
}

// New returns a store. It accesses no file.
func New(root string, quota int64, now func() time.Time) *Store {
	return &Store{root: root, server: filepath.Join(root, rand.Text()), quota: quota, now: now, held: map[string]int{}}
}

// Hold returns the folder of a holder, which may not exist yet, and retains its content until
// Release.
func (s *Store) Hold(holder string) string {
	dir := filepath.Join(s.server, holder)
	s.holders.Lock()
	defer s.holders.Unlock()
	s.held[dir]++
	return dir
}

// Release undoes one Hold.
func (s *Store) Release(dir string) {
	s.holders.Lock()
	defer s.holders.Unlock()
	if s.held[dir]--; s.held[dir] <= 0 {
		delete(s.held, dir)
	}
}

// Save writes data to a new file in dir, which must come from Hold, and returns its path. The name
// describes the result; Save makes it unique.
func (s *Store) Save(dir, name, data string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	path := filepath.Join(dir, fmt.Sprintf("%04d-%s.txt", s.count, name))
	if err := s.write(path, data); err != nil {
		return "", err
	}
	return path, nil
}

// write makes room for a new file and writes it.
func (s *Store) write(path, data string) error {
	first, err := s.makeRoom(int64(len(data)), 0)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("creating the results folder: %w", err)
	}
	if err := writeNew(path, data); err != nil {
		return fmt.Errorf("storing a result: %w", err)
	}
	s.stored(int64(len(data)), first)
	return nil
}

// makeRoom makes room for room bytes, and for slack bytes more if it has to sweep. first reports
// whether this is the server's first result; periodic sweeps begin only after that is stored.
func (s *Store) makeRoom(room, slack int64) (first bool, err error) {
	if first = s.lock == nil; first {
		if s.lock, err = store.OwnFolder(s.server); err != nil {
			return first, err
		}
	}
	if s.used+room > s.quota || s.cleaned != nil && s.now().Sub(s.swept) > sweepEvery {
		if err := s.sweep(room + slack); err != nil {
			return first, err
		}
	}
	if s.used+room > s.quota {
		return first, ErrQuota
	}
	return first, nil
}

// stored counts stored bytes. After the first result it starts the cleaning of other servers'
// results.
func (s *Store) stored(bytes int64, first bool) {
	s.used += bytes
	if first {
		s.cleaned = make(chan struct{})
		go s.clean(s.cleaned)
	}
}

// clean performs the first sweep, unless another result has done so.
func (s *Store) clean(done chan<- struct{}) {
	defer close(done)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.swept.IsZero() {
		_ = s.sweep(0) // a later result tries again and returns the error
	}
}

// Close releases this server's folder. Its content remains readable until a later server cleans up.
// Close lets cleaning run for cleanTime.
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
	if s.lock == nil {
		return nil
	}
	err := s.lock.Close()
	s.lock = nil
	return err
}

// writeNew writes a new file completely or not at all. It fails if the file exists.
func writeNew(path, data string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// loose is a holder folder that nobody holds.
type loose struct {
	dir  string
	size int64
	last time.Time // time of the last write to any of its files
}

// sweep removes results until there is room, and counts the rest.
func (s *Store) sweep(room int64) error {
	s.used, s.swept = 0, s.now()
	var free []loose
	entries, err := os.ReadDir(s.root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the user may remove it
		return fmt.Errorf("cleaning the results folder: %w", err)
	}
	for _, e := range entries {
		if s.closing.Load() {
			return nil // what may be removed is not known yet
		}
		if dir := filepath.Join(s.root, e.Name()); e.IsDir() {
			found, used := s.survey(dir)
			free = append(free, found...)
			s.used += used
		}
	}
	slices.SortFunc(free, func(a, b loose) int { return a.last.Compare(b.last) })
	for _, l := range free {
		if s.closing.Load() || s.used+room <= s.quota && s.now().Sub(l.last) < maxAge {
			break
		}
		if s.remove(l.dir) {
			s.used -= l.size
		}
	}
	return nil
}

// remove removes a holder's folder, unless it is held again.
func (s *Store) remove(dir string) bool {
	s.holders.Lock()
	defer s.holders.Unlock()
	return s.held[dir] == 0 && os.RemoveAll(dir) == nil
}

// survey returns the folders in a server's folder that nobody holds, and the size of all of them.
func (s *Store) survey(dir string) (free []loose, used int64) {
	if dir != s.server {
		lock, err := store.TryLock(dir + store.LockExt)
		if err != nil {
			return nil, s.measure(dir).size // it belongs to a live server, which cleans it
		}
		defer func() {
			if os.Remove(dir) == nil { // only if it is empty
				_ = os.Remove(dir + store.LockExt)
			}
			_ = lock.Close()
		}()
	}
	holders, _ := os.ReadDir(dir)
	for _, h := range holders {
		l := s.measure(filepath.Join(dir, h.Name()))
		used += l.size
		s.holders.Lock()
		if s.held[l.dir] == 0 {
			free = append(free, l)
		}
		s.holders.Unlock()
	}
	return free, used
}

// measure returns the total size of the files below dir. It stops early if the store is closing.
func (s *Store) measure(dir string) loose {
	l := loose{dir: dir}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
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

// HolderName turns any id into a folder name.
func HolderName(id string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, id)
	return name[:min(len(name), 100)]
}
