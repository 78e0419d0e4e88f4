// Package filelock provides advisory locks between processes and within one. A
// lock only affects code that takes it: it does not block access to the file.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

const (
	// buckets is the number of lock files, whatever the number of names: the
	// folder does not grow, and few concurrent calls share a bucket.
	buckets = 256

	// timeout is the timeout for a lock that another process holds. It is much
	// longer than any write. It is short enough that a call still gets its
	// answer if the lock is held by a stopped process.
	timeout = 30 * time.Second

	// firstPause and lastPause are the first and the longest pause between
	// attempts to lock. firstPause is the time of a write without its fsync.
	// With lastPause, waiting costs almost nothing.
	firstPause = 100 * time.Microsecond
	lastPause  = 50 * time.Millisecond

	// lookEvery is the interval at which a waiter checks that its lock file is
	// still the one at the path.
	lookEvery = time.Second
)

// ErrHeld reports that another process held a lock for longer than half a
// minute.
var ErrHeld = errors.New("another server holds it")

// Locks holds locks by name, in a folder that all processes sharing them use.
// It is safe for concurrent use.
type Locks struct {
	dir    string
	queues [buckets]queue
}

// queue holds the waiters for one bucket of a Locks.
type queue struct {
	turn chan struct{} // full while a waiter holds the bucket or tries to lock it

	// lastTimeout is the time at which a waiter last got ErrHeld. Only the waiter
	// with the turn may access it.
	lastTimeout time.Time
}

// New returns the locks in the folder dir. The folder is created, for this user
// only, when the first lock is taken. Lock files are never removed: removing
// them while locks are held lets other processes take the same locks.
func New(dir string) *Locks {
	l := &Locks{dir: dir}
	for i := range l.queues {
		l.queues[i].turn = make(chan struct{}, 1)
	}
	return l
}

// Lock locks name, the canonical path of a file, until release is called. It
// waits until ctx ends, or returns ErrHeld if another process holds the lock
// for too long. Waiters of one Locks get the lock in order of arrival; between
// processes there is no order. A process that has ended, for any reason, holds
// no lock.
//
// Two names may share a lock, so the holder of one must not take another: LockAll takes
// several. Calling release again has no effect.
func (l *Locks) Lock(ctx context.Context, name string) (release func(), err error) {
	return l.take(ctx, bucket(name), name)
}

// LockAll locks several names as Lock locks one. Locks are always taken in the same order, so
// two holders of several never wait for each other.
func (l *Locks) LockAll(ctx context.Context, names ...string) (release func(), err error) {
	of := map[int]string{}
	for _, name := range names {
		of[bucket(name)] = name
	}
	var held []func()
	release = func() {
		for _, one := range held {
			one()
		}
	}
	for _, n := range slices.Sorted(maps.Keys(of)) {
		one, err := l.take(ctx, n, of[n])
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, one)
	}
	return release, nil
}

// take takes the lock of a bucket for a name.
func (l *Locks) take(ctx context.Context, n int, name string) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, waiting(name, err)
	}
	q := &l.queues[n]
	came := time.Now()
	select {
	case q.turn <- struct{}{}: // a channel serves blocked senders in order
	case <-ctx.Done():
		return nil, waiting(name, ctx.Err())
	}
	file, err := l.lock(ctx, filepath.Join(l.dir, fmt.Sprintf("%02x.lock", n)), q.deadline(came))
	if err != nil {
		if err == ErrHeld {
			q.lastTimeout = time.Now()
		}
		<-q.turn
		return nil, waiting(name, err)
	}
	return sync.OnceFunc(func() {
		// Closing the file is not enough: a child process that is just being
		// started has the descriptor until it executes its program.
		_ = unlock(file)
		_ = file.Close()
		<-q.turn
	}), nil
}

// deadline returns when a waiter that arrived at came, and now has the turn,
// must give up. The time of waiting for the turn does not count, because others
// work meanwhile. It counts if they only waited too. So all waiters for a
// stopped process give up in time.
func (q *queue) deadline(came time.Time) time.Time {
	if came.Before(q.lastTimeout) {
		return came.Add(timeout)
	}
	return time.Now().Add(timeout)
}

func waiting(name string, err error) error {
	return fmt.Errorf("waiting for the lock of %s: %w", name, err)
}

func bucket(name string) int {
	h := fnv.New32a()
	h.Write([]byte(name))
	return int(h.Sum32() % buckets)
}

// lock returns the lock file at path, locked by this process.
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

// Lock takes the lock of an open file as TryLock does, and waits for it until
// ctx ends. It takes a free lock even if ctx has ended.
func Lock(ctx context.Context, file *os.File) error {
	return poll(ctx, func() (bool, error) { return TryLock(file) })
}

// poll calls try at least once, until it is done, it fails, or ctx ends.
func poll(ctx context.Context, try func() (done bool, err error)) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if done, err := try(); done || err != nil {
			return err
		}
		// The pause is random, so that waiters that began together do not stay
		// in step.
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
