package search

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"mcp-toolset/internal/search/walk"
)

// Found is the files of a tree that were chosen by name.
type Found struct {
	Files      []string // their paths below the top, the newest first, ties by path
	Listed     int      // how many files there are
	Left       int      // how many files and folders are left out because they are ignored
	Ignored    string   // the top or a folder above it, if that is ignored; else ""
	Unreadable int      // folders that could not be read
}

// Names finds the files that pick chooses by their folder, below the top and
// with slashes, and their name, and that show allows; nil allows all.
func (t *Tree) Names(ctx context.Context, pick func(dir, name string) bool, show func(path string) bool) (*Found, error) {
	t.s.queries.begin()
	defer t.s.queries.end()
	l, err := t.list.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	f := &Found{Listed: l.Files, Unreadable: l.Unreadable}
	f.Ignored = t.above.leftOut()
	var hits []named
	for i, d := range l.Dirs {
		f.Left += d.Ignored
		path := d.Path()
		for j := range d.Files {
			if j%stride == 0 && ctx.Err() != nil { // a pattern may be slow to match
				return nil, ctx.Err()
			}
			if !pick(path, d.Files[j].Name) {
				continue
			}
			if full := join(path, d.Files[j].Name); show == nil || show(full) {
				hits = append(hits, named{path: full, name: d.Files[j].Name, dir: i})
			}
		}
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

// named is a file that was chosen.
type named struct {
	path, name string
	dir        int // of the listing
	mtime      int64
	there      bool
}

// stamp looks at the files; they are in the order of their folders.
func (t *Tree) stamp(ctx context.Context, l *walk.Listing, hits []named) error {
	if len(hits) == 0 {
		return nil
	}
	top, err := l.Open()
	if err != nil {
		return err
	}
	defer top.Close()
	var next atomic.Int64
	var wait sync.WaitGroup
	const batch = 128
	for range min(t.s.workers, (len(hits)+batch-1)/batch) {
		wait.Go(func() {
			dir := -1
			var folder *walk.Folder
			var pace walk.Pace
			for ctx.Err() == nil {
				to := int(next.Add(batch))
				for i := to - batch; i < min(to, len(hits)); i++ {
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
						hits[i].mtime, hits[i].there = s.Mtime, err == nil || !walk.Gone(err)
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
