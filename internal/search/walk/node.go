package walk

import (
	"slices"
	"sync/atomic"
)

// node is what a Tree knows of one folder. Only the Refresh that runs changes
// it, and of that only the worker that visits the folder; what it leaves for
// those below is written before they are queued.
//
// A Refresh may be broken off anywhere: changed and judge stay set until a
// visit is complete, so the next one carries on.
type node struct {
	dir     *Dir
	place   *place
	parent  *node
	kids    []*node // by name
	ino     uint64  // as the parent lists it
	key     key
	rules   Rules
	repo    bool
	untold  bool // its file system's stamps do not tell of every change
	mixed   bool // a file in it is on another file system
	ignores []ignoreFile

	changed bool        // must be read again
	judge   bool        // the rules above changed: all must be judged again
	below   bool        // something below is changed or to be judged
	gone    bool        // was not there when visited
	recheck atomic.Bool // its stamps were young when read: they tell nothing
	retry   atomic.Bool // must be read again next time, whatever is known

	watched *watcher // that has a watch on the folder
	index   int32    // in Tree.nodes
	sight   sight
}

// nodeBytes and fileBytes are what is kept of a folder and of a file, beside
// their names.
const nodeBytes, fileBytes = 624, 36

// key is what a folder must still have to be taken as unchanged.
type key struct {
	dev, ino     uint64
	mtime, ctime int64
}

func (s Stamp) key() key { return key{s.Dev, s.Ino, s.Mtime, s.Ctime} }

func newNode(parent *node, p *place, ino uint64) *node {
	return &node{dir: &Dir{place: p}, place: p, parent: parent, ino: ino, changed: true}
}

func (n *node) due() bool { return n.changed || n.judge || n.below }

// flatten lists all nodes in order, without those that are gone.
func (t *Tree) flatten() {
	nodes := make([]*node, 0, len(t.nodes)+16)
	stack := []*node{t.root}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n.index = int32(len(nodes))
		nodes = append(nodes, n)
		n.kids = slices.DeleteFunc(n.kids, func(k *node) bool { return k.gone })
		for _, k := range slices.Backward(n.kids) {
			stack = append(stack, k)
		}
	}
	t.nodes, t.batches = nodes, nil
	t.vouch.attend = t.vouch.attend[:0]
	for _, n := range nodes {
		if n.retry.Load() || len(n.ignores) > 0 {
			t.vouch.attend = append(t.vouch.attend, n)
		}
	}
}

// live says whether n is among the nodes.
func (t *Tree) live(n *node) bool {
	return int(n.index) < len(t.nodes) && t.nodes[n.index] == n
}

// publish makes the listing of the nodes, or keeps the former if all the
// folders are the same.
func (t *Tree) publish() {
	t.flatten()
	t.dirty = false
	if t.listing != nil && slices.EqualFunc(t.listing.Dirs, t.nodes, func(d *Dir, n *node) bool { return d == n.dir }) {
		return
	}
	l := &Listing{
		Dirs:    make([]*Dir, len(t.nodes)),
		First:   make([]int, len(t.nodes)),
		parents: make([]int32, len(t.nodes)),
		open:    t.open,
		workers: t.options.Workers,
	}
	for i, n := range t.nodes {
		l.Dirs[i], l.First[i] = n.dir, l.Files
		if n.parent != nil {
			l.parents[i] = n.parent.index
		}
		l.bytes += nodeBytes + int64(n.place.size)
		for j := range n.dir.Files {
			l.bytes += fileBytes + int64(len(n.dir.Files[j].Name))
		}
		l.Files += len(n.dir.Files)
		if n.dir.Err != nil {
			l.Unreadable++
		}
	}
	t.listing = l
}
