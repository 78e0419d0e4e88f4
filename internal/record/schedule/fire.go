package schedule

import (
	"mcp-toolset/internal/event"
	"mcp-toolset/session"
	"slices"
	"strings"
	"time"
)

// run fires schedules until the registry is closed.
func (r *Registry) run(done chan struct{}) {
	defer close(done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-r.open.Done():
			return
		case <-r.wake:
		case <-timer.C:
		}
		// The clock is compared again at least every minute, as a timer does not notice that
		// it jumps.
		timer.Reset(max(r.fire(), time.Millisecond))
	}
}

// fired is an event to add.
type fired struct {
	owner session.Owner
	event event.Event
}

func (s *Schedule) event(text string) event.Event {
	return event.Event{Source: "cron " + s.ID, Text: text}
}

// fire makes the events of all schedules that are due. It returns the time until the next
// one is.
func (r *Registry) fire() time.Duration {
	now := r.now()
	wait, durable := r.fireOwned(now)
	if !durable {
		return wait
	}
	c, err := r.file.Read()
	due := false
	if err == nil {
		if due, wait = r.anyDue(c, now, wait); due {
			err = r.fireDurable(now)
		}
	}
	switch {
	case err == nil:
		r.failed = ""
	case r.open.Err() == nil && r.failed != err.Error():
		r.failed = err.Error()
		r.log.Warn("durable schedules do not fire", "error", r.failed)
	}
	return wait
}

// fireOwned makes the events of the schedules in memory that are due. It returns the time
// until the next one is, lookEvery at most, and whether a session may get durable ones.
func (r *Registry) fireOwned(now time.Time) (wait time.Duration, durable bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	wait = lookEvery
	rest := r.own[:0]
	for _, s := range r.own {
		last := false
		if s.due(now) {
			var text string
			text, last = s.advance(now, true)
			switch {
			case s.Command == "":
				r.events.Add(s.owner, s.event(text))
			case s.running.CompareAndSwap(false, true):
				r.starts.Go(func() { r.command(s, text, last) })
			default:
				r.events.Add(s.owner, s.event("This firing was left out: the command of the one before it still waits to start."))
			}
		}
		switch {
		case last && s.Command == "":
			s.end() // else the last command ends it
		case !last:
			rest = append(rest, s)
			wait = min(wait, s.Next.Sub(now))
		}
	}
	clear(r.own[len(rest):])
	r.own = rest
	return wait, len(r.holders)+len(r.makers) > 0
}

// command runs the command of a schedule, and makes an event of the start or the refusal. note is
// what advance returned for the empty prompt.
func (r *Registry) command(s owned, note string, last bool) {
	defer s.running.Store(false)
	if last {
		defer s.end()
	}
	text := strings.TrimSpace(s.run(s.ctx) + " " + note)
	if s.ctx.Err() == nil {
		r.events.Add(s.owner, s.event(text))
	}
}

// at returns the time at which this server fires a durable schedule, and the session that
// gets the event. ok is false if no session of this server does.
func (r *Registry) at(s *Schedule) (at time.Time, owner session.Owner, ok bool) {
	h := r.holders[s.key()]
	owner, made := r.makers[s.ID]
	switch {
	case !made && h == nil:
		return at, owner, false
	case !made:
		owner = h.owner
	}
	at = s.Next
	if s.Server != r.server {
		if h != nil && at.Before(h.since) {
			at = h.since
		}
		at = at.Add(grace)
	}
	return at, owner, true
}

// anyDue reports whether a durable schedule is due for this server, and the time until the
// next one is, if that is less than wait.
func (r *Registry) anyDue(c content, now time.Time, wait time.Duration) (bool, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	due := false
	for i := range c.Schedules {
		at, _, ok := r.at(&c.Schedules[i])
		switch {
		case !ok:
		case now.Before(at):
			wait = min(wait, at.Sub(now))
		default:
			due = true
		}
	}
	return due, wait
}

// fireDurable advances the durable schedules that are due, and stores that before it makes
// their events: if the server is killed between, a firing is lost, and none happens twice.
func (r *Registry) fireDurable(now time.Time) error {
	var all []fired
	err := r.file.Update(r.open, func(c *content) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		for id := range r.makers {
			if !slices.ContainsFunc(c.Schedules, func(s Schedule) bool { return s.ID == id }) {
				delete(r.makers, id)
			}
		}
		var rest []Schedule
		for _, s := range c.Schedules {
			at, owner, ok := r.at(&s)
			if !ok || now.Before(at) {
				rest = append(rest, s)
				continue
			}
			live := true
			if h := r.holders[s.key()]; h != nil {
				live = !s.Next.Before(h.since)
			}
			text, last := s.advance(now, live)
			e := s.event(text)
			if r.makers[s.ID] != owner { // another session wrote the prompt
				e.Source, e.Data = e.Source+" of an earlier session", true
			}
			all = append(all, fired{owner, e})
			if s.Server = r.server; !last {
				rest = append(rest, s)
			}
		}
		c.Schedules = rest
		return nil
	})
	if err != nil {
		return err
	}
	for _, f := range all {
		r.events.Add(f.owner, f.event)
	}
	r.look() // for the next times
	return nil
}
