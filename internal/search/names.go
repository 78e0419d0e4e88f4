package search

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"mcp-toolset/internal/search/walk"
)

// Found holds the files of a tree that were chosen by name.
type Found struct {
	Files        []string // paths below the top, the newest first, ties by path
	Listed       int      // number of files in the tree
	IgnoredCount int      // number of ignored files and folders
	Ignored      string   // the top or a folder above it, if that is ignored
	Unreadable   int      // number of folders that could not be read, without those of Silent
	Silent       []string // folders on a file system that does not answer, if Show allows them
}

// Names finds the files that Pick chooses and Show allows. It ignores the other fields
// of the query.
func (t *Tree) Names(ctx context.Context, q *Query) (*Found, error) {
	t.s.queries.begin()
	defer t.s.queries.end()
	own := *q
	own.picking = new(sync.Mutex)
	for t, q := t, &own; ; t, q = t.s.Tree(t.top, t.open), q.again() { // an abandoned attempt keeps its own
		f, err := attempt(ctx, t, noDeadline, func(ctx context.Context) (*Found, error) { return t.names(ctx, q) })
		if errors.Is(err, errTreeBlocked) {
			continue
		}
		return f, err
	}
}

// names is Names on this tree.
func (t *Tree) names(ctx context.Context, q *Query) (*Found, error) {
	l, err := t.list.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	f := &Found{Listed: l.Files}
	f.Silent, f.Unreadable = q.unreadableFolders(l)
	f.Ignored = t.above.ignoredFolder()
	hits, err := pickNames(ctx, q, l)
	if err != nil {
		return nil, err
	}
	for _, d := range l.Dirs {
		f.IgnoredCount += d.Ignored
	}
	if err := t.stamp(ctx, l, hits); err != nil {
		return nil, err
	}
	slices.SortFunc(hits, func(a, b named) int {
		switch {
		case a.mtime > b.mtime:
			return -1
		case a.mtime < b.mtime:
			return 1
		}
		return strings.Compare(a.path, b.path)
	})
	for _, h := range hits {
		if h.there {
			f.Files = append(f.Files, h.path)
		}
	}
	return f, nil
}

// pickNames chooses the files of a listing.
func pickNames(ctx context.Context, q *Query, l *walk.Listing) (hits []named, err error) {
	defer q.lock()()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for i, d := range l.Dirs {
		path := d.Path()
		for j := range d.Files {
			if j%stride == 0 && ctx.Err() != nil { // a pattern may be slow to match
				return nil, ctx.Err()
			}
			if !q.Pick(path, d.Files[j].Name) {
				continue
			}
			if full := join(path, d.Files[j].Name); q.Show == nil || q.Show(full) {
				hits = append(hits, named{path: full, name: d.Files[j].Name, dir: i})
			}
		}
	}
	return hits, nil
}

// named is a file that was chosen.
type named struct {
	path, name string
	dir        int // in the listing
	mtime      int64
	there      bool
}

// stamp looks at the files. They must be in the order of their folders.
func (t *Tree) stamp(ctx context.Context, l *walk.Listing, hits []named) error {
	if len(hits) == 0 {
		return nil
	}
	top, err := (&plan{listing: l}).open(ctx)
	if err != nil {
		return err
	}
	defer top.Close()
	var next atomic.Int64
	var wait sync.WaitGroup
	const batch = 128
	for range min(t.s.workers, (len(hits)+batch-1)/batch) {
		wait.Go(func() {
			dir, post := -1, walk.NewPost(ctx)
			defer post.Leave()
			var folder *walk.Folder
			var pace walk.Pace
			for ctx.Err() == nil {
				to := int(next.Add(batch))
				for i := to - batch; i < min(to, len(hits)); i++ {
					post.Enter(l.Dirs[hits[i].dir])
					if h := &hits[i]; h.dir != dir {
						if folder != nil {
							folder.Close()
						}
						dir = h.dir
						var err error
						if folder, err = top.Folder(l.Dirs[dir], &pace); err != nil {
							folder = nil
						}
					}
					if folder != nil {
						s, err := folder.Stat(hits[i].name)
						hits[i].mtime, hits[i].there = s.Mtime, err == nil || !walk.HasVanished(err)
					}
				}
				if to >= len(hits) {
					break
				}
			}
			if folder != nil {
				folder.Close()
			}
		})
	}
	wait.Wait()
	return ctx.Err()
}
