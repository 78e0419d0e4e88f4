package workspace

import (
	"context"
	"errors"
	"time"

	"mcp-toolset/internal/filelock"
)

const (
	// holdOne is how long one holder of a file's lock is waited for: many times
	// what an Update takes. Whoever has it for longer may be no writer of ours,
	// or one that was stopped, and is not to keep others from the file.
	holdOne = 2 * time.Second

	// holdAll is how long an Update waits in all, while others replace the file.
	holdAll = 30 * time.Second
)

// hold opens the file, nil if there is none, and locks it, so that Updates of
// one file take turns also if nothing else makes them: servers that share no
// state folder, a file that is reached by two paths. The lock is on the file
// itself, not on its name. So one that was replaced while it was waited for is
// of no use, and the one that has the name by then is opened instead.
//
// Where files cannot be locked, or somebody keeps the lock, it is done without.
// Errors name the file as the caller did.
func (p *place) hold(ctx context.Context, literal string, patience time.Time) (*Old, error) {
	for {
		old, err := p.old(literal)
		if old == nil || err != nil {
			return nil, err
		}
		waited := false
		if err = mayWrite(p, old.Info); err == nil {
			waited, err = old.lock(ctx, patience)
		}
		if err == nil {
			err = p.still(old)
		}
		if err == nil {
			return old, nil
		}
		old.File.Close()
		// Others of us who come first are not what attempts are counted for.
		if !waited || !errors.Is(err, errMoved) || time.Now().After(patience) {
			return nil, err
		}
	}
}

// lock takes the lock of the file if that can be had in time, and reports
// whether it had to wait. It fails only if ctx ends.
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
