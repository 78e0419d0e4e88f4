// Package trigger holds the webhooks of sessions. A request to POST /events/NAME that is
// signed with the secret of the trigger NAME becomes an event of the session that made it.
//
// A name is unique in a server. A trigger is in memory and ends with its session, or it is
// durable: then it is in a file of the state folder, which all HTTP servers with that folder
// serve, and it belongs to the principal and the first root of its session. Errors are worded
// for models.
package trigger

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"regexp"
	"slices"
	"sync"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/durable"
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
	// maxIdle is the time after its last call in which a session gets the events of durable
	// triggers.
	maxIdle = 4 * time.Hour
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
	bodies bodies
	decoy  []byte // key for the signatures of unknown names

	mu       sync.Mutex
	base     string // address before a name; "": listen while there is a trigger
	listener *listener
	all      map[string]*trigger // in memory, by name
	stored   map[string]*trigger // durable, as load found them, by name
	used     map[session.Owner]use
	closed   bool

	creating sync.Mutex // held while a trigger is created; locked before mu
	file     durable.File[content]
}

// use is the last call of a session.
type use struct {
	key durable.Key
	at  time.Time
}

// trigger is one webhook.
type trigger struct {
	name, secret string
	owner        session.Owner // of a durable trigger: if made
	durable      bool
	made         bool        // a session of this server made a durable trigger
	key          durable.Key // whose a durable trigger is
	count        int
	latest       []time.Time // the latest accepted requests, at most maxRate
}

// principal returns the ID of the principal who made the trigger.
func (t *trigger) principal() string {
	if t.durable {
		return t.key.Principal
	}
	return t.owner.Principal
}

// New returns the registry of a server with a state folder, whose locks are locks. It adds
// to events.
func New(stateDir string, locks *filelock.Locks, events *event.Registry) *Registry {
	return &Registry{
		events: events, bodies: bodies{of: map[string]int{}}, decoy: []byte(rand.Text()),
		all: map[string]*trigger{}, used: map[session.Owner]use{}, file: newFile(stateDir, locks),
	}
}

// ServedAt sets the address of a server that passes requests to Serve, such as
// "http://127.0.0.1:8808". Without it, the registry listens on a port of its own while it
// has a trigger. ServedAt must be called before the first call of Create.
func (r *Registry) ServedAt(base string) { r.ServedIn(base + Path) }

// ServedIn is ServedAt for a server whose addresses of triggers begin with base, such as
// "http://127.0.0.1:8808/events/anna/".
func (r *Registry) ServedIn(base string) {
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
		base = "http://" + r.listener.Addr().String() + Path
	}
	if base == "" {
		return ""
	}
	return base + name
}

// Created is a new trigger.
type Created struct{ Address, Secret string }

// Create makes a trigger. It opens the port if no server passes requests to Serve.
func (r *Registry) Create(ctx context.Context, v session.View, name string, durable bool) (Created, error) {
	r.creating.Lock()
	defer r.creating.Unlock()
	if durable {
		return r.createDurable(ctx, v, name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.room(v, name); err != nil {
		return Created{}, err
	}
	if len(r.all) >= maxAll {
		return Created{}, fault.New(fmt.Sprintf("the server has %d triggers, and no more may", len(r.all)), "Wait until another session ends.")
	}
	if r.base == "" && r.listener == nil {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return Created{}, fault.New("no port can be opened: "+plain.Line(err.Error()), "Watch a file with Monitor instead.")
		}
		r.listener = r.serve(l)
	}
	t := &trigger{name: name, secret: rand.Text(), owner: v.Owner()}
	r.all[name] = t
	r.use(v)
	return Created{r.address(name), t.secret}, nil
}

// room returns an error if a session cannot make a trigger of a name. The caller holds mu.
func (r *Registry) room(v session.View, name string) error {
	if r.closed {
		return fault.New("the server is ending", "Go on without a trigger.")
	}
	if err := r.load(); err != nil {
		return err
	}
	list, own, stored := r.visible(v), r.all[name], r.stored[name]
	switch {
	case slices.ContainsFunc(list, func(t *trigger) bool { return t.name == name }):
		return fault.New("there is a trigger "+name+" already", "Choose another name, or delete it first.")
	case own != nil:
		return fault.New("another session of this server has a trigger "+name, "Choose another name.")
	case stored != nil:
		return fault.New("there is a durable trigger "+name+" of another token or first folder", "Choose another name.")
	case len(list) >= maxOwn:
		return fault.New(fmt.Sprintf("this session has %d triggers, and no more may", len(list)), "Delete one that is not needed.")
	}
	return nil
}

// Trigger describes a trigger.
type Trigger struct {
	Name, Address string
	Durable       bool
	Count         int           // number of requests that this server accepted
	Idle          time.Duration // time since the last one
}

// List returns the triggers of a session by name, with the durable ones of its principal and
// first root.
func (r *Registry) List(v session.View) ([]Trigger, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.load(); err != nil {
		return nil, err
	}
	now := time.Now()
	var list []Trigger
	for _, t := range r.visible(v) {
		d := Trigger{Name: t.name, Address: r.address(t.name), Durable: t.durable, Count: t.count}
		if n := len(t.latest); n > 0 {
			d.Idle = now.Sub(t.latest[n-1])
		}
		list = append(list, d)
	}
	return list, nil
}

// Delete deletes a trigger that List returns. It reports whether a port was closed.
func (r *Registry) Delete(ctx context.Context, v session.View, name string) (closed bool, err error) {
	t, closed, err := r.deleteOwn(v, name)
	if t == nil || err != nil {
		return closed, err
	}
	return false, r.deleteDurable(ctx, t)
}

// deleteOwn deletes a trigger in memory. If the name is that of a durable one, it returns that.
func (r *Registry) deleteOwn(v session.View, name string) (stored *trigger, closed bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.all[name]; t != nil && t.owner == v.Owner() {
		return nil, r.remove(name), nil
	}
	if err := r.load(); err != nil {
		return nil, false, err
	}
	if t := r.stored[name]; t != nil && t.key == durable.KeyOf(v) {
		return t, false, nil
	}
	return nil, false, r.unknown(v, name)
}

// unknown returns the error for a name that no trigger of the session has.
func (r *Registry) unknown(v session.View, name string) error {
	fact := "this session has no trigger " + name
	var names []string
	for _, t := range r.visible(v) {
		names = append(names, t.name)
	}
	if len(names) == 0 {
		return fault.New(fact+", and no other", "Make one with action create.")
	}
	return fault.Unknown(fact, "trigger", names, "action list shows all")
}

// Use records a call of a session.
func (r *Registry) Use(v session.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.use(v)
}

func (r *Registry) use(v session.View) {
	r.used[v.Owner()] = use{durable.KeyOf(v), time.Now()}
}

// Forget deletes the triggers in memory of a session that has ended. No event follows.
func (r *Registry) Forget(o session.Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(o)
}

// Close deletes all triggers in memory.
func (r *Registry) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for name := range r.all {
		r.remove(name)
	}
	clear(r.used)
	return nil
}

func (r *Registry) forget(o session.Owner) {
	for _, t := range r.own(o) {
		r.remove(t.name)
	}
	delete(r.used, o)
}

// remove deletes a trigger in memory, and closes the port after the last one. The caller holds mu.
func (r *Registry) remove(name string) (closed bool) {
	delete(r.all, name)
	if r.listener == nil || len(r.all) > 0 {
		return false
	}
	r.listener.close()
	r.listener = nil
	return true
}

// own returns the triggers in memory of a session. The caller holds mu.
func (r *Registry) own(o session.Owner) []*trigger {
	var own []*trigger
	for _, t := range r.all {
		if t.owner == o {
			own = append(own, t)
		}
	}
	return own
}
