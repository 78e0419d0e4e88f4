// Package watch reports which of many folders and files have changed, without looking
// at them.
//
// It uses inotify(7), so it works only on Linux; on other systems [New] fails. One
// descriptor serves all watches. It is read on request, without a goroutine.
// [Watcher.Drain] reports each change that was complete before the call.
//
// What the kernel reports determines what must be watched:
//   - Names that come and go are events of their folder. That includes the folder at
//     the top of a mount. inotify does not report that something was mounted; that is
//     found in /proc/self/mountinfo.
//   - A store into a file is an event of its inode, and of the folder through which it
//     was opened. So a hard link in a folder without a watch changes a file without an
//     event. The making of such a link is not reported either. A caller that relies on
//     the content of a file must watch the file itself.
//   - A store through a shared mapping is not reported until the file is closed and
//     unmapped. Nor are stores by Linux AIO, by a loop device, or into the upper layer
//     of a mounted overlay. No watcher sees these; stamps show them.
//
// Network file systems, FUSE and overlays do not report changes made by others: see
// [Reports].
package watch

import (
	"errors"
	"sync"
)

const (
	// MaxWatches is the limit of watches of one Watcher. Each pins an inode in the
	// kernel, about 1.2 KB. The limit suffices for the source tree of Linux, with
	// 92,000 files and folders.
	MaxWatches = 128_000
	// maxChanges is the limit of events in one Drain: more than the kernel queues by
	// default (16,384). Beyond it, looking at all files is faster.
	maxChanges = 20_000
	// eventBytes is the size of the buffer for one read: hundreds of events.
	eventBytes = 16 << 10
)

var (
	// ErrLost reports that changes may have been missed: the kernel's queue overflowed,
	// there were too many, or a file system was mounted or unmounted. The Watcher
	// cannot be used any more.
	ErrLost = errors.New("changes were lost")
	// ErrFull reports that the system or MaxWatches allows no more watches.
	ErrFull = errors.New("no more watches are to be had")
	// ErrClosed reports that the Watcher was closed.
	ErrClosed = errors.New("the watcher is closed")
)

// Kind is the kind of a change.
type Kind uint8

const (
	Entries    Kind = iota + 1 // of a folder: a name was added, removed or replaced; or the folder was moved
	Attributes                 // of a folder itself: the right to enter it may have changed
	Content                    // of a file: its content, attributes or number of links
	Ended                      // the folder or file is gone, or its watch was removed
)

// Watcher watches folders and files, each under a key that the caller chooses. It is
// safe for concurrent use.
type Watcher[K comparable] struct {
	mu     sync.Mutex
	sys    system
	keys   map[int32]K // by watch descriptor
	limit  int
	mounts uint64 // mountCount at the start
	err    error  // not nil once the Watcher cannot be used any more
	buf    []byte
}

// New returns a Watcher without watches. limit is the limit of watches, unless
// MaxWatches or half of the user's limit is less; 0 means no further limit.
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

// Folder watches the open folder fd: its names and its attributes. What the caller
// reads of it after that is at least as new as the state before the first event.
//
// An inode has one watch. If it had one already, had is true, former is its old key,
// and the new key replaces that.
func (w *Watcher[K]) Folder(fd int, key K) (former K, had bool, err error) {
	return w.add(fd, "", key)
}

// File watches the file called name, which is not a path, in the open folder fd: its
// content and attributes, under any of its names. It does not follow a link. The
// results are those of Folder.
//
// The caller must check that name is not a folder. If it became a folder that was
// watched already, as had and former show, that folder is not watched as a folder any
// more.
func (w *Watcher[K]) File(fd int, name string, key K) (former K, had bool, err error) {
	return w.add(fd, name, key)
}

func (w *Watcher[K]) add(fd int, name string, key K) (former K, had bool, err error) {
	w.mu.Lock() // also during the system call: Drain must not see an unknown descriptor
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

// Drain reports the changes since the last call. It may report the same change several
// times. If a later Folder or File has replaced a key, it reports only the new one.
// report must not call the Watcher.
//
// After an error, which is ErrLost, ErrClosed or the system's, anything may have
// changed, and each later call fails.
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
			if e.kind == Ended {
				delete(w.keys, e.wd)
			}
			if ok && e.kind != 0 {
				report(key, e.kind)
			}
		}
	}
}

// event is an event of the kernel.
type event struct {
	wd   int32
	kind Kind // 0 means of no interest
	lost bool
}

// Prune removes the watches for whose keys keep returns false.
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

// Len returns the number of watches.
func (w *Watcher[K]) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.keys)
}

// Limit returns the limit of watches.
func (w *Watcher[K]) Limit() int { return w.limit }

// Close removes all watches. It takes about 3 microseconds for each.
func (w *Watcher[K]) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == ErrClosed {
		return nil
	}
	w.err, w.keys, w.buf = ErrClosed, nil, nil
	return w.sys.close()
}
