// Package trigger holds the webhooks of sessions. A request to POST /events/NAME that is
// signed with the secret of the trigger NAME becomes an event of the session that made it.
//
// A name is unique in a server, all of whose clients have one principal. Everything is in
// memory: triggers end with their session and with the server. Errors are worded for models.
package trigger

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

// The limits of a registry.
const (
	maxOwn   = 20                    // triggers of one session
	maxAll   = 1000                  // triggers of a server
	maxRate  = 60                    // requests to one trigger in rateTime
	MaxBody  = 64 << 10              // bytes of a body
	Path     = "/events/"            // the path before a name
	Header   = "X-Hub-Signature-256" // the header with the signature, as GitHub sends it
	rateTime = time.Minute
	// maxIdle is the timeout of a session with a handle. It is that of an HTTP session.
	maxIdle = 4 * time.Hour
	// mostNamed is the number of names in an error.
	mostNamed = 5
)

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CheckName returns an error if a trigger cannot have a name.
func CheckName(name string) error {
	if validName.MatchString(name) {
		return nil
	}
	return fault.New("name is "+plain.Key(name), "Use 1 to 64 letters, digits, - and _.")
}

// Registry holds the triggers of a server. It is safe for concurrent use.
type Registry struct {
	events *event.Registry
	bodies chan struct{} // one element for each body being read
	decoy  []byte        // key for the signatures of unknown names

	mu       sync.Mutex
	base     string // address without path; "": listen while there is a trigger
	listener *listener
	all      map[string]*trigger // by name
	used     map[session.Owner]time.Time
	closed   bool
}

// trigger is one webhook.
type trigger struct {
	name, secret string
	owner        session.Owner
	count        int
	latest       []time.Time // the latest accepted requests, at most maxRate
}

// New returns an empty registry that adds to events.
func New(events *event.Registry) *Registry {
	return &Registry{
		events: events, bodies: make(chan struct{}, maxBodies), decoy: []byte(rand.Text()),
		all: map[string]*trigger{}, used: map[session.Owner]time.Time{},
	}
}

// ServedAt sets the address of a server that passes requests to Serve, such as
// "http://127.0.0.1:8808". Without it, the registry listens on a port of its own while it
// has a trigger. ServedAt must be called before the first call of Create.
func (r *Registry) ServedAt(base string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.base = base
}

// Address returns the address that a trigger has or would get.
func (r *Registry) Address(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.address(name), "http://127.0.0.1:PORT"+Path+name+" with a free port")
}

// address returns the address of a trigger, or "" if no port is open yet. The caller holds mu.
func (r *Registry) address(name string) string {
	base := r.base
	if r.listener != nil {
		base = "http://" + r.listener.Addr().String()
	}
	if base == "" {
		return ""
	}
	return base + Path + name
}

// Created describes a new trigger.
type Created struct{ Address, Secret string }

// Create makes a trigger. It opens the port if no server passes requests to Serve.
func (r *Registry) Create(ctx context.Context, o session.Owner, name string) (Created, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.prune(now)
	own := r.own(o)
	switch t := r.all[name]; {
	case r.closed:
		return Created{}, fault.New("the server is ending", "Go on without a trigger.")
	case t != nil && t.owner == o:
		return Created{}, fault.New("there is a trigger "+name+" already", "Choose another name, or delete it first.")
	case t != nil:
		return Created{}, fault.New("another session of this server has a trigger "+name, "Choose another name.")
	case len(own) >= maxOwn:
		return Created{}, fault.New(fmt.Sprintf("this session has %d triggers, and no more may", len(own)), "Delete one that is not needed.")
	case len(r.all) >= maxAll:
		return Created{}, fault.New(fmt.Sprintf("the server has %d triggers, and no more may", len(r.all)), "Wait until another session ends.")
	}
	if r.base == "" && r.listener == nil {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return Created{}, fault.New("no port can be opened: "+plain.Line(err.Error()), "Watch a file with Monitor instead.")
		}
		r.listener = r.serve(l)
	}
	t := &trigger{name: name, secret: rand.Text(), owner: o}
	r.all[name], r.used[o] = t, now
	return Created{r.address(name), t.secret}, nil
}

// Trigger describes a trigger.
type Trigger struct {
	Name, Address string
	Count         int           // number of accepted requests
	Idle          time.Duration // time since the last one
}

// List returns the triggers of a session by name.
func (r *Registry) List(o session.Owner) []Trigger {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	var list []Trigger
	for _, t := range r.own(o) {
		d := Trigger{Name: t.name, Address: r.address(t.name), Count: t.count}
		if n := len(t.latest); n > 0 {
			d.Idle = now.Sub(t.latest[n-1])
		}
		list = append(list, d)
	}
	return list
}

// Delete deletes a trigger of a session. It reports whether a port was closed.
func (r *Registry) Delete(o session.Owner, name string) (closed bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.all[name]; t == nil || t.owner != o {
		return false, r.unknown(o, name)
	}
	return r.remove(name), nil
}

// unknown returns the error for a name that no trigger of the session has.
func (r *Registry) unknown(o session.Owner, name string) error {
	fact := "this session has no trigger " + name
	var names []string
	for _, t := range r.own(o) {
		names = append(names, t.name)
	}
	switch n := len(names); {
	case n == 0:
		return fault.New(fact+", and no other", "Make one with action create.")
	case n == 1:
		return fault.New(fact, "Its only trigger is "+names[0]+".")
	case n > mostNamed:
		return fault.New(fact, fmt.Sprintf("Use one of %s; action list shows all.", strings.Join(names[:mostNamed], ", ")))
	}
	return fault.New(fact, "Use one of "+strings.Join(names, ", ")+".")
}

// Use records a call of a session.
func (r *Registry) Use(o session.Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.used[o]; ok {
		r.used[o] = time.Now()
	}
}

// Forget deletes the triggers of a session that has ended. No event follows.
func (r *Registry) Forget(o session.Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(o)
}

// Close deletes all triggers.
func (r *Registry) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for name := range r.all {
		r.remove(name)
	}
	return nil
}

func (r *Registry) forget(o session.Owner) {
	for _, t := range r.own(o) {
		r.remove(t.name)
	}
}

// prune deletes the triggers of sessions with a handle that make no calls, since their
// clients never end them. The caller holds mu.
func (r *Registry) prune(now time.Time) {
	for o, used := range r.used {
		if o.HasHandle() && now.Sub(used) >= maxIdle {
			r.forget(o)
		}
	}
}

// remove deletes a trigger, and closes the port after the last one. The caller holds mu.
func (r *Registry) remove(name string) (closed bool) {
	o := r.all[name].owner
	delete(r.all, name)
	if len(r.own(o)) == 0 {
		delete(r.used, o)
	}
	if r.listener == nil || len(r.all) > 0 {
		return false
	}
	r.listener.close()
	r.listener = nil
	return true
}

// own returns the triggers of a session by name. The caller holds mu.
func (r *Registry) own(o session.Owner) []*trigger {
	var own []*trigger
	for _, t := range r.all {
		if t.owner == o {
			own = append(own, t)
		}
	}
	slices.SortFunc(own, func(a, b *trigger) int { return cmp.Compare(a.name, b.name) })
	return own
}
