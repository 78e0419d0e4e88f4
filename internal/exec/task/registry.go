package task

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/session"
)

const (
	// maxRunning is the limit of running tasks of one owner.
	maxRunning = 100
	// keptFor is the time for which an ended task is retained.
	keptFor = time.Hour
	// maxEnded is the limit of ended tasks retained, of all owners.
	maxEnded = 1000
	// idLength is the length of an id in characters. Only the owner of a task can use its id, so it
	// need not be hard to guess.
	idLength = 6
)

// Registry holds the tasks of all sessions. It is safe for concurrent use.
type Registry struct {
	// OnEnd is called with each task that ends by itself before Seen is called for it. It must not
	// call the registry. It is set before the first Add and may be nil.
	OnEnd func(session.Owner, *Task)
	// Each is the limit of the running tasks of one principal; 0: none. It is set before the first Add.
	Each int
	// OnAdd is called with each task that is added. It must neither block nor call the registry. It
	// is set before the first Add and may be nil.
	OnAdd func(*Task)

	now func() time.Time

	mu    sync.Mutex
	tasks []*Task // in the order of Add
}

// New returns a registry that uses now as its clock.
func New(now func() time.Time) *Registry { return &Registry{now: now} }

// Add registers a job that was started. It fails with a *fault.Fault if the owner has too many
// running tasks. The caller must then end the job itself.
func (r *Registry) Add(owner session.Owner, j Job) (*Task, error) { return r.add(owner, j, false) }

// AddSeen is Add for a job whose end the owner is shown.
func (r *Registry) AddSeen(owner session.Owner, j Job) (*Task, error) { return r.add(owner, j, true) }

func (r *Registry) add(owner session.Owner, j Job, seen bool) (*Task, error) {
	r.mu.Lock()
	defer r.unlock(r.sweep()) // swept now; forgotten tasks are released when Add returns
	running, all := 0, 0
	for _, t := range r.tasks {
		if t.owner.Principal != owner.Principal || !t.ended.IsZero() {
			continue
		}
		if all++; t.owner == owner {
			running++
		}
	}
	if r.Each > 0 && all >= r.Each {
		return nil, fault.New(fmt.Sprintf("%d background tasks of this user are running", all), "Wait for one to end, or stop one with TaskStop.")
	}
	if running >= maxRunning {
		return nil, fault.New(fmt.Sprintf("%d tasks are running in the background, and no more may", running), "Stop one with TaskStop; TaskOutput without task_id lists them.")
	}
	t := &Task{ID: r.newID(), Job: j, owner: owner, started: j.Status().Started, seen: seen}
	r.tasks = append(r.tasks, t)
	if r.OnAdd != nil {
		r.OnAdd(t)
	}
	if r.OnEnd != nil && !seen {
		go func() {
			<-t.Done()
			r.report(t)
		}()
	}
	return t, nil
}

// report calls OnEnd for a task that has ended, unless its owner knows that: from Seen, or because
// it stopped the task or is gone itself.
func (r *Registry) report(t *Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !t.seen && (t.byUser || t.Status().State != Stopped) && slices.Contains(r.tasks, t) {
		r.OnEnd(t.owner, t)
	}
}

// Seen records that the owner knows that a task has ended. When it returns, OnEnd will not be
// called for the task.
func (r *Registry) Seen(t *Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.seen = true
}

// newID returns an unused id. It begins with a letter, so that it cannot be taken for a number.
func (r *Registry) newID() string {
	for {
		id := strings.ToLower(rand.Text()[:idLength])
		taken := slices.ContainsFunc(r.tasks, func(t *Task) bool { return t.ID == id })
		if id[0] >= 'a' && !taken {
			return id
		}
	}
}

// Get returns a task of the owner. A task of another owner is reported like one that does not
// exist.
func (r *Registry) Get(owner session.Owner, id string) (*Task, bool) {
	r.mu.Lock()
	defer r.unlock(r.sweep())
	for _, t := range r.tasks {
		if t.ID == id && t.owner == owner {
			return t, true
		}
	}
	return nil, false
}

// List returns the owner's tasks in order of their start.
func (r *Registry) List(owner session.Owner) []*Task {
	r.mu.Lock()
	defer r.unlock(r.sweep())
	var list []*Task
	for _, t := range r.tasks {
		if t.owner == owner {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b *Task) int { return a.started.Compare(b.started) })
	return list
}

// All returns the tasks of all owners, in order of their addition.
func (r *Registry) All() []*Task {
	r.mu.Lock()
	defer r.unlock(r.sweep())
	return slices.Clone(r.tasks)
}

// Stop ends a task in the name of the user. OnEnd reports the end to its owner.
func (r *Registry) Stop(t *Task) error {
	r.mu.Lock()
	t.byUser = true
	r.mu.Unlock()
	return t.Job.Stop("the user")
}

// Forget ends and forgets all tasks of an owner that has ended, and waits for their end. A task
// that cannot be ended is released when it ends. why names who ends them.
func (r *Registry) Forget(owner session.Owner, why string) {
	r.mu.Lock()
	var mine []*Task
	r.tasks = slices.DeleteFunc(r.tasks, func(t *Task) bool {
		if t.owner == owner {
			mine = append(mine, t)
		}
		return t.owner == owner
	})
	r.mu.Unlock()
	var all sync.WaitGroup
	for _, t := range mine {
		all.Go(func() {
			if t.Stop(why) == nil {
				<-t.Done()
				t.Release()
				return
			}
			go func() {
				<-t.Done()
				t.Release()
			}()
		})
	}
	all.Wait()
}

// sweep records which tasks have ended, and removes and returns those that need not be retained.
func (r *Registry) sweep() (forgotten []*Task) {
	now := r.now()
	var ended []*Task
	old := 0
	for _, t := range r.tasks {
		if t.hasEnded(now) {
			ended = append(ended, t)
			if now.Sub(t.ended) >= keptFor {
				old++
			}
		}
	}
	n := max(old, len(ended)-maxEnded)
	if n <= 0 {
		return nil
	}
	slices.SortStableFunc(ended, func(a, b *Task) int { return a.ended.Compare(b.ended) })
	forgotten = ended[:n]
	r.tasks = slices.DeleteFunc(r.tasks, func(t *Task) bool { return slices.Contains(forgotten, t) })
	return forgotten
}

// unlock unlocks the registry before it releases jobs, which may take a while.
func (r *Registry) unlock(forgotten []*Task) {
	r.mu.Unlock()
	for _, t := range forgotten {
		t.Release()
	}
}

// hasEnded reports whether the task has ended, and records when.
func (t *Task) hasEnded(now time.Time) bool {
	if !t.ended.IsZero() {
		return true
	}
	select {
	case <-t.Done():
	default:
		return false
	}
	if t.ended = t.Status().Ended; t.ended.IsZero() {
		t.ended = now
	}
	return true
}
