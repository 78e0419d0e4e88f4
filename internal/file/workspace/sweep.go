package workspace

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"mcp-toolset/internal/file/filelock"
)

const (
	// sweepAge is the age from which an unlocked temporary file counts as left by a
	// crash. A file in use is unlocked for a far shorter time.
	sweepAge = time.Minute

	// sweepEvery is the minimum interval of sweeps of one folder. A look at 1,000 names
	// takes about half a millisecond.
	sweepEvery = time.Minute

	// sweepNames is the limit of names that a sweep of one folder looks at: 50 ms at
	// most. In larger folders leftovers may stay.
	sweepNames = 100_000

	// sweptFolders is the limit of remembered folders. When it is reached all are
	// forgotten, which costs one more sweep of each.
	sweptFolders = 1024
)

var errInUse = errors.New("not a leftover")

// sweeps removes temporary files that killed writers left behind.
type sweeps struct {
	mu   sync.Mutex
	last map[string]time.Time // last sweep of each folder
}

// due reports whether the folder is due for a sweep, and records the sweep.
func (s *sweeps) due(folder string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.last[folder]; ok && now.Sub(last) < sweepEvery {
		return false
	}
	if s.last == nil || len(s.last) >= sweptFolders {
		s.last = make(map[string]time.Time)
	}
	s.last[folder] = now
	return true
}

// sweep removes leftovers in the folder of p if it is due. It ignores errors.
func (s *sweeps) sweep(p *place) {
	now := time.Now()
	if !s.due(p.path, now) {
		return
	}
	dir, err := p.dir.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	var found []string // removed afterwards, since a removal could disturb the listing
	for seen := 0; seen < sweepNames; {
		names, err := dir.Readdirnames(listBatch)
		for _, name := range names {
			if IsTempName(name) {
				found = append(found, name)
			}
		}
		if seen += len(names); err != nil {
			break
		}
	}
	for _, name := range found {
		removeLeftover(p.dir, name, now)
	}
}

func removeLeftover(dir *os.Root, name string, now time.Time) {
	file, err := openIn(dir, name, func(info fs.FileInfo) error {
		if !info.Mode().IsRegular() || now.Sub(info.ModTime()) < sweepAge {
			return errInUse
		}
		return nil
	})
	if err != nil {
		return
	}
	defer file.Close()
	if free, _ := filelock.TryLock(file); free {
		_ = dir.Remove(name)
	}
}
