package lsp

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"mcp-toolset/internal/search/walk"
)

// The kinds of a file event.
const (
	fileCreated = 1
	fileChanged = 2
	fileDeleted = 3
)

// fileEvent is a FileEvent of the protocol.
type fileEvent struct {
	URI  string `json:"uri"`
	Type int    `json:"type"`
	path string
}

// files finds the changes of a project's files between calls. It compares the stamps of all
// files, or asks a watcher where one vouches for the tree (package walk). It leaves out
// nothing that is ignored: generated code is.
type files struct {
	root  string
	tree  *walk.Tree
	watch sync.WaitGroup

	mu      sync.Mutex
	listing *walk.Listing
	stamps  []walk.Stamp
	fresh   time.Duration // youngStamp, except in tests
	// young holds the hashes of files that changed so shortly before they were looked at that a
	// later change can have the same stamp.
	young map[string][sha256.Size]byte
}

// youngStamp is the age below which the stamp of a file does not exclude a later change. Linux
// stamps files with a clock that ticks every 4 to 10 ms.
const youngStamp = 50 * time.Millisecond

// Limits of the files that are compared by their content: their number and, in bytes, size.
const (
	maxYoungFiles = 200
	maxYoung      = 1 << 20
)

func newFiles(root string) *files {
	open := func() (*os.File, error) { return os.Open(root) }
	return &files{root: root, tree: walk.New(open, walk.Options{Watch: true}), fresh: youngStamp}
}

// changes returns the changes since the last call. The first call returns none.
func (f *files) changes(ctx context.Context) ([]fileEvent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	listing, err := f.tree.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	stamps, err := f.tree.Stamps(ctx, listing)
	if err != nil {
		return nil, err
	}
	events := f.again()
	switch {
	case f.listing == nil:
	case listing != f.listing:
		events = append(events, f.compare(listing, stamps)...)
	case len(stamps) > 0 && &stamps[0] != &f.stamps[0]:
		for i, d := range listing.Dirs {
			events = append(events, f.compareDir(d, d, f.stamps[listing.First[i]:], stamps[listing.First[i]:])...)
		}
	}
	first := f.listing == nil
	if listing != f.listing || len(events) > 0 || first {
		f.findYoung(listing, stamps, now)
	}
	f.listing, f.stamps = listing, stamps
	f.watch.Go(func() { _ = f.tree.StartWatching(context.Background()) }) // Close ends it
	return events, nil
}

// again returns the events of the young files that have changed without another stamp. A
// server must not get more events than there are changes: two in a row for a new file make
// gopls forget to load its package.
func (f *files) again() (events []fileEvent) {
	for path, was := range f.young {
		if now, ok := hashOf(path); ok && now != was {
			events = append(events, newEvent(path, fileChanged))
		}
	}
	f.young = nil
	return events
}

// findYoung records the files that were changed just before they were looked at.
func (f *files) findYoung(listing *walk.Listing, stamps []walk.Stamp, now time.Time) {
	if f.fresh == 0 {
		return
	}
	since := now.Add(-f.fresh).UnixNano()
	f.young = map[string][sha256.Size]byte{}
	for i, d := range listing.Dirs {
		for j := range d.Files {
			if s := stamps[listing.First[i]+j]; max(s.Mtime, s.Ctime) > since && s.Size <= maxYoung && len(f.young) < maxYoungFiles {
				if hash, ok := hashOf(f.path(d, j)); ok {
					f.young[f.path(d, j)] = hash
				}
			}
		}
	}
}

// hashOf returns the hash of the first maxYoung bytes of a file.
func hashOf(path string) (hash [sha256.Size]byte, ok bool) {
	// It may have become a pipe, which must not block.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return hash, false
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxYoung))
	return sha256.Sum256(data), err == nil
}

func (f *files) path(d *walk.Dir, i int) string {
	return filepath.Join(f.root, filepath.FromSlash(d.Path()), d.Files[i].Name)
}

func newEvent(path string, kind int) fileEvent { return fileEvent{URIOf(path), kind, path} }

// compare returns the changes between the listing before and a new one.
func (f *files) compare(listing *walk.Listing, stamps []walk.Stamp) (events []fileEvent) {
	before := make(map[string]int, len(f.listing.Dirs))
	for i, d := range f.listing.Dirs {
		before[d.Path()] = i
	}
	for i, d := range listing.Dirs {
		now := stamps[listing.First[i]:]
		if j, ok := before[d.Path()]; ok {
			events = append(events, f.compareDir(f.listing.Dirs[j], d, f.stamps[f.listing.First[j]:], now)...)
			delete(before, d.Path())
		} else {
			events = append(events, f.compareDir(&walk.Dir{}, d, nil, now)...)
		}
	}
	for _, j := range before {
		d := f.listing.Dirs[j]
		for i := range d.Files {
			events = append(events, newEvent(f.path(d, i), fileDeleted))
		}
	}
	return events
}

// compareDir returns the changes between two states of a folder, whose files have the stamps
// at the beginning of was and is.
func (f *files) compareDir(before, now *walk.Dir, was, is []walk.Stamp) (events []fileEvent) {
	i := 0
	for j := range now.Files {
		name := now.Files[j].Name
		for ; i < len(before.Files) && before.Files[i].Name < name; i++ {
			events = append(events, newEvent(f.path(before, i), fileDeleted))
		}
		switch {
		case i == len(before.Files) || before.Files[i].Name > name:
			events = append(events, newEvent(f.path(now, j), fileCreated))
			continue
		case is[j] == walk.Stamp{} && was[i] != walk.Stamp{}:
			events = append(events, newEvent(f.path(now, j), fileDeleted))
		case was[i] == walk.Stamp{} && is[j] != walk.Stamp{}:
			events = append(events, newEvent(f.path(now, j), fileCreated))
		case was[i] != is[j]:
			events = append(events, newEvent(f.path(now, j), fileChanged))
		}
		i++
	}
	for ; i < len(before.Files); i++ {
		events = append(events, newEvent(f.path(before, i), fileDeleted))
	}
	return events
}

func (f *files) close() {
	f.tree.Close()
	f.watch.Wait()
}
