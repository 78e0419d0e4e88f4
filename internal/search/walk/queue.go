package walk

import (
	"slices"
	"sync"
)

// task is a folder to visit.
type task struct {
	node *node
	from *handle // the open parent; nil if there is none
}

// handle is a folder that stays open for the folders directly in it.
type handle struct {
	folder folder
	tasks  int  // tasks that have not been opened yet
	users  int  // tasks that are being opened
	closed bool // closed to make room; its tasks are found from the top
}

// queue holds the folders to visit. The last in are the first out: that keeps the queue
// short and their parents open.
type queue struct {
	keep    int // limit of handles
	mu      sync.Mutex
	wake    sync.Cond
	tasks   []task
	busy    int       // workers that may add tasks
	handles []*handle // open, the oldest first
}

func newQueue(keep int) *queue {
	q := &queue{keep: keep}
	q.wake.L = &q.mu
	return q
}

// pop returns the next task. While there is none, it waits for others that may add
// some. It returns false when all tasks are done. After each successful pop the caller
// must call done.
func (q *queue) pop() (task, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.tasks) == 0 {
		if q.busy == 0 {
			return task{}, false
		}
		q.wake.Wait()
	}
	t := q.tasks[len(q.tasks)-1]
	q.tasks = q.tasks[:len(q.tasks)-1]
	q.busy++
	if t.from != nil && t.from.closed {
		t.from = nil
	}
	if t.from != nil {
		t.from.users++
	}
	return t, true
}

// opened reports that a task does not need its parent any more.
func (q *queue) opened(h *handle) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h.users--
	if h.tasks--; h.tasks == 0 {
		q.drop(slices.Index(q.handles, h))
	}
}

// done ends a task and adds the tasks it found in the folder f. If owned, done closes
// f, now or later.
func (q *queue) done(found []*node, f folder, owned bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var h *handle
	if owned && len(found) > 0 {
		h = &handle{folder: f, tasks: len(found)}
		q.handles = append(q.handles, h)
		if len(q.handles) > q.keep {
			// The oldest is needed last and is near the top.
			q.drop(slices.IndexFunc(q.handles, func(h *handle) bool { return h.users == 0 }))
		}
	} else if owned {
		f.close()
	}
	for _, n := range slices.Backward(found) {
		q.tasks = append(q.tasks, task{n, h})
	}
	q.busy--
	if q.busy == 0 || len(found) > 1 {
		q.wake.Broadcast()
	}
}

// abandon removes all tasks.
func (q *queue) abandon() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks = nil
}

// close closes the handles of abandoned tasks.
func (q *queue) close() {
	for len(q.handles) > 0 {
		q.drop(0)
	}
}

func (q *queue) drop(i int) {
	h := q.handles[i]
	q.handles = slices.Delete(q.handles, i, i+1)
	h.folder.close()
	h.closed = true
}
