// Package event holds the events of sessions until a model hears of them.
//
// An event is something that happened outside of any call of the session: a background
// task ended, a schedule fired, another session sent a text. A server cannot begin a
// model's turn, so an event waits in the queue of its owner until it is taken: by the
// next answer to the session, whatever call that answers. Sleep waits for that.
//
// An event is taken at most once, in order of arrival, unless the answer that had it may not have
// reached the agent that waits for it. A queue is bounded: it drops its oldest events and counts
// them.
package event

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/session"
)

// Meta is the key of the events of an answer in its _meta: a list of Event.
const Meta = "mcp-toolset/events"

const (
	// maxQueued is the limit of events that wait for one owner.
	maxQueued = 100
	// MaxText is the limit of the text of an event, in characters.
	MaxText = 2000
	// maxTaken is the limit of events that Recent returns after they were taken.
	maxTaken = 20
	// maxWaiting is the limit of calls of one owner that wait for events.
	maxWaiting = 20
)

// Event is one event. Registry.Add sets ID and Time.
type Event struct {
	ID     int       `json:"id"` // 1, 2, 3, ... for each owner
	Time   time.Time `json:"time"`
	Source string    `json:"source"` // such as "task k3x9ab"
	Text   string    `json:"text"`
	// Data reports that another program or session wrote the text, so that it is data and
	// no instruction.
	Data bool `json:"data,omitempty"`
	// Again reports that an earlier answer had the event, perhaps one to another agent.
	Again bool `json:"again,omitempty"`
}

// Registry holds the queues of all owners. It is safe for concurrent use. A nil Registry
// drops all events.
type Registry struct {
	mu      sync.Mutex
	queues  session.Owned[queue]
	arrival func(session.Owner)
}

// New returns an empty registry.
func New() *Registry {
	return &Registry{queues: session.Owned[queue]{InUse: func(q *queue) bool { return q.waiting > 0 }}}
}

// queue holds the events of one owner.
type queue struct {
	events  []Event       // not taken yet
	taken   []Event       // the last ones that were taken
	shown   []Event       // the last ones of Show
	last    int           // ID of the last event
	at      time.Time     // time of the last event
	dropped int           // number of events dropped since the last Take
	arrived chan struct{} // closed when an event arrives; nil: nobody waits
	waiting int
}

// OnArrival sets a function that is called for the owner of each event that arrives in an empty
// queue. It must not block. It must be set before the first event.
func (r *Registry) OnArrival(f func(session.Owner)) {
	if r != nil {
		r.arrival = f
	}
}

// Add queues an event for an owner. A text of more than MaxText characters is cut.
func (r *Registry) Add(o session.Owner, e Event) {
	if r == nil {
		return
	}
	if over := utf8.RuneCountInString(e.Text) - MaxText; over > 0 {
		note := fmt.Sprintf("... [%d more characters]", over+30)
		e.Text = string([]rune(e.Text)[:MaxText-30]) + note
	}
	e.Time = time.Now()
	if r.add(o, e) && r.arrival != nil {
		r.arrival(o)
	}
}

// add queues an event. It reports whether the queue was empty.
func (r *Registry) add(o session.Owner, e Event) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues.Get(o)
	q.last++
	e.ID, q.at = q.last, e.Time
	if len(q.events) == maxQueued {
		q.events = append(q.events[:0], q.events[1:]...)
		q.dropped++
	}
	q.events = append(q.events, e)
	if q.arrived != nil {
		close(q.arrived)
		q.arrived = nil
	}
	return len(q.events) == 1
}

// Pending reports whether an owner has events that are not taken yet.
func (r *Registry) Pending(o session.Owner) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues.Lookup(o)
	return q != nil && len(q.events) > 0
}

// Last returns the time of the last event of an owner, or the zero time if there was none.
func (r *Registry) Last(o session.Owner) time.Time {
	if r == nil {
		return time.Time{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if q := r.queues.Lookup(o); q != nil {
		return q.at
	}
	return time.Time{}
}

// Take removes and returns the events of an owner, oldest first, and the number of older
// events that were dropped.
func (r *Registry) Take(o session.Owner) (events []Event, dropped int) {
	if r == nil {
		return nil, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues.Lookup(o)
	if q == nil || len(q.events) == 0 {
		return nil, 0
	}
	events, dropped = q.events, q.dropped
	q.events, q.dropped = nil, 0
	q.taken = latest(q.taken, events)
	return events, dropped
}

// latest returns the last events of two lists, at most maxTaken.
func latest(list, more []Event) []Event {
	all := slices.Concat(list, more)
	return slices.Clone(all[max(0, len(all)-maxTaken):])
}

// Show is Take for an answer that may go to another agent than the one that waits for the events.
// Collect returns them once more.
func (r *Registry) Show(o session.Owner) (events []Event, dropped int) {
	events, dropped = r.Take(o)
	if len(events) > 0 {
		r.mu.Lock()
		defer r.mu.Unlock()
		q := r.queues.Get(o)
		q.shown = latest(q.shown, events)
	}
	return events, dropped
}

// Collect is Take for an answer to the agent that waits for events. It begins with the events of
// Show, which have Again set.
func (r *Registry) Collect(o session.Owner) (events []Event, dropped int) {
	if r == nil {
		return nil, 0
	}
	events, dropped = r.Take(o)
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues.Lookup(o)
	if q == nil {
		return events, dropped
	}
	again := q.shown
	q.shown = nil
	for i := range again {
		again[i].Again = true
	}
	return slices.Concat(again, events), dropped
}

// Shown reports whether Collect returns events that an answer had.
func (r *Registry) Shown(o session.Owner) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues.Lookup(o)
	return q != nil && len(q.shown) > 0
}

// Return puts back events that were taken for an answer that was not sent.
func (r *Registry) Return(o session.Owner, events []Event) {
	if r == nil || len(events) == 0 {
		return
	}
	back := func(e Event) bool {
		return slices.ContainsFunc(events, func(b Event) bool { return b.ID == e.ID })
	}
	r.mu.Lock()
	q := r.queues.Get(o)
	q.taken, q.shown = slices.DeleteFunc(q.taken, back), slices.DeleteFunc(q.shown, back)
	q.events = slices.Concat(events, q.events)
	over := max(0, len(q.events)-maxQueued)
	q.events, q.dropped = q.events[over:], q.dropped+over
	if q.arrived != nil {
		close(q.arrived)
		q.arrived = nil
	}
	r.mu.Unlock()
	if r.arrival != nil {
		r.arrival(o)
	}
}

// Recent returns the last events of an owner: some that were taken, then those that wait.
func (r *Registry) Recent(o session.Owner) []Event {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues.Lookup(o)
	if q == nil {
		return nil
	}
	return append(append([]Event(nil), q.taken...), q.events...)
}

// Retract removes the events of a source that are not taken yet. It is for an event that an
// answer makes superfluous.
func (r *Registry) Retract(o session.Owner, source string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues.Lookup(o)
	if q == nil {
		return
	}
	is := func(e Event) bool { return e.Source == source }
	q.shown = slices.DeleteFunc(q.shown, is)
	if q.events = slices.DeleteFunc(q.events, is); len(q.events) == 0 {
		q.dropped = 0
	}
}

// Wait waits until an event of the owner can be taken. If ctx ends first, it returns the
// cause. It fails with a *fault.Fault if too many calls of the owner wait.
func (r *Registry) Wait(ctx context.Context, o session.Owner) error {
	for {
		arrived, err := r.await(o)
		if arrived == nil || err != nil {
			return err
		}
		select {
		case <-arrived:
			r.done(o)
		case <-ctx.Done():
			r.done(o)
			return context.Cause(ctx)
		}
	}
}

// await registers a waiting call and returns the channel that the next event closes, or nil
// if an event can be taken.
func (r *Registry) await(o session.Owner) (arrived <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues.Get(o)
	switch {
	case len(q.events) > 0:
		return nil, nil
	case q.waiting >= maxWaiting:
		return nil, fault.New(fmt.Sprintf("%d calls wait for events already, and no more may", q.waiting), "Wait for one of them.")
	case q.arrived == nil:
		q.arrived = make(chan struct{})
	}
	q.waiting++
	return q.arrived, nil
}

// done ends what await began.
func (r *Registry) done(o session.Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q := r.queues.Lookup(o); q != nil {
		q.waiting--
	}
}

// Forget drops the queue of an owner that has ended.
func (r *Registry) Forget(o session.Owner) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queues.Delete(o)
}
