package task

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/fault"
)

const (
	// maxRunning is how many tasks of one owner run at a time.
	maxRunning = 100
	// keptFor is how long a task is remembered after its end.
	keptFor = time.Hour
	// maxEnded is how many ended tasks are remembered, of all owners.
	maxEnded = 1000
	// idLength is the length of an id in characters. Only the owner of a task can
	// use its id, so it need not be hard to guess.
	idLength = 6
)

// Registry knows the tasks of all conversations. It is safe for concurrent use.
type Registry struct {
	now func() time.Time

	mu    sync.Mutex
	tasks []*Task // in the order in which they were added
}

// New makes a registry that tells the time by now.
func New(now func() time.Time) *Registry { return &Registry{now: now} }

// Add takes up a job that was started. It fails with a *fault.Fault if too many
// of the owner's are running; the job is then still the caller's, who ends it.
func (r *Registry) Add(owner Owner, j Job) (*Task, error) {
	r.mu.Lock()
	defer r.unlock(r.sweep()) // swept here, released in the end
	running := 0
	for _, t := range r.tasks {
		if t.owner == owner && t.ended.IsZero() {
			running++
		}
	}
	if running >= maxRunning {
		return nil, fault.New(fmt.Sprintf("%d tasks are running in the background, and no more may", running), "Stop one with TaskStop; TaskList lists them.")
	}
	t := &Task{ID: r.newID(), Job: j, owner: owner, started: j.Status().Started}
	r.tasks = append(r.tasks, t)
	return t, nil
}

// newID returns an id that no task has. It begins with a letter, so that it never
// looks like a number.
func (r *Registry) newID() string {
	for {
		id := strings.ToLower(rand.Text()[:idLength])
		taken := slices.ContainsFunc(r.tasks, func(t *Task) bool { return t.ID == id })
		if id[0] >= 'a' && !taken {
			return id
		}
	}
}

// Get returns a task of the owner's. Of another's it says what it says of one
// that never was.
func (r *Registry) Get(owner Owner, id string) (*Task, bool) {
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
func (r *Registry) List(owner Owner) []*Task {
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

// Forget ends the owner's tasks and forgets all of them, for an owner that is gone.
// It waits for their end; one that cannot be ended is released when it ends. why
// names who ends them.
func (r *Registry) Forget(owner Owner, why string) {
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

// sweep notes what has ended and forgets what need not be remembered any more.
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

// unlock lets others in before jobs are released, which may take a while.
func (r *Registry) unlock(forgotten []*Task) {
	r.mu.Unlock()
	for _, t := range forgotten {
		t.Release()
	}
}

// hasEnded reports whether the task has ended, and notes when.
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
