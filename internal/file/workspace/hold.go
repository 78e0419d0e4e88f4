package workspace

import (
	"context"
	"errors"
	"time"

	"mcp-toolset/internal/file/filelock"
)

const (
	// holdOne is the timeout for one holder of a file's lock: many times what an Update
	// takes. A process that holds the lock for longer may be stopped, or no writer of
	// ours, and must not block the file for others.
	holdOne = 2 * time.Second

	// holdAll is the timeout of an Update in total, while others replace the file.
	holdAll = 30 * time.Second

	// maxReplaced is the number of attempts to lock a file that is replaced each time
	// before it is locked. Eight attempts were too few for 16 writers.
	maxReplaced = 100
)

// hold opens the file and locks it, so that Updates of one file take turns even if
// nothing else serializes them: servers without a common state folder, a file reached
// by two paths. It returns nil if there is no file. The lock is on the file itself, not
// on its name. If the file was replaced while hold waited, it opens the one that has
// the name by then.
//
// If the file cannot be locked, or another process does not release the lock in time,
// hold returns the file unlocked. Errors name the file as the caller did.
func (p *place) hold(ctx context.Context, literal string, patience time.Time) (*Old, error) {
	for tries := 1; ; tries++ {
		old, waited, err := p.lockOld(ctx, literal, patience)
		// Waiting for other Updates does not count as an attempt.
		if !errors.Is(err, errMoved) || !waited && tries >= maxReplaced || time.Now().After(patience) {
			return old, err
		}
	}
}

// lockOld is one attempt of hold. Its error is errMoved if the file was replaced meanwhile.
// waited reports whether it waited for another holder of the lock.
func (p *place) lockOld(ctx context.Context, literal string, patience time.Time) (old *Old, waited bool, err error) {
	old, err = p.old(literal)
	if old == nil || err != nil {
		return nil, false, err
	}
	if err = mayWrite(p, old.Info); err == nil {
		waited, err = old.lock(ctx, patience)
	}
	if err == nil {
		err = p.checkUnchanged(old)
	}
	if err != nil {
		old.File.Close()
		return nil, waited, err
	}
	return old, waited, nil
}

// lock locks the file if it can in time, and reports whether it had to wait. It fails
// only if ctx ends.
func (o *Old) lock(ctx context.Context, patience time.Time) (waited bool, err error) {
	ok, err := filelock.TryLock(o.File)
	if ok || err != nil {
		return false, nil
	}
	limit := time.Now().Add(holdOne)
	if limit.After(patience) {
		limit = patience
	}
	limited, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	_ = filelock.Lock(limited, o.File)
	return true, ctx.Err()
}
