package walk

import (
	"context"
	"errors"
	"math"
	"slices"
	"sort"
	"time"

	"mcp-toolset/internal/search/watch"
)

// The stamps of files are cached while each file has a watch of its own: the watch of a
// folder does not report stores through links elsewhere, nor the making of such links.
//
// A cached stamp with one link, of a file that is not loose, is that of an inode that
// was watched before it was looked at. All other files are looked at every time. So are
// files with young stamps: a store through a shared mapping is not reported, but
// changes the stamp now and then.

const (
	// youngStamp is the age of a ctime below which a file is looked at again.
	youngStamp = 2 * time.Second
	// youngMapping is the same if at most fewYoung files are that young: the kernel
	// writes mapped pages back every 30 s and stamps the next store.
	youngMapping = 35 * time.Second
	fewYoung     = 500
	// maxLooks, or an eighth of all files, is the limit of files that a call looks at
	// one by one. Stat is faster for more, because it is parallel.
	maxLooks = 2000
	// maxTouched is the limit of touched files recorded for a folder.
	maxTouched = 64
)

// stampMemory caches the stamps of the files of a listing.
type stampMemory struct {
	on      bool // files are watched
	listing *Listing
	stamps  []Stamp
	shared  bool            // the stamps were returned to a caller: they must not change
	again   []int32         // to be looked at every time, as indexes of stamps
	queue   []*node         // with files to be looked at once
	loose   map[uint64]bool // IDs of files whose watches are not reliable
}

// folderState is the state of one folder in the cache.
type folderState struct {
	dir     *Dir // has the cached stamps; nil if there are none
	at      int  // index of the first stamp
	all     bool // look at all files
	queued  bool
	touched []uint64 // look at these files
}

func (m *stampMemory) files() int {
	if m.listing == nil {
		return 0
	}
	return m.listing.Files
}

func (m *stampMemory) enqueue(n *node) {
	if !n.state.queued {
		n.state.queued = true
		m.queue = append(m.queue, n)
	}
}

// touch records that a file has changed. ended reports that its watch is gone.
func (m *stampMemory) touch(key mark, ended bool) {
	if !m.on {
		return
	}
	if ended {
		m.loose[key.id] = true
	}
	s := &key.node.state
	switch {
	case s.all || slices.Contains(s.touched, key.id):
	case len(s.touched) == maxTouched:
		s.all, s.touched = true, nil
	default:
		s.touched = append(s.touched, key.id)
	}
	m.enqueue(key.node)
}

// forgetStamps empties the cache and turns it off.
func (t *Tree) forgetStamps() {
	for _, n := range t.nodes {
		n.state = folderState{}
	}
	t.watching.memory = stampMemory{}
}

// Stamps returns what l.Stat returns, not older than the call. While a watcher vouches
// for the tree and l is the result of the last Refresh, it looks only at files that may
// have changed. The caller must not modify the slice. If no stamp has changed, it is
// the same slice as before.
//
// Stamps misses changes that a watcher does not report (see package watch), where Stat
// sees them. Above all, that is the first store through a shared mapping into a file
// that was unchanged for longer than youngMapping. It is missed until the mapping ends
// or another change of the file is reported.
func (t *Tree) Stamps(ctx context.Context, l *Listing) ([]Stamp, error) {
	if !t.options.Watch {
		return l.Stat(ctx, nil)
	}
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	stamps, err := func() ([]Stamp, error) {
		defer t.end()
		return t.recall(ctx, l)
	}()
	if stamps != nil || err != nil {
		return stamps, err
	}
	return l.Stat(ctx, nil)
}

// recall is Stamps from the cache. It returns nil if the cache is not sufficient.
func (t *Tree) recall(ctx context.Context, l *Listing) ([]Stamp, error) {
	v, m := &t.watching, &t.watching.memory
	if !t.drain() || !m.on || t.dirty || v.marked || v.all || l != t.listing {
		return nil, nil
	}
	t.reorder()
	looks := len(m.again)
	for _, n := range m.queue {
		if looks += len(n.state.touched); n.state.all {
			looks += len(n.dir.Files)
		}
	}
	if looks > max(maxLooks, l.Files/8) {
		return nil, nil
	}
	top, err := t.openTop(ctx)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	if !t.sameTop(top.top) {
		return nil, nil
	}
	if (len(m.queue) > 0 || len(m.again) > 0) && !t.catchUp(ctx, top, len(m.again), math.MaxInt) {
		return nil, ctx.Err()
	}
	m.shared = true
	return m.stamps, nil
}

// catchUp looks at the first files of again, and then at queued files until their
// number is reached. It returns false if it was interrupted.
func (t *Tree) catchUp(ctx context.Context, top *Top, again, files int) bool {
	m := &t.watching.memory
	loc := locator{top: top.top}
	defer loc.close()
	now := time.Now()
	due, rest := m.again[:again:again], m.again[again:]
	m.again = nil
	defer func() { // sorted in any case: due is taken folder by folder
		slices.Sort(m.again)
		m.again = slices.Compact(m.again)
	}()
	for len(due) > 0 {
		i := m.folderOf(due[0])
		end := m.listing.First[i] + len(t.nodes[i].dir.Files)
		k := sort.Search(len(due), func(j int) bool { return int(due[j]) >= end })
		if ctx.Err() != nil || !t.see(&loc, t.nodes[i], due[:k]) {
			m.again = slices.Concat(m.again, due, rest)
			return false
		}
		due = due[k:]
	}
	queue := m.queue // files queued meanwhile are for the next time
	m.queue = nil
	for len(queue) > 0 && files > 0 {
		n := queue[0]
		which := t.filesToStat(n)
		n.state.all, n.state.touched, n.state.queued = false, nil, false
		if ctx.Err() != nil || len(which) > 0 && !t.see(&loc, n, which) {
			n.state.all, n.state.queued = true, true
			m.again = append(m.again, rest...)
			m.queue = append(queue, m.queue...)
			if !m.on {
				t.forgetStamps()
			}
			return false
		}
		queue, files = queue[1:], files-len(which)
	}
	m.queue = append(queue, m.queue...)
	m.settle(now.Add(-t.watching.young), now.Add(-t.watching.mapping))
	m.again = append(m.again, rest...)
	return true
}

// filesToStat returns the files of a folder to be looked at, as indexes of stamps.
func (t *Tree) filesToStat(n *node) []int32 {
	if !t.live(n) {
		return nil
	}
	var all []int32
	for i := range n.dir.Files {
		if n.state.all || slices.Contains(n.state.touched, n.dir.Files[i].ID) {
			all = append(all, int32(n.state.at+i))
		}
	}
	return all
}

// folderOf returns the index of the folder of a stamp.
func (m *stampMemory) folderOf(at int32) int {
	return sort.SearchInts(m.listing.First, int(at)+1) - 1
}

// see looks at files of one folder, and watches those that need it. It returns false if
// the watcher is not reliable any more.
func (t *Tree) see(loc *locator, n *node, which []int32) bool {
	m := &t.watching.memory
	f, err := loc.enter(n.place)
	if err == nil {
		defer f.close()
	}
	for _, at := range which {
		file := &n.dir.Files[int(at)-n.state.at]
		var s Stamp
		if err == nil {
			f.regular("", file.Name, &s)
		}
		if s.Links == 1 && (m.stamps[at].Links != 1 || m.loose[file.ID]) {
			if !t.watchFile(n, f, file) {
				return false
			}
			s = Stamp{}
			f.regular("", file.Name, &s) // after it was watched
		}
		if s.Dev != n.key.dev { // mounted on the name, or gone
			m.loose[file.ID] = true
		}
		m.set(at, s)
		m.again = append(m.again, at) // settle decides
	}
	return true
}

// regular sets s to the stamp of the regular file called name in dir, if there is one.
func (f folder) regular(dir, name string, s *Stamp) {
	if now, k, err := f.stat(dir, name); err == nil && k == kindFile {
		*s = now
	}
}

// watchFile watches a file. A file that cannot be watched becomes loose. It returns
// false if the watcher is not reliable any more.
func (t *Tree) watchFile(n *node, f folder, file *File) bool {
	m, key := &t.watching.memory, mark{n, file.ID}
	former, had, err := t.watching.watcher.File(f.descriptor(), file.Name, key)
	switch {
	case errors.Is(err, watch.ErrFull):
		t.forgetStamps() // folders are still watched
		return false
	case err != nil:
		m.loose[file.ID] = true
		return true
	}
	delete(m.loose, file.ID)
	switch {
	case !had || former == key:
	case former.id == 0: // a folder took the name meanwhile, and has lost its watch
		t.stopWatching(watch.ErrLost)
		return false
	default: // another link, or moved from there
		m.touch(former, true)
	}
	return true
}

// set changes a stamp, in a copy if the slice was returned to a caller.
func (m *stampMemory) set(at int32, s Stamp) {
	if m.stamps[at] == s {
		return
	}
	if m.shared {
		m.stamps, m.shared = slices.Clone(m.stamps), false
	}
	m.stamps[at] = s
}

// settle leaves in again the files that must be looked at every time. All files in
// again were just looked at. Stamps later than youngest are young, and those later than
// mapping if they are few.
func (m *stampMemory) settle(youngest, mapping time.Time) {
	few := 0
	always := func(at int32) bool {
		s := &m.stamps[at]
		return s.Links != 1 || s.Ctime > youngest.UnixNano() || len(m.loose) > 0 && m.loose[m.id(at)]
	}
	for _, at := range m.again {
		if m.stamps[at].Ctime > mapping.UnixNano() && !always(at) {
			few++
		}
	}
	m.again = slices.DeleteFunc(m.again, func(at int32) bool {
		return !always(at) && (few > fewYoung || m.stamps[at].Ctime <= mapping.UnixNano())
	})
}

func (m *stampMemory) id(at int32) uint64 {
	i := m.folderOf(at)
	return m.listing.Dirs[i].Files[int(at)-m.listing.First[i]].ID
}

// reorder puts the stamps in the order of a new listing. It preserves the stamps of
// files that still exist.
func (t *Tree) reorder() {
	m := &t.watching.memory
	if m.listing == t.listing {
		return
	}
	again := map[int32]bool{}
	for _, at := range m.again {
		again[at] = true
	}
	old, loose := *m, map[uint64]bool{}
	m.listing, m.stamps, m.shared, m.again = t.listing, make([]Stamp, t.listing.Files), false, nil
	for i, n := range t.nodes {
		was := n.state
		n.state.dir, n.state.at = n.dir, t.listing.First[i]
		if was.dir != n.dir {
			n.state.all, n.state.touched = true, nil
			m.enqueue(n)
		}
		if was.dir == nil {
			continue
		}
		k := 0
		for j := range n.dir.Files {
			f := &n.dir.Files[j]
			for k < len(was.dir.Files) && was.dir.Files[k].Name < f.Name {
				k++
			}
			if k < len(was.dir.Files) && was.dir.Files[k].ID == f.ID {
				from, to := int32(was.at+k), int32(n.state.at+j)
				m.stamps[to] = old.stamps[from]
				if again[from] {
					m.again = append(m.again, to)
				}
				if old.loose[f.ID] {
					loose[f.ID] = true
				}
			}
		}
	}
	m.loose = loose
}

// watchFiles watches and looks at some more files.
func (t *Tree) watchFiles(ctx context.Context, top *Top) (done bool, err error) {
	v, m := &t.watching, &t.watching.memory
	if !v.covered || !m.on {
		return true, nil
	}
	if !t.dirty && !v.marked && m.listing == t.listing && len(m.queue) == 0 && len(m.again) <= fewYoung {
		return true, nil
	}
	if _, err := t.refresh(ctx, top.top, t.sameTop(top.top), nil); err != nil || v.watcher == nil {
		return false, err
	}
	if v.marked { // folders mounted twice: never settled
		return true, nil
	}
	t.reorder()
	if !t.catchUp(ctx, top, 0, watchBatch) {
		return !m.on, ctx.Err()
	}
	if len(m.queue) > 0 {
		return false, nil
	}
	return true, t.seeAgain(ctx, top)
}

// seeAgain looks at the files of again if they are too many for a query.
func (t *Tree) seeAgain(ctx context.Context, top *Top) error {
	m := &t.watching.memory
	if len(m.again) > max(maxLooks, m.files()/8)/2 {
		t.catchUp(ctx, top, len(m.again), 0)
	}
	return ctx.Err()
}
