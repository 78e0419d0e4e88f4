package walk

import (
	"slices"
	"sync/atomic"
)

// node is the state of one folder in a Tree. Only the running Refresh changes it, and
// only the worker that visits the folder. That worker writes what the folders below
// need before it queues them.
//
// A Refresh may be interrupted anywhere. changed and judge stay set until a visit is
// complete, so the next Refresh continues.
type node struct {
	dir        *Dir
	place      *place
	parent     *node
	kids       []*node // by name
	ino        uint64  // as the parent lists it
	key        key
	rules      Rules
	repo       bool
	unreliable bool // stamps on its file system do not show every change
	mixed      bool // a file in it is on another file system
	ignores    []ignoreFile

	changed bool        // must be read again
	judge   bool        // the rules above changed: all entries must be judged again
	below   bool        // something below is changed or to be judged
	missing bool        // did not exist when visited
	recheck atomic.Bool // its stamps may not show later changes: too young when read, or unreliable
	retry   atomic.Bool // must be read again next time in any case

	watched *watcher // has a watch on the folder
	index   int32    // in Tree.nodes
	state   folderState
}

// nodeBytes and fileBytes are the memory of a folder and of a file, without their
// names.
const nodeBytes, fileBytes = 624, 36

// key identifies the state of a folder. A folder with the same key is unchanged.
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
		n.kids = slices.DeleteFunc(n.kids, func(k *node) bool { return k.missing })
		for _, k := range slices.Backward(n.kids) {
			stack = append(stack, k)
		}
	}
	t.nodes, t.batches = nodes, nil
	t.watching.attend = t.watching.attend[:0]
	for _, n := range nodes {
		if n.retry.Load() || len(n.ignores) > 0 {
			t.watching.attend = append(t.watching.attend, n)
		}
	}
}

// live reports whether n is among the nodes.
func (t *Tree) live(n *node) bool {
	return int(n.index) < len(t.nodes) && t.nodes[n.index] == n
}

// publish makes the listing of the nodes, or leaves the last one if all folders are the
// same.
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
