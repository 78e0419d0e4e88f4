package walk

import (
	"context"
	"slices"
	"sync/atomic"
)

// checkBatch is how many folders a worker takes at once, sweepBatch the same if
// their files are looked at, too: some 50 microseconds.
const checkBatch, sweepBatch = 64, 4

// check marks what must be visited. It looks at the stamps of all known
// folders and ignore files; if the folders are vouched for, only at the ignore
// files: these may be changed through other links and shared mappings, and
// some are in folders that are not listed. also is what is done on the way; nil:
// nothing.
func (t *Tree) check(ctx context.Context, top folder, vouched bool, also *sweep) error {
	if t.root == nil {
		t.root = newNode(nil, &place{}, 0)
		t.nodes = []*node{t.root}
		t.dirty = true
	} else if t.dirty { // the last Refresh was broken off
		t.flatten()
	}
	if t.options.Above != nil {
		if above := t.options.Above(); above != t.above {
			t.above = above
			t.root.judge = true
		}
	}

	if vouched && !t.vouch.all {
		t.look(ctx, top, t.vouch.attend, checkBatch, (*node).sameRules)
		if !t.dirty && !t.root.due() && !t.vouch.marked && !slices.ContainsFunc(t.vouch.attend, (*node).due) {
			return ctx.Err()
		}
	} else {
		if also != nil {
			t.look(ctx, top, t.nodes, sweepBatch, also.same)
		} else {
			t.look(ctx, top, t.nodes, checkBatch, (*node).same)
		}
		t.vouch.all = t.vouch.all && ctx.Err() != nil
	}
	t.vouch.marked = false                   // dirty tells from here on
	for i := len(t.nodes) - 1; i >= 0; i-- { // parents come before their kids
		if n := t.nodes[i]; n.due() {
			t.dirty = true
			if n.parent != nil {
				n.parent.below = true
			}
		}
	}
	return ctx.Err()
}

// look marks those of the nodes that are not the same; batch is how many a worker
// takes at once.
func (t *Tree) look(ctx context.Context, top folder, nodes []*node, batch int, same func(*node, *locator) bool) {
	var next atomic.Int64
	parallel(min(t.options.Workers, 1+len(nodes)/batch), func() {
		loc := locator{top: top}
		defer loc.close()
		for ctx.Err() == nil {
			start := int(next.Add(int64(batch))) - batch
			if start >= len(nodes) {
				return
			}
			for _, n := range nodes[start:min(start+batch, len(nodes))] {
				if !n.changed {
					n.changed = !same(n, &loc)
				}
			}
		}
	})
}

// same says whether the folder and its ignore files are as they were read.
func (n *node) same(loc *locator) bool {
	if !stampsTell || n.recheck.Load() {
		return false
	}
	s, k, err := loc.stat(n.place, "")
	if err != nil || k != kindDir || s.key() != n.key {
		return false
	}
	return n.sameRules(loc)
}

// sameRules says whether the ignore files of the folder are as they were read.
func (n *node) sameRules(loc *locator) bool {
	if n.retry.Load() {
		return false
	}
	for i := range n.ignores {
		if !n.ignores[i].same(loc, n.place) {
			return false
		}
	}
	return true
}
