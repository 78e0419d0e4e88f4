// Package filelock is advisory locks between processes and within one. A lock
// is of use among those that take it: it keeps nobody from the file it is for.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"mcp-toolset/internal/state"
)

const (
	// buckets is how many lock files there are, whatever the number of names:
	// the folder never grows, and few calls that run at once share a bucket.
	buckets = 256

	// Another process is asked again after these: the first is what a write
	// takes without its fsync, the last is short beside one with it.
	firstPause = 100 * time.Microsecond
	lastPause  = 5 * time.Millisecond
)

// Locks are locks by name, kept in a folder that all who share them name. It
// is safe for concurrent use.
type Locks struct {
	dir    string
	queues [buckets]chan struct{}
}

// New returns the locks in the folder dir, which is made, for this user alone,
// when the first lock is taken. Nothing in it is ever removed: who removes it
// while locks are held lets others take them once more.
func New(dir string) *Locks {
	l := &Locks{dir: dir}
	for i := range l.queues {
		l.queues[i] = make(chan struct{}, 1)
	}
	return l
}

// Take locks what name stands for, the canonical path of a file, until release
// is called, and waits for it until ctx ends. Waiters of one Locks get it in
// the order they came; between processes there is no order. A process that
// ends, however it ends, holds nothing any more.
//
// Two names may share a lock, so who holds one must not take another.
// Calling release again does nothing.
func (l *Locks) Take(ctx context.Context, name string) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, waiting(name, err)
	}
	n := bucket(name)
	queue := l.queues[n]
	select {
	case queue <- struct{}{}: // senders on a full channel are served as they came
	case <-ctx.Done():
		return nil, waiting(name, ctx.Err())
	}
	file, err := l.lock(ctx, filepath.Join(l.dir, fmt.Sprintf("%02x.lock", n)))
	if err != nil {
		<-queue
		return nil, waiting(name, err)
	}
	return sync.OnceFunc(func() {
		// Closing would do, but for a child that is just being started: it has
		// the descriptor until it runs its own program.
		_ = unlock(file)
		_ = file.Close()
		<-queue
	}), nil
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
func (l *Locks) lock(ctx context.Context, path string) (*os.File, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		file, err := l.try(path)
		if file != nil || err != nil {
			return file, err
		}
		// Not all of the pause, or those who began together stay together.
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
	}
}

// try returns the lock file at path, locked, or nil if another has it.
func (l *Locks) try(path string) (*os.File, error) {
	if err := state.EnsurePrivate(l.dir); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|openFlags, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the folder was removed in this moment
	}
	if err != nil {
		return nil, err
	}
	ok, err := TryLock(file)
	if !ok {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}
