package search

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"mcp-toolset/internal/search/index"
	"mcp-toolset/internal/search/source"
	"mcp-toolset/internal/search/walk"
)

const (
	// spareRecords and fewRecords limit the records of deleted files in a tree: a tree
	// may have spareRecords records for each existing file, plus fewRecords. IDs are
	// never reused.
	spareRecords, fewRecords = 4, 1 << 16
)

// index updates the index of the tree in the background, if a plan found files without
// a record and no update is running. Queries have priority.
func (t *Tree) index(p *plan) {
	s := t.s
	if s.options.Index < 0 || t.plain.Load() || p == nil || !p.hasNew {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	full := t.built == p.listing && s.indexed.Load() >= s.limit()
	if s.done || t.building || t.dropped || full {
		return
	}
	t.building = true
	s.build.Go(func() {
		t.observed(s.ctx, t.build)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.building = false
	})
}

// build reads the files that have no record and stores a record of each.
func (t *Tree) build(ctx context.Context) {
	if !t.s.queries.wait() {
		return
	}
	l, err := t.list.Refresh(ctx)
	if err != nil {
		return
	}
	stamps, err := l.Stat(ctx, nil)
	if err != nil {
		return
	}
	top, err := (&plan{listing: l}).open(ctx)
	if err != nil {
		return
	}
	defer top.Close()
	if !t.prune(l) {
		t.s.mu.Lock()
		defer t.s.mu.Unlock()
		t.s.drop(t)
		return
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range t.s.workers {
		wait.Go(func() {
			b := builder{t: t, l: l, stamps: stamps, top: top, reader: source.Get(), post: walk.NewPost(ctx)}
			defer b.reader.Release()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(l.Dirs) || !b.folder(i) {
					return
				}
			}
		})
	}
	wait.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ready, t.built = !t.dropped, l
	t.account()
}

// prune deletes the records of files that no longer exist. It returns false if few
// records would remain beside deleted ones; the tree should then be dropped.
func (t *Tree) prune(l *walk.Listing) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.records) > spareRecords*l.Files+fewRecords {
		return false
	}
	alive := make([]bool, len(t.records))
	for _, d := range l.Dirs {
		for i := range d.Files {
			if id := d.Files[i].ID; id < uint64(len(alive)) {
				alive[id] = true
			}
		}
	}
	for id, ok := range alive {
		if !ok && t.records[id].kind != unknown {
			t.records[id] = record{}
			t.store.Delete(uint32(id))
			t.version++
		}
	}
	t.account()
	return !t.store.Sparse()
}

// account updates the memory use of the tree in the Searcher. t.mu must be held.
func (t *Tree) account() {
	held := int64(cap(t.records))*recordSize + t.store.Bytes()
	if t.built != nil {
		held += t.built.Bytes()
		if t.s.options.Watch {
			held += int64(t.built.Files) * recallSize
		}
	}
	if t.dropped {
		held = 0
	}
	t.s.indexed.Add(held - t.held)
	t.held = held
}

// forget frees the memory of the tree.
func (t *Tree) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records, t.store, t.ready, t.dropped, t.built = nil, index.Store{}, false, true, nil
	t.version++
	t.account()
}

// builder makes signatures of files.
type builder struct {
	t      *Tree
	l      *walk.Listing
	stamps []walk.Stamp
	top    *walk.Top
	reader *source.Reader
	signer index.Signer
	post   *walk.Post
	pace   walk.Pace
}

// folder makes signatures of the files of a folder that have no record. It returns
// false if the builder should stop.
func (b *builder) folder(at int) bool {
	d := b.l.Dirs[at]
	var open *walk.Folder
	for i := range d.Files {
		stamp := b.stamps[b.l.First[at]+i]
		if !b.t.recordable(stamp) {
			continue
		}
		b.t.mu.RLock()
		known := b.t.hasRecord(d.Files[i].ID, stamp)
		gone := b.t.dropped
		b.t.mu.RUnlock()
		if known {
			continue
		}
		if gone || b.t.s.indexed.Load() >= b.t.s.limit() || !b.t.s.queries.wait() {
			return false
		}
		if open == nil {
			var err error
			b.post.Enter(d)
			open, err = b.top.Folder(d, &b.pace)
			b.post.Leave()
			if err != nil {
				return true
			}
			defer open.Close()
		}
		b.file(at, open, &d.Files[i], stamp)
	}
	return true
}

// settled reports whether any change from now on gives the file another stamp.
func (t *Tree) settled(s walk.Stamp) bool {
	return s.Ctime != 0 && time.Now().UnixNano()-s.Ctime > int64(t.s.racy)
}

// file reads a file and stores its record and signature, if the file did not change
// meanwhile. A file that cannot be opened is recorded as unsigned, so that it is not
// tried again before it changes. Queries still try each time.
func (b *builder) file(at int, folder *walk.Folder, f *walk.File, seen walk.Stamp) {
	b.post.Enter(b.l.Dirs[at])
	file, before, err := folder.Open(f.Name)
	b.post.Leave()
	if err != nil {
		b.t.storeRecord(f.ID, recordOf(seen, unsigned), nil)
		return
	}
	h := &posted{file, b.post, b.l.Dirs[at]}
	defer h.Close()
	if !b.t.settled(before) || before.Dev != b.t.device.Load() {
		return
	}
	sig := b.signer.Sign(nil) // an empty text has no chunk
	var length int64          // of the text, if it came in one chunk
	wide := false
	b.reader.Mode, b.reader.Gather = source.Report, source.Whole
	r, err := b.reader.Read(b.t.s.ctx, h, before.Size, func(k source.Chunk) bool {
		if k.First {
			wide = k.Binary && mayBeWide(k.Text)
		}
		if !k.First || !k.Last {
			sig = nil
			return false
		}
		if !k.Binary && !utf8.Valid(k.Text) {
			sig = nil // it may be searched decoded
			return false
		}
		sig, length = b.signer.Sign(k.Text), int64(len(k.Text))
		return true
	})
	after, errAfter := h.Stamp()
	if err != nil || errAfter != nil || after != before {
		return
	}
	if r.Decoded || r.Mark+length != before.Size {
		sig = nil // the offsets of its blocks are not those of the file
	}
	k := signed
	switch {
	case r.Kind == source.Binary && !wide:
		k = binary
	case (sig == nil || wide) && before.Size > 0:
		k, sig = unsigned, nil
	}
	b.t.storeRecord(f.ID, recordOf(before, k), sig)
}

// storeRecord stores the record and signature of a file.
func (t *Tree) storeRecord(id uint64, r record, sig index.Signature) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dropped || id > 1<<31 {
		return
	}
	for uint64(len(t.records)) <= id {
		t.records = append(t.records, record{})
	}
	t.records[id] = r
	t.store.Put(uint32(id), sig)
	t.version++
	t.account()
}
