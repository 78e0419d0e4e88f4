package schedule

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/durable"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

const (
	// lookEvery is the interval at which the file and the clock are looked at: another server
	// may have changed the one, and the other may have jumped.
	lookEvery = time.Minute
	// grace is how long a server leaves a durable schedule to the one that made it, and a new
	// session has no part in it: clients start servers for a moment, to see their tools.
	grace = 10 * time.Second
	// idle is the time without a call after which a session loses the durable schedules to
	// another one that makes calls.
	idle = 4 * time.Hour
)

// Registry holds the schedules of a server and fires them. It is safe for concurrent use.
// Close ends it.
type Registry struct {
	events *event.Registry
	log    *slog.Logger
	server string // distinguishes this server from others with the state folder
	now    func() time.Time

	open  context.Context // ends with the registry
	close context.CancelCauseFunc
	wake  chan struct{} // full if the goroutine must look again

	mu      sync.Mutex
	done    chan struct{} // closed when the goroutine has ended; nil: it has not started
	file    durable.File[content]
	own     []owned // in memory
	last    int     // number of the last id in memory
	holders map[durable.Key]*holder
	makers  map[string]session.Owner // of durable schedules that sessions of this server made

	starts sync.WaitGroup // commands that are being started

	failed string // last failure that was logged; only for the goroutine
}

// owned is a schedule in memory.
type owned struct {
	Schedule
	owner   session.Owner
	run     func(context.Context) string // runs Command
	ctx     context.Context              // ends with the schedule
	end     context.CancelFunc
	running *atomic.Bool // whether the command of an earlier firing is still being started
}

// holder is the session that gets the events of durable schedules.
type holder struct {
	owner session.Owner
	since time.Time // from then on there was a session
	used  time.Time
}

// New returns the registry of a server with a state folder, whose locks are locks.
func New(stateDir string, locks *filelock.Locks, events *event.Registry, log *slog.Logger) *Registry {
	open, end := context.WithCancelCause(context.Background())
	return &Registry{
		events: events, log: log, server: rand.Text()[:8], now: time.Now,
		open: open, close: end, wake: make(chan struct{}, 1),
		file:    newFile(stateDir, locks),
		holders: map[durable.Key]*holder{}, makers: map[string]session.Owner{},
	}
}

// Use records that a session makes a call. The first session of a principal and a first root
// gets the events of their durable schedules that no session of this server made.
func (r *Registry) Use(v session.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.use(v)
	r.start()
}

func (r *Registry) use(v session.View) {
	k, now := durable.KeyOf(v), r.now()
	switch h := r.holders[k]; {
	case h == nil:
		r.holders[k] = &holder{v.Owner(), now, now}
		r.look()
	case h.owner == v.Owner():
		h.used = now
	case now.Sub(h.used) > idle:
		h.owner, h.used = v.Owner(), now
	}
}

// End drops the schedules in memory of a session that has ended.
func (r *Registry) End(o session.Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(func(s owned) bool { return s.owner == o })
	for k, h := range r.holders {
		if h.owner == o {
			delete(r.holders, k)
		}
	}
	for id, maker := range r.makers {
		if maker == o {
			delete(r.makers, id)
		}
	}
}

// List returns the schedules that a session can see, in the order of their next firings.
func (r *Registry) List(v session.View) ([]Schedule, error) {
	c, err := r.file.Read()
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list(c, v), nil
}

// Pending reports whether this server will fire a schedule: one in memory, or a durable one of a
// principal and a root of one of its sessions.
func (r *Registry) Pending() bool {
	c, err := r.file.Read()
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.own) > 0 || err == nil && slices.ContainsFunc(c.Schedules, func(s Schedule) bool {
		_, _, fires := r.at(&s)
		return fires
	})
}

func (r *Registry) list(c content, v session.View) []Schedule {
	var list []Schedule
	for _, s := range r.own {
		if s.owner == v.Owner() {
			list = append(list, s.Schedule)
		}
	}
	for _, s := range c.Schedules {
		if s.key() == durable.KeyOf(v) {
			list = append(list, s)
		}
	}
	return sorted(list)
}

// Add makes a schedule. run runs Draft.Command and returns the text of the event; nil: there is
// none.
func (r *Registry) Add(ctx context.Context, v session.View, d Draft, run func(context.Context) string) (s Schedule, err error) {
	if s, err = d.schedule(r.now()); err != nil {
		return s, err
	}
	if d.Durable {
		err = r.file.Update(ctx, func(c *content) error { return r.addDurable(c, v, &s) })
		r.look()
	} else {
		var c content
		if c, err = r.file.Read(); err == nil {
			err = r.addOwned(c, v, &s, run)
		}
	}
	return s, err
}

func (r *Registry) addOwned(c content, v session.View, s *Schedule, run func(context.Context) string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.room(c, v); err != nil {
		return err
	}
	if len(r.own) >= maxMemory {
		return fault.New(fmt.Sprintf("the sessions of this server have %d schedules, and no more are possible", maxMemory), "Use Sleep, or try again later.")
	}
	r.last++
	s.ID = strconv.Itoa(r.last)
	o := owned{Schedule: *s, owner: v.Owner(), run: run, running: new(atomic.Bool)}
	o.ctx, o.end = context.WithCancel(r.open)
	r.own = append(r.own, o)
	r.start()
	r.look()
	return nil
}

func (r *Registry) addDurable(c *content, v session.View, s *Schedule) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.room(*c, v); err != nil {
		return err
	}
	if len(c.Schedules) >= maxDurable {
		return fault.New(fmt.Sprintf("the state folder has %d durable schedules, and no more are possible", maxDurable), "Set durable to false, or delete one with CronDelete.")
	}
	c.Last++
	k := durable.KeyOf(v)
	s.ID, s.Principal, s.Root, s.Server = "d"+strconv.Itoa(c.Last), k.Principal, k.Root, r.server
	c.Schedules = append(c.Schedules, *s)
	r.use(v)
	r.makers[s.ID] = v.Owner()
	r.start()
	return nil
}

// room refuses one more schedule of a session that has as many as it can.
func (r *Registry) room(c content, v session.View) error {
	if list := r.list(c, v); len(list) >= maxOwned {
		return fault.New(fmt.Sprintf("this session has %d schedules, and no more are possible", len(list)), "Delete one with CronDelete; CronList shows them.")
	}
	return nil
}

// Delete removes a schedule that a session can see, and returns it.
func (r *Registry) Delete(ctx context.Context, v session.View, id string) (s Schedule, err error) {
	list, err := r.List(v)
	if err != nil {
		return s, err
	}
	i := slices.IndexFunc(list, func(s Schedule) bool { return s.ID == id })
	if i < 0 {
		return s, unknown(plain.Key(id), list)
	}
	if s = list[i]; s.Durable() {
		return s, r.file.Update(ctx, func(c *content) error {
			n := len(c.Schedules)
			if c.Schedules = without(c.Schedules, id); len(c.Schedules) == n {
				return fault.New("the schedule "+id+" has ended meanwhile", "Go on; there is nothing to delete.")
			}
			return nil
		})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(func(s owned) bool { return s.ID == id })
	return s, nil
}

// drop removes schedules in memory. The caller holds r.mu.
func (r *Registry) drop(which func(owned) bool) {
	r.own = slices.DeleteFunc(r.own, func(s owned) bool {
		if !which(s) {
			return false
		}
		s.end()
		return true
	})
}

func without(list []Schedule, id string) []Schedule {
	return slices.DeleteFunc(list, func(s Schedule) bool { return s.ID == id })
}

// Close ends the firing of schedules. Those in memory are gone.
func (r *Registry) Close() error {
	r.close(errors.New("the server ends"))
	r.mu.Lock()
	done := r.done
	r.mu.Unlock()
	if done != nil {
		<-done
	}
	r.starts.Wait()
	return nil
}

// start starts the goroutine that fires schedules, once. The caller holds r.mu.
func (r *Registry) start() {
	if r.done == nil && r.open.Err() == nil {
		r.done = make(chan struct{})
		go r.run(r.done)
	}
}

// look makes the goroutine look again. It does not block.
func (r *Registry) look() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
