package task

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/exec/spool"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/session"
)

// stub is a job that tests end.
type stub struct {
	done     chan struct{}
	released atomic.Int32

	mu     sync.Mutex
	status Status
}

func newStub() *stub {
	return &stub{done: make(chan struct{}), status: Status{State: Running, Started: time.Now()}}
}

func (s *stub) Kind() string          { return "stub" }
func (s *stub) Title() string         { return "a stub" }
func (s *stub) Done() <-chan struct{} { return s.done }
func (s *stub) Stop(string) error     { return nil }
func (s *stub) Output() *spool.Log    { return nil }
func (s *stub) Release()              { s.released.Add(1) }

func (s *stub) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

func (s *stub) end(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.State, s.status.Ended = Completed, at
	close(s.done)
}

var me = session.Owner{Principal: "p", Session: "s"}

func add(t *testing.T, r *Registry, o session.Owner, j Job) *Task {
	t.Helper()
	task, err := r.Add(o, j)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func ids(list []*Task) (out []string) {
	for _, t := range list {
		out = append(out, t.ID)
	}
	return out
}

func TestOwner(t *testing.T) {
	r := New(time.Now)
	mine := add(t, r, me, newStub())
	for _, other := range []session.Owner{{}, {Principal: "p"}, {Session: "s"}, {Principal: "p", Session: "t"}, {Principal: "q", Session: "s"}} {
		if _, ok := r.Get(other, mine.ID); ok || len(r.List(other)) > 0 {
			t.Errorf("%+v has a task of %+v", other, me)
		}
	}
	if got, ok := r.Get(me, mine.ID); !ok || got != mine || !slices.Equal(ids(r.List(me)), []string{mine.ID}) {
		t.Error("its owner has not")
	}
	if _, ok := r.Get(me, ""); ok {
		t.Error("there is a task without a name")
	}
	if got := (session.View{ID: "s", Principal: "p"}).Owner(); got != me {
		t.Errorf("a session is %+v", got)
	}
	if got := (session.View{ID: "s", Principal: "p", Stateless: true}).Owner(); got != (session.Owner{Principal: "p"}) {
		t.Errorf("a request without one is %+v", got)
	}
}

func TestIDs(t *testing.T) {
	r, seen := New(time.Now), map[string]bool{}
	for range maxRunning {
		id := add(t, r, me, newStub()).ID
		if len(id) != 6 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") != "" || id[0] < 'a' || seen[id] {
			t.Errorf("an id is %q", id)
		}
		seen[id] = true
	}
}

// A command that moves to the background is added later than it was started.
func TestListInOrderOfStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, early := New(time.Now), newStub()
		time.Sleep(time.Second)
		late, same := newStub(), newStub()
		b, c, a := add(t, r, me, late), add(t, r, me, same), add(t, r, me, early)
		if got := ids(r.List(me)); !slices.Equal(got, []string{a.ID, b.ID, c.ID}) {
			t.Errorf("got %v of %s, %s, %s", got, a.ID, b.ID, c.ID)
		}
	})
}

func TestMostRunning(t *testing.T) {
	r := New(time.Now)
	jobs := make([]*stub, maxRunning)
	for i := range jobs {
		jobs[i] = newStub()
		add(t, r, me, jobs[i])
	}
	_, err := r.Add(me, newStub())
	const want = "100 tasks are running in the background, and no more may. Stop one with TaskStop; TaskOutput without task_id lists them."
	var f *fault.Fault
	if !errors.As(err, &f) || f.Error() != want {
		t.Errorf("got %v", err)
	}
	if len(r.List(me)) != maxRunning {
		t.Error("what was refused is listed")
	}
	add(t, r, session.Owner{Principal: "q"}, newStub())
	jobs[50].end(time.Now())
	add(t, r, me, newStub())
}

// TestEach limits the running tasks of all sessions of a principal.
func TestEach(t *testing.T) {
	r := New(time.Now)
	r.Each = 2
	first := newStub()
	add(t, r, session.Owner{Principal: "p", Session: "1"}, first)
	add(t, r, session.Owner{Principal: "p", Session: "2"}, newStub())
	const want = "2 background tasks of this user are running. Wait for one to end, or stop one with TaskStop."
	if _, err := r.Add(session.Owner{Principal: "p", Session: "3"}, newStub()); err == nil || err.Error() != want {
		t.Errorf("one too many: %v", err)
	}
	add(t, r, session.Owner{Principal: "q", Session: "1"}, newStub())
	first.end(time.Now())
	add(t, r, session.Owner{Principal: "p", Session: "3"}, newStub())
}

func TestForgottenAfterAnHour(t *testing.T) {
	for name, access := range map[string]func(*Registry, *Task) bool{
		"Get":  func(r *Registry, t *Task) bool { _, ok := r.Get(me, t.ID); return ok },
		"List": func(r *Registry, t *Task) bool { return slices.Contains(r.List(me), t) },
		"Add": func(r *Registry, t *Task) bool {
			_, _ = r.Add(session.Owner{}, newStub())
			return slices.Contains(r.tasks, t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, j, runs := New(time.Now), newStub(), newStub()
				task := add(t, r, me, j)
				add(t, r, me, runs)
				time.Sleep(3 * time.Hour)
				if !access(r, task) {
					t.Fatal("a running task is forgotten")
				}
				j.end(time.Now())
				// The time counts from the end, not from when the registry notices it.
				time.Sleep(keptFor - 1)
				if !access(r, task) || j.released.Load() > 0 {
					t.Error("it is forgotten too early")
				}
				time.Sleep(time.Nanosecond)
				for range 2 {
					if access(r, task) || j.released.Load() != 1 {
						t.Errorf("it is not forgotten, or released %d times", j.released.Load())
					}
				}
				if runs.released.Load() > 0 {
					t.Error("a running task is released")
				}
			})
		})
	}
}

// A job without a time of its end ends when the registry notices it.
func TestEndUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, j := New(time.Now), newStub()
		task := add(t, r, me, j)
		j.end(time.Time{})
		for _, want := range []bool{true, false} {
			if _, ok := r.Get(me, task.ID); ok != want {
				t.Errorf("it is there: %v", ok)
			}
			time.Sleep(keptFor)
		}
	})
}

// The thousand tasks that ended last are retained, whoever their owners are.
func TestMostEnded(t *testing.T) {
	const more = 7
	r, now := New(time.Now), time.Now()
	jobs, tasks := make([]*stub, maxEnded+more), make([]*Task, maxEnded+more)
	for i := range jobs {
		jobs[i] = newStub()
		tasks[i] = add(t, r, session.Owner{Principal: fmt.Sprint(i % 20)}, jobs[i])
		// The job added first has ended last.
		jobs[i].end(now.Add(-time.Duration(i) * time.Millisecond))
	}
	r.List(me)
	for i := range jobs {
		_, ok := r.Get(tasks[i].owner, tasks[i].ID)
		if want := i < maxEnded; ok != want || (jobs[i].released.Load() == 0) != want {
			t.Errorf("number %d is there: %v, released %d times", i, ok, jobs[i].released.Load())
		}
	}
}

// Release may take a while, and other callers do not wait for it.
func TestReleaseHoldsNobodyUp(t *testing.T) {
	r := New(time.Now)
	slow := &slowRelease{stub: newStub(), begun: make(chan struct{}), goOn: make(chan struct{})}
	add(t, r, me, slow)
	slow.end(time.Now().Add(-2 * keptFor))
	listed := make(chan struct{})
	go func() { r.List(me); close(listed) }()
	<-slow.begun
	r.List(me)
	close(slow.goOn)
	<-listed
}

type slowRelease struct {
	*stub
	begun, goOn chan struct{}
}

func (s *slowRelease) Release() { close(s.begun); <-s.goOn }

func TestConcurrently(t *testing.T) {
	r := New(time.Now)
	var wg sync.WaitGroup
	var all []*stub
	var mu sync.Mutex
	for i := range 8 {
		o := session.Owner{Principal: fmt.Sprint(i / 2)}
		wg.Go(func() {
			for range 45 {
				j := newStub()
				task, err := r.Add(o, j)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				all = append(all, j)
				mu.Unlock()
				j.end(time.Now().Add(-2 * keptFor))
				r.List(o)
				if _, ok := r.Get(o, task.ID); ok {
					t.Error("it is still there")
				}
			}
		})
	}
	wg.Wait()
	for _, j := range all {
		if j.released.Load() != 1 {
			t.Errorf("released %d times", j.released.Load())
		}
	}
}

// The tasks of an owner that has ended are ended and released, even those that cannot be ended yet,
// but no other owner's.
func TestForget(t *testing.T) {
	r := New(time.Now)
	ended, runs, stuck, other := newStub(), &stops{stub: newStub()}, &stops{stub: newStub(), err: errors.New("it hangs")}, newStub()
	ended.end(time.Now())
	for _, j := range []Job{ended, runs, stuck} {
		add(t, r, me, j)
	}
	add(t, r, session.Owner{Principal: "q"}, other)
	r.Forget(me, "the end of the session")
	if len(r.List(me)) > 0 || len(r.List(session.Owner{Principal: "q"})) != 1 {
		t.Error("it forgot the wrong tasks")
	}
	if ended.released.Load() != 1 || runs.released.Load() != 1 || stuck.released.Load() != 0 || other.released.Load() != 0 {
		t.Errorf("released: %d %d %d %d", ended.released.Load(), runs.released.Load(), stuck.released.Load(), other.released.Load())
	}
	stuck.end(time.Now())
	for deadline := time.Now().Add(20 * time.Second); stuck.released.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("what ended late is not released")
		}
	}
}

// stops is a stub that Stop can end or not.
type stops struct {
	*stub
	err error
}

func (s *stops) Stop(string) error {
	if s.err == nil {
		s.end(time.Now())
	}
	return s.err
}

// TestOnEnd checks that the end of a task is reported once, and not if the owner knows it.
func TestOnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(time.Now)
		var ends []string
		r.OnEnd = func(o session.Owner, t *Task) { ends = append(ends, o.Session+" "+t.ID) }
		jobs := map[string]*stub{}
		begin := func(name string) *Task {
			jobs[name] = newStub()
			return add(t, r, me, jobs[name])
		}
		unseen, seen := begin("unseen"), begin("seen")
		begin("stopped")
		r.Seen(seen)
		jobs["stopped"].mu.Lock()
		jobs["stopped"].status.State = Stopped
		close(jobs["stopped"].done)
		jobs["stopped"].mu.Unlock()
		jobs["unseen"].end(time.Now())
		jobs["seen"].end(time.Now())
		synctest.Wait()
		if want := []string{"s " + unseen.ID}; !slices.Equal(ends, want) {
			t.Errorf("reported %q, want %q", ends, want)
		}
	})
}

// stopping is a job that Stop ends.
type stopping struct{ *stub }

func (s stopping) Stop(why string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.State, s.status.Detail = Stopped, "stopped by "+why
	close(s.done)
	return nil
}

// TestStopByUser checks that the owner hears of a task that the user has stopped, and not of one
// that the owner has stopped.
func TestStopByUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(time.Now)
		var told []string
		r.OnEnd = func(o session.Owner, t *Task) { told = append(told, o.Session+" "+t.Status().Detail) }
		own, users := add(t, r, me, stopping{newStub()}), add(t, r, me, stopping{newStub()})
		if all := r.All(); len(all) != 2 || all[0].Owner() != me {
			t.Errorf("%v", all)
		}
		for _, err := range []error{own.Stop("TaskStop"), r.Stop(users)} {
			if err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if !slices.Equal(told, []string{"s stopped by the user"}) {
			t.Errorf("%q", told)
		}
	})
}
