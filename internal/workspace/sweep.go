package workspace

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"mcp-toolset/internal/filelock"
)

const (
	// sweepAge is how long new content has to lie about before it is taken
	// for a crash's leftover: far longer than it is without its lock.
	sweepAge = time.Minute

	// sweepEvery is how often one folder is looked through. A look at 1,000
	// names takes about half a millisecond.
	sweepEvery = time.Minute

	// sweepNames is how many names of a folder are looked at: 50 ms at most.
	// In larger folders leftovers may stay.
	sweepNames = 100_000

	// sweptFolders is how many folders are remembered before all are
	// forgotten, at the price of one more look at each.
	sweptFolders = 1024
)

var errInUse = errors.New("not a leftover")

// sweeps removes what writers that were killed left behind.
type sweeps struct {
	mu   sync.Mutex
	last map[string]time.Time // by folder
}

// due reports whether the folder's turn has come, and notes that it is had.
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

// sweep looks through the folder of p if that is due. Its failures are nobody's.
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
	var found []string // removed afterwards: that could upset the listing
	for seen := 0; seen < sweepNames; {
		names, err := dir.Readdirnames(listBatch)
		for _, name := range names {
			if isTempName(name) {
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
