// Package filelock is advisory locks between processes and within one. A lock
// is of use among those that take it: it keeps nobody from the file it is for.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// buckets is how many lock files there are, whatever the number of names:
	// the folder never grows, and few calls that run at once share a bucket.
	buckets = 256

	// patience is how long another process may keep a lock from us: far longer
	// than any write takes, short enough that a call whose lock is held by a
	// process that was stopped still gets its answer.
	patience = 30 * time.Second

	// Another process is asked again after these: the first is what a write
	// takes without its fsync; with the last, a waiter costs next to nothing.
	firstPause = 100 * time.Microsecond
	lastPause  = 50 * time.Millisecond

	// lookEvery is how often a waiter looks whether its lock file is still the
	// one that others would open.
	lookEvery = time.Second
)

// ErrHeld says that another process did not let go of a lock in half a minute.
var ErrHeld = errors.New("another server holds it")

// Locks are locks by name, kept in a folder that all who share them name. It
// is safe for concurrent use.
type Locks struct {
	dir    string
	queues [buckets]queue
}

// queue is those of one Locks who want one bucket.
type queue struct {
	turn chan struct{} // full while one of them has the bucket or asks for it

	// gaveUp is when the last of them met ErrHeld. It belongs to who has the
	// turn.
	gaveUp time.Time
}

// New returns the locks in the folder dir, which is made, for this user alone,
// when the first lock is taken. Nothing in it is ever removed: who removes it
// while locks are held lets others take them once more.
func New(dir string) *Locks {
	l := &Locks{dir: dir}
	for i := range l.queues {
		l.queues[i].turn = make(chan struct{}, 1)
	}
	return l
}

// Take locks what name stands for, the canonical path of a file, until release
// is called, and waits for it until ctx ends or, with ErrHeld, another process
// has held it for too long. Waiters of one Locks get it in the order they came;
// between processes there is no order. A process that ends, however it ends,
// holds nothing any more.
//
// Two names may share a lock, so who holds one must not take another.
// Calling release again does nothing.
func (l *Locks) Take(ctx context.Context, name string) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, waiting(name, err)
	}
	n := bucket(name)
	q := &l.queues[n]
	came := time.Now()
	select {
	case q.turn <- struct{}{}: // senders on a full channel are served as they came
	case <-ctx.Done():
		return nil, waiting(name, ctx.Err())
	}
	file, err := l.lock(ctx, filepath.Join(l.dir, fmt.Sprintf("%02x.lock", n)), q.deadline(came))
	if err != nil {
		if err == ErrHeld {
			q.gaveUp = time.Now()
		}
		<-q.turn
		return nil, waiting(name, err)
	}
	return sync.OnceFunc(func() {
		// Closing would do, but for a child that is just being started: it has
		// the descriptor until it runs its own program.
		_ = unlock(file)
		_ = file.Close()
		<-q.turn
	}), nil
}

// deadline is when who came then, and has the turn now, is to give up. Waiting
// for one's turn does not count, since others work meanwhile, unless they too
// only waited: so all who wait for a process that was stopped give up in time.
func (q *queue) deadline(came time.Time) time.Time {
	if came.Before(q.gaveUp) {
		return came.Add(patience)
	}
	return time.Now().Add(patience)
}

func waiting(name string, err error) error {
	return fmt.Errorf("waiting for the lock of %s: %w", name, err)
}

func bucket(name string) int {
	h := fnv.New32a()
	h.Write([]byte(name))
	return int(h.Sum32() % buckets)
}

// lock returns the lock file at path once this process alone has it.
func (l *Locks) lock(ctx context.Context, path string, deadline time.Time) (*os.File, error) {
	limited, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	w := waiter{dir: l.dir, path: path}
	err := poll(limited, w.try)
	if err == nil {
		return w.file, nil
	}
	w.drop()
	if err == context.DeadlineExceeded && ctx.Err() == nil {
		return nil, ErrHeld
	}
	return nil, err
}

// Lock waits for the lock of an open file, as TryLock takes it, until ctx ends.
// One that is free is taken even then.
func Lock(ctx context.Context, file *os.File) error {
	return poll(ctx, func() (bool, error) { return TryLock(file) })
}

// poll calls try, at least once, until it is done or fails or ctx ends.
func poll(ctx context.Context, try func() (done bool, err error)) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if done, err := try(); done || err != nil {
			return err
		}
		// Not all of the pause, or those who began together stay together.
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
