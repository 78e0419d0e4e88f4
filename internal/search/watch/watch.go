// Package watch tells which of many folders and files have changed, without
// looking at them.
//
// It stands on inotify(7), and only on Linux; elsewhere [New] fails. There is
// one descriptor for all, read when asked: no goroutine runs. A change that
// is complete before [Watcher.Drain] is called is told by it.
//
// What has to be watched follows from what the kernel tells:
//   - Names that come and go are told of the folder they are in. So are those
//     of a mount below by its own folder; that something was mounted is not
//     told by inotify and is found in /proc/self/mountinfo.
//   - A store into a file is told of its inode, and of the folder of the name
//     that it was opened by. Another hard link, in a folder that nobody
//     watches, thus changes a file silently, and so does its making: whoever
//     relies on the content of a file watches the file itself.
//   - A store through a shared mapping is not told until the file is let go
//     of; nor are stores by Linux AIO, by a loop device, or into the upper
//     layer of a mounted overlay. No watcher sees these: stamps do.
//
// Network file systems, FUSE and overlays do not tell of what others do to
// them: see [Reports].
package watch

import (
	"errors"
	"sync"
)

const (
	// MaxWatches is the most watches of one Watcher. Each pins an inode in
	// the kernel, some 1.2 KB; the tree of Linux, with 92,000 files and
	// folders, is meant to be watched.
	MaxWatches = 128_000
	// maxChanges is how many events a Drain takes: more than the kernel
	// queues by default (16,384). Looking at all is quicker by then.
	maxChanges = 20_000
	// eventBytes is the room for one read: hundreds of events.
	eventBytes = 16 << 10
)

var (
	// ErrLost says that changes may have gone unnoticed: the kernel's queue
	// overflowed, there were too many, or a file system was mounted or
	// unmounted. The Watcher is of no more use.
	ErrLost = errors.New("changes were lost")
	// ErrFull says that the system or MaxWatches allows no more watches.
	ErrFull = errors.New("no more watches are to be had")
	// ErrClosed says that the Watcher was closed.
	ErrClosed = errors.New("the watcher is closed")
)

// Kind is what has changed.
type Kind uint8

const (
	Entries    Kind = iota + 1 // of a folder: a name came, went or stands for another; or it was moved itself
	Attributes                 // of a folder itself: perhaps who may enter it
	Content                    // of a file, or its attributes, or its number of links
	Ended                      // the folder or file is gone, or was never to be watched for long
)

// Watcher watches folders and files, each known by a key of the caller's. It
// is safe for concurrent use.
type Watcher[K comparable] struct {
	mu     sync.Mutex
	sys    system
	keys   map[int32]K // by the kernel's number
	limit  int
	mounts uint64 // see mountCount, when it was made
	err    error  // once it is of no use
	buf    []byte
}

// New makes a Watcher of nothing. Limit is the most watches, if that is less
// than MaxWatches and half of what the user may have in all; 0 is no less.
func New[K comparable](limit int) (*Watcher[K], error) {
	mounts, err := mountCount()
	if err != nil {
		return nil, err
	}
	most := min(MaxWatches, userLimit()/2)
	if limit > 0 {
		most = min(most, limit)
	}
	sys, err := open()
	if err != nil {
		return nil, err
	}
	return &Watcher[K]{sys: sys, keys: map[int32]K{}, limit: most, mounts: mounts, buf: make([]byte, eventBytes)}, nil
}

// Folder watches the open folder fd: names in it, and its attributes. What is
// read of it from then on is as told or newer.
//
// One inode has one watch. If it had one already it is known by the new key
// from now on, former is the old one, and had is true.
func (w *Watcher[K]) Folder(fd int, key K) (former K, had bool, err error) {
	return w.add(fd, "", key)
}

// File watches the file called name, no path, in the open folder fd: its
// content and attributes, by whatever name it is changed. A link is not
// followed. See Folder for what it gives.
//
// The caller sees that name is no folder. If it became one that was watched
// already, as had and former show, that one is no longer watched as such.
func (w *Watcher[K]) File(fd int, name string, key K) (former K, had bool, err error) {
	return w.add(fd, name, key)
}

func (w *Watcher[K]) add(fd int, name string, key K) (former K, had bool, err error) {
	w.mu.Lock() // also while the kernel adds it: no Drain may meet a number unknown
	defer w.mu.Unlock()
	if w.err != nil {
		return former, false, w.err
	}
	if len(w.keys) >= w.limit {
		return former, false, ErrFull
	}
	wd, err := w.sys.add(fd, name)
	if err != nil {
		return former, false, err
	}
	former, had = w.keys[wd]
	w.keys[wd] = key
	return former, had, nil
}

// Drain tells what has changed since the last one. The same change may be
// told several times, and of keys that a later Folder or File has replaced
// only the new one is told. report must not call the Watcher.
//
// After an error, which is ErrLost, ErrClosed or the system's, anything may
// have changed, and each later call fails.
func (w *Watcher[K]) Drain(report func(key K, what Kind)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if n, err := mountCount(); err != nil || n != w.mounts {
		w.err = ErrLost
		return w.err
	}
	for left := maxChanges; ; {
		events, err := w.sys.read(w.buf)
		if err != nil {
			w.err = err
			return err
		}
		if len(events) == 0 {
			return nil
		}
		for len(events) > 0 {
			var e event
			e, events = next(events)
			if left--; e.lost || left < 0 {
				w.err = ErrLost
				return w.err
			}
			key, ok := w.keys[e.wd]
			if e.what == Ended {
				delete(w.keys, e.wd)
			}
			if ok && e.what != 0 {
				report(key, e.what)
			}
		}
	}
}

// event is what the kernel tells.
type event struct {
	wd   int32
	what Kind // 0 is nothing of interest
	lost bool
}

// Prune ends the watches whose keys are not to be kept.
func (w *Watcher[K]) Prune(keep func(K) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == ErrClosed {
		return
	}
	for wd, key := range w.keys {
		if !keep(key) {
			w.sys.remove(wd)
			delete(w.keys, wd)
		}
	}
}

// Len is how many watches there are.
func (w *Watcher[K]) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.keys)
}

// Limit is how many watches there may be.
func (w *Watcher[K]) Limit() int { return w.limit }

// Close gives all watches back. It takes some 3 microseconds for each.
func (w *Watcher[K]) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == ErrClosed {
		return nil
	}
	w.err, w.keys, w.buf = ErrClosed, nil, nil
	return w.sys.close()
}
