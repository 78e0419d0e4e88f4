package walk

import (
	"context"
	"slices"
	"sync/atomic"
)

// checkBatch is the number of folders that a worker takes at once. sweepCalls is the
// approximate number of folders and files if files are looked at too: about 50
// microseconds.
const checkBatch, sweepCalls = 64, 32

// check marks the nodes that must be visited. It looks at the stamps of all known
// folders and ignore files. If the folders are vouched for, it looks only at the ignore
// files: they may change through other links and shared mappings, and some are in
// folders that are not listed. The sweep also, if not nil, is done on the way.
func (t *Tree) check(ctx context.Context, top folder, vouched bool, also *sweep) error {
	if t.root == nil {
		t.root = newNode(nil, &place{}, 0)
		t.nodes = []*node{t.root}
		t.dirty = true
	} else if t.dirty { // the last Refresh was interrupted
		t.flatten()
	}
	if t.options.Above != nil {
		post := NewPost(ctx)
		post.enter(t.root.place)
		above := t.options.Above()
		post.Leave()
		if above != t.above {
			t.above = above
			t.root.judge = true
		}
	}

	if vouched && !t.watching.all {
		t.look(ctx, top, slices.Collect(slices.Chunk(t.watching.attend, checkBatch)), (*node).sameRules)
		if !t.dirty && !t.root.due() && !t.watching.marked && !slices.ContainsFunc(t.watching.attend, (*node).due) {
			return ctx.Err()
		}
	} else {
		if also != nil {
			t.look(ctx, top, t.sweeps(), also.same)
		} else {
			t.look(ctx, top, slices.Collect(slices.Chunk(t.nodes, checkBatch)), (*node).same)
		}
		t.watching.all = t.watching.all && ctx.Err() != nil
	}
	t.watching.marked = false                // from here on dirty covers it
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

// look marks the nodes that are not the same. A worker takes one batch after the other.
func (t *Tree) look(ctx context.Context, top folder, batches [][]*node, same func(*node, *locator) bool) {
	var next atomic.Int64
	parallel(max(1, min(t.options.Workers, len(batches))), func() {
		loc := locator{top: top, post: NewPost(ctx)}
		defer loc.close()
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= len(batches) {
				return
			}
			for _, n := range batches[i] {
				if !n.changed {
					loc.post.enter(n.place)
					n.changed = !same(n, &loc)
				}
			}
			loc.post.Leave()
		}
	})
}

// sweeps returns batches of all nodes whose files are looked at too. Large folders are
// batches of their own, the largest first, and come before the small ones: so workers
// finish at about the same time. But each worker begins with fastTurns small folders:
// its first turns notify the scheduler, see Pace, which costs less for fewer files.
func (t *Tree) sweeps() [][]*node {
	if t.batches != nil {
		return t.batches
	}
	var large, small [][]*node
	var batch []*node
	calls := 0
	for _, n := range t.nodes {
		if len(n.dir.Files) >= sweepCalls {
			large = append(large, []*node{n})
			continue
		}
		batch, calls = append(batch, n), calls+1+len(n.dir.Files)
		if calls >= sweepCalls {
			small, batch, calls = append(small, batch), nil, 0
		}
	}
	if batch != nil {
		small = append(small, batch)
	}
	slices.SortStableFunc(large, func(a, b []*node) int { return len(b[0].dir.Files) - len(a[0].dir.Files) })
	lead := 0
	for folders := 0; lead < len(small) && folders < fastTurns*t.options.Workers; lead++ {
		folders += len(small[lead])
	}
	t.batches = slices.Concat(small[:lead], large, small[lead:])
	return t.batches
}

// same reports whether the folder and its ignore files are as they were when read.
func (n *node) same(loc *locator) bool {
	if !stampsReliable || n.recheck.Load() || n.retry.Load() {
		return false
	}
	s, k, err := loc.stat(n.place, "")
	if err != nil || k != kindDir || s.key() != n.key {
		return false
	}
	return n.sameRules(loc)
}

// sameRules reports whether the ignore files of the folder are as they were when read.
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
