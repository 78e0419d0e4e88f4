package lsp

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
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
	at   int64 // stamp of the file; 0: unknown
}

// trees holds the listings of the roots of the workspace that servers run for. All servers
// share them (package walk).
type trees struct {
	mu   sync.Mutex
	open map[string]*tree // by root
}

// tree is the listing of a root with its stamps, which a watcher vouches for where it can.
type tree struct {
	*walk.Tree
	root  string
	uses  int
	watch sync.WaitGroup
}

// get returns the tree of a root, which is in use until put is called.
func (t *trees) get(root string) *tree {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.open[root]
	if f == nil {
		f = &tree{root: root, Tree: walk.New(func() (*os.File, error) { return os.Open(root) }, walk.Options{Watch: true})}
		t.open[root] = f
	}
	f.uses++
	return f
}

func (t *trees) put(f *tree) {
	t.mu.Lock()
	if f.uses--; f.uses > 0 {
		t.mu.Unlock()
		return
	}
	delete(t.open, f.root)
	t.mu.Unlock()
	f.Close()
	f.watch.Wait()
}

// look returns the present files and their stamps. A root that is gone has none.
func (t *tree) look(ctx context.Context) (*walk.Listing, []walk.Stamp, error) {
	listing, err := t.Refresh(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return new(walk.Listing), nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	stamps, err := t.Stamps(ctx, listing)
	t.watch.Go(func() { _ = t.StartWatching(context.Background()) }) // Close ends it
	return listing, stamps, err
}

// files finds the changes of all roots between calls, for one server. A server reads files
// of other projects too, such as those of a replace directive or a reference. files leaves
// out nothing that is ignored: generated code is.
type files struct {
	trees *trees

	mu    sync.Mutex
	roots []*seenRoot
	fresh time.Duration // youngStamp, except in tests
	// young holds the files that changed so shortly before they were looked at that a later
	// change can have the same stamp.
	young map[string]young
}

// seenRoot is the last state of a root that a server knows.
type seenRoot struct {
	*tree
	listing *walk.Listing // nil: none
	stamps  []walk.Stamp
}

type young struct {
	hash [sha256.Size]byte
	at   int64 // its stamp
}

// youngStamp is the age below which the stamp of a file does not exclude a later change. Linux
// stamps files with a clock that ticks every 4 to 10 ms.
const youngStamp = 50 * time.Millisecond

// Limits of the files that are compared by their content: their number and, in bytes, size.
const (
	maxYoungFiles = 200
	maxYoung      = 1 << 20
)

func newFiles(t *trees, roots []string) *files {
	f := &files{trees: t, fresh: youngStamp, young: map[string]young{}}
	for _, root := range roots {
		f.roots = append(f.roots, &seenRoot{tree: t.get(root)})
	}
	return f
}

// changes returns the changes since the last call of the files that are wanted. The first
// call returns none.
func (f *files) changes(ctx context.Context, wanted func(path string) bool) (events []fileEvent, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.roots == nil { // closed
		return nil, errEnded
	}
	since := time.Now().Add(-f.fresh).UnixNano()
	add := func(path string, kind int, s walk.Stamp) {
		if wanted(path) {
			events = append(events, fileEvent{URIOf(path), kind, path, max(s.Mtime, s.Ctime)})
		}
	}
	first := false
	for _, r := range f.roots {
		listing, stamps, err := r.look(ctx)
		if err != nil {
			return nil, err
		}
		switch {
		case r.listing == nil:
			first = true
			for i, d := range listing.Dirs {
				for j := range d.Files {
					if s := stamps[listing.First[i]+j]; max(s.Mtime, s.Ctime) > since {
						add(r.path(d, j), fileCreated, s)
					}
				}
			}
		case listing != r.listing:
			r.compare(listing, stamps, add)
		case len(stamps) > 0 && &stamps[0] != &r.stamps[0]:
			for i, d := range listing.Dirs {
				r.compareDir(d, d, r.stamps[listing.First[i]:], stamps[listing.First[i]:], add)
			}
		}
		r.listing, r.stamps = listing, stamps
	}
	events = f.again(events, since)
	if first {
		events = nil
	}
	return events, nil
}

// again adds the events of the young files that have changed without another stamp, and
// records which are young now. A server must not get more events than there are changes: two
// in a row for a new file make gopls forget to load its package.
func (f *files) again(events []fileEvent, since int64) []fileEvent {
	was := f.young
	f.young = map[string]young{}
	for _, e := range events {
		delete(was, e.path)
		if e.at <= since || len(f.young) == maxYoungFiles {
			continue
		}
		if hash, ok := hashOf(e.path); ok {
			f.young[e.path] = young{hash, e.at}
		}
	}
	for path, y := range was {
		hash, ok := hashOf(path)
		if ok && hash != y.hash {
			events = append(events, newEvent(path, fileChanged))
		}
		if ok && y.at > since && len(f.young) < maxYoungFiles {
			f.young[path] = young{hash, y.at}
		}
	}
	return events
}

// hashOf returns the hash of the first maxYoung bytes of a file.
func hashOf(path string) (hash [sha256.Size]byte, ok bool) {
	// It may have become a pipe, which must not block.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return hash, false
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return hash, false
	}
	data, err := io.ReadAll(io.LimitReader(file, maxYoung))
	return sha256.Sum256(data), err == nil
}

func (t *tree) path(d *walk.Dir, i int) string {
	return filepath.Join(t.root, filepath.FromSlash(d.Path()), d.Files[i].Name)
}

func newEvent(path string, kind int) fileEvent {
	return fileEvent{URI: URIOf(path), Type: kind, path: path}
}

// compare adds the changes between the listing before and a new one.
func (r *seenRoot) compare(listing *walk.Listing, stamps []walk.Stamp, add func(string, int, walk.Stamp)) {
	before := make(map[string]int, len(r.listing.Dirs))
	for i, d := range r.listing.Dirs {
		before[d.Path()] = i
	}
	for i, d := range listing.Dirs {
		now := stamps[listing.First[i]:]
		if j, ok := before[d.Path()]; ok {
			r.compareDir(r.listing.Dirs[j], d, r.stamps[r.listing.First[j]:], now, add)
			delete(before, d.Path())
		} else {
			r.compareDir(&walk.Dir{}, d, nil, now, add)
		}
	}
	for _, j := range before {
		r.compareDir(r.listing.Dirs[j], &walk.Dir{}, nil, nil, add)
	}
}

// compareDir adds the changes between two states of a folder, whose files have the stamps at
// the beginning of was and is.
func (t *tree) compareDir(before, now *walk.Dir, was, is []walk.Stamp, add func(string, int, walk.Stamp)) {
	i := 0
	for j := range now.Files {
		name := now.Files[j].Name
		for ; i < len(before.Files) && before.Files[i].Name < name; i++ {
			add(t.path(before, i), fileDeleted, walk.Stamp{})
		}
		switch {
		case i == len(before.Files) || before.Files[i].Name > name:
			add(t.path(now, j), fileCreated, is[j])
			continue
		case is[j] == walk.Stamp{} && was[i] != walk.Stamp{}:
			add(t.path(now, j), fileDeleted, walk.Stamp{})
		case was[i] == walk.Stamp{} && is[j] != walk.Stamp{}:
			add(t.path(now, j), fileCreated, is[j])
		case was[i] != is[j]:
			add(t.path(now, j), fileChanged, is[j])
		}
		i++
	}
	for ; i < len(before.Files); i++ {
		add(t.path(before, i), fileDeleted, walk.Stamp{})
	}
}

func (f *files) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.roots {
		f.trees.put(r.tree)
	}
	f.roots = nil
}
