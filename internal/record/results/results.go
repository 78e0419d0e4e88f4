// Package results stores results that are too long for a model on disk.
//
// An entry of the store is the folder of a holder: a session, or a principal for
// calls without a session. It is retained until released. It contains files and
// folders of parts.
//
// Package store removes what no running server retains, after store.MaxAge or
// when the quota needs room. Cleaning never runs at start, and the first result
// does not wait for it: it takes longer the more servers have left results.
package results

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/record/store"
)

// Quota is the limit of all results of a user, in bytes. It is large compared
// with the 100 KB that make a result too long, and small compared with a disk.
const Quota int64 = 1 << 30

// ErrQuota means that the results in use leave no room.
var ErrQuota = errors.New("stored results have used up their quota")

// Store holds results below one root folder. It is safe for concurrent use.
//
// The first result does not wait for the count of other servers' results, so the
// quota may be exceeded by that much.
type Store struct {
	store *store.Store
	count atomic.Int64 // number of results stored
}

// New returns a store. It accesses no file.
func New(root string, quota int64, now func() time.Time) *Store {
	return &Store{store: store.New(root, store.Limits{Bytes: quota}, now)}
}

// Hold returns the folder of a holder, which may not exist yet, and retains its
// content until Release. The holder may be any text.
func (s *Store) Hold(holder string) string { return s.store.Hold(store.Name(holder, 100)) }

// Release undoes one Hold.
func (s *Store) Release(dir string) { s.store.Release(dir) }

// Close releases this server's folder. Its content remains readable until a
// later server cleans up.
func (s *Store) Close() error { return s.store.Close() }

// Save writes data to a new file in dir, which must come from Hold, and returns
// its path. The name describes the result; Save makes it unique.
func (s *Store) Save(dir, name, data string) (string, error) {
	path := s.newPath(dir, name+".txt")
	if err := s.write(path, data); err != nil {
		return "", err
	}
	return path, nil
}

// newPath returns a unique path in the folder of a holder.
func (s *Store) newPath(dir, name string) string {
	return filepath.Join(dir, fmt.Sprintf("%04d-%s", s.count.Add(1), name))
}

// write makes room for a new file and writes it. Cleaning begins once the first
// result is stored.
func (s *Store) write(path, data string) error {
	n := int64(len(data))
	if err := s.reserve(n, 0); err != nil {
		return err
	}
	if err := writeNew(path, data); err != nil {
		s.store.Settle(n, 0)
		return fmt.Errorf("storing a result: %w", err)
	}
	s.store.Settle(n, n)
	s.store.Clean()
	return nil
}

func (s *Store) reserve(n, slack int64) error {
	err := s.store.Reserve(n, slack)
	if errors.Is(err, store.ErrQuota) {
		return ErrQuota
	}
	return err
}

// create creates a file that does not exist, and its folder.
func create(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// writeNew writes a new file completely or not at all.
func writeNew(path, data string) error {
	f, err := create(path)
	if err != nil {
		return err
	}
	_, err = f.WriteString(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
