package walk

import (
	"context"
	"errors"
	"time"
)

// ErrMissed reports that an Audit found a change that the watcher had not reported.
var ErrMissed = errors.New("the watcher missed a change")

// auditPatience is the time that may pass between a visible change and its event: the
// kernel stamps a file when a call begins to write, and reports it when the call ends.
const auditPatience = time.Second

// Audit compares the state that the watcher vouches for with every stamp. If the
// watcher missed a change of a folder or a file, the Tree stops watching and Audit
// returns ErrMissed: something stores in a way that is not reported. Audit costs as
// much as a Refresh and a Stat without a watcher. It returns nil if no watcher vouches.
func (t *Tree) Audit(ctx context.Context) error {
	missed, err := t.missed(ctx)
	for pause := time.Millisecond; err == nil && len(missed) > 0; pause *= 4 {
		if pause > auditPatience {
			return t.distrust(ctx)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		var again map[any]bool
		again, err = t.missed(ctx)
		for what := range missed {
			if !again[what] {
				delete(missed, what)
			}
		}
	}
	return err
}

func (t *Tree) distrust(ctx context.Context) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	defer t.end()
	t.stopWatching(ErrMissed)
	t.watching.err = ErrMissed
	return ErrMissed
}

// missed returns the files, by ID, and the folders, by node, whose state differs from
// that of the watcher.
func (t *Tree) missed(ctx context.Context) (map[any]bool, error) {
	l, err := t.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	before, err := t.remembered(ctx, l)
	if err != nil || before == nil {
		return nil, err
	}
	now, err := l.Stat(ctx, nil)
	if err != nil {
		return nil, err
	}
	after, err := t.remembered(ctx, l)
	if err != nil || after == nil {
		return nil, err
	}
	// A file that changed meanwhile has another stamp afterwards.
	missed := map[any]bool{}
	for i, d := range l.Dirs {
		for j := range d.Files {
			if at := l.First[i] + j; now[at] != before[at] && before[at] == after[at] {
				missed[d.Files[j].ID] = true
			}
		}
	}
	return missed, t.missedFolders(ctx, missed)
}

// remembered is Stamps, or nil if the watcher does not vouch for them.
func (t *Tree) remembered(ctx context.Context, l *Listing) ([]Stamp, error) {
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	defer t.end()
	return t.recall(ctx, l)
}

// missedFolders adds the folders whose state differs from that of the watcher.
func (t *Tree) missedFolders(ctx context.Context, missed map[any]bool) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	defer t.end()
	if !t.drain() || t.dirty || t.watching.all {
		return nil
	}
	top, err := openTop(t.open)
	if err != nil {
		return err
	}
	defer top.Close()
	if !t.sameTop(top.top) {
		return nil
	}
	loc := locator{top: top.top}
	defer loc.close()
	var odd []*node
	for _, n := range t.nodes {
		if n.due() || n.retry.Load() {
			continue
		}
		if s, k, err := loc.stat(n.place, ""); err != nil || k != kindDir || s.key() != n.key {
			odd = append(odd, n)
		}
	}
	// Changes made meanwhile are reported now, for the folder or one above it.
	if len(odd) == 0 || !t.drain() || t.watching.all {
		return ctx.Err()
	}
	for _, n := range odd {
		up := n
		for up != nil && !up.changed {
			up = up.parent
		}
		if up == nil {
			missed[n] = true
		}
	}
	return nil
}
