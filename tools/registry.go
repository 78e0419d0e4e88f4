package tools

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Registry is the set of tools of a server: its own, which are fixed, and those
// of upstream servers, which come and go. It is safe for concurrent use.
type Registry struct {
	gates Gates
	list  []*Tool
	own   *Catalogue // without upstream servers, as at the start
	later bool       // a tool of own may be offered later

	mu      sync.Mutex // one change at a time
	base    *Catalogue // own as it is now
	now     atomic.Pointer[Catalogue]
	changed []func()
}

// Catalogue is a Registry at one moment. It never changes.
type Catalogue struct {
	tools   []*Tool
	byName  map[string]*Tool // canonical names and aliases
	absent  map[string]absent
	servers []Server
	query   bool // ToolSearch finds what is not listed
}

// Absence is a tool that exists and is not offered.
type Absence struct{ Name, Reason string }

type absent struct {
	Absence
	tool  *Tool
	later bool // it may be offered later
}

// ErrLater is in an error of Def.IsEnabled whose answer may be another one later.
var ErrLater = errors.New("it may be offered later")

// Gates decide which tools of a list are offered.
type Gates struct {
	Features map[string]bool                          // switched features; a tool with a Feature needs it on
	Denied   func(*Tool) (reason string, denied bool) // whether policy removes the tool; nil: none
	Deferral Deferral                                 // how tools that are not always loaded are offered; "": DeferHints
}

// Server is an upstream server as others see it.
type Server struct {
	Name   string
	Prefix string // its tools are called mcp__PREFIX__tool
	State  ServerState
	Note   string  // why it is in this state, one line safe to show; "" if there is nothing to say
	Tools  []*Tool // those it is known to have, also while it is not connected
}

// ServerState is what is known of an upstream server.
type ServerState uint8

const (
	Idle    ServerState = iota // not started: that waits for a call or search
	Pending                    // being connected
	Ready                      // connected
	Failed                     // it could not be connected, or is gone; Note says why and when it is tried again
	Refused                    // it may not be started; Note says by what
)

func (s ServerState) String() string {
	return [...]string{"idle", "pending", "ready", "failed", "refused"}[s]
}

// NewRegistry makes a registry of the list. Names and aliases must be unique.
func NewRegistry(list []*Tool, g Gates) (*Registry, error) {
	if g.Deferral == "" {
		g.Deferral = DeferHints
	}
	r := &Registry{gates: g, list: slices.Clone(list)}
	own, err := r.offered()
	if err != nil {
		return nil, err
	}
	r.own, r.base = own, own
	for _, a := range own.absent {
		r.later = r.later || a.later
	}
	r.now.Store(own)
	return r, nil
}

// offered asks which of the server's own tools are offered.
func (r *Registry) offered() (*Catalogue, error) {
	own := &Catalogue{byName: map[string]*Tool{}, absent: map[string]absent{}, query: r.gates.Deferral.Searches() || r.gates.Deferral == DeferAuto}
	for _, t := range r.list {
		if err := own.add(t, r.gates); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(own.tools, func(a, b *Tool) int { return strings.Compare(a.Name, b.Name) })
	return own, nil
}

// Later reports whether a tool of the server's own that was not offered at the
// start may be offered later.
func (r *Registry) Later() bool { return r.later }

// Refresh asks again whether the tools of the server's own are enabled that may be
// offered later. Those that are offered stay. Listeners are called after a change.
func (r *Registry) Refresh() {
	r.mu.Lock()
	next, err := r.offered()
	if !r.later || err != nil || len(next.tools) <= len(r.base.tools) {
		r.mu.Unlock()
		return
	}
	r.base = next
	_, tell := r.set(r.now.Load().servers)
	r.mu.Unlock()
	tell()
}

// add adds a tool, unless a gate keeps it away.
func (c *Catalogue) add(t *Tool, g Gates) error {
	var names []string
	for i, name := range append([]string{t.Name}, t.Aliases...) {
		by, taken := c.byName[name]
		if a, gone := c.absent[name]; gone {
			by, taken = a.tool, true
		}
		switch {
		case !taken || by == t:
			names = append(names, name)
		case i > 0 && t.Server != "": // rules go by it all the same
		default:
			return fmt.Errorf("tools %s and %s are both called %s", by.Name, t.Name, name)
		}
	}
	if reason, later := g.why(t); reason != "" {
		for _, name := range names {
			c.absent[name] = absent{Absence{t.Name, reason}, t, later}
		}
		return nil
	}
	c.tools = append(c.tools, t)
	for _, name := range names {
		c.byName[name] = t
	}
	return nil
}

// SetServers replaces the upstream servers and their tools, which follow the
// server's own, sorted by name. A tool whose name is taken is left out, and
// errs says which; an alias that is taken calls who had it first. Who listens is told if anything is another.
func (r *Registry) SetServers(list []Server) (errs []error) {
	r.mu.Lock()
	errs, tell := r.set(list)
	r.mu.Unlock()
	tell()
	return errs
}

// set is SetServers with the lock held. The caller calls tell without it.
func (r *Registry) set(list []Server) (errs []error, tell func()) {
	before := r.now.Load()
	next := &Catalogue{
		byName: maps.Clone(r.base.byName), absent: maps.Clone(r.base.absent), query: r.base.query, servers: slices.Clone(list),
	}
	var all []*Tool
	for _, s := range list {
		all = append(all, s.Tools...)
	}
	slices.SortStableFunc(all, func(a, b *Tool) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range all {
		if err := next.add(t, r.gates); err != nil {
			errs = append(errs, err)
		}
	}
	next.tools = append(slices.Clip(r.base.tools), next.tools...)
	same := slices.Equal(before.tools, next.tools)
	if same {
		next.tools = before.tools // who keeps something by it need not make it anew
	}
	r.now.Store(next)
	if same {
		return errs, func() {}
	}
	listeners := slices.Clone(r.changed)
	return errs, func() {
		for _, f := range listeners {
			f()
		}
	}
}

// OnChange has f called when the tools have become others. f must not block.
func (r *Registry) OnChange(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = append(r.changed, f)
}

// Catalogue is the registry as it is now.
func (r *Registry) Catalogue() *Catalogue { return r.now.Load() }

// For returns the catalogue as it is for a client to which tools are offered in a
// way: whether its errors lead to ToolSearch.
func (c *Catalogue) For(how Deferral) *Catalogue {
	if c.query == how.Searches() {
		return c
	}
	view := *c
	view.query = how.Searches()
	return &view
}

// Deferral is how tools that are not always loaded are offered.
func (r *Registry) Deferral() Deferral { return r.gates.Deferral }

// why returns the reason a tool is absent, "" if it is offered, and whether it may
// be offered later.
func (g Gates) why(t *Tool) (reason string, later bool) {
	if t.Feature != "" && !g.Features[t.Feature] {
		return fmt.Sprintf("feature %s is off; the user can switch it on with --feature %s=on", t.Feature, t.Feature), false
	}
	if g.Denied != nil {
		if reason, denied := g.Denied(t); denied {
			return reason, false
		}
	}
	if err := t.enabled(); err != nil {
		return err.Error(), errors.Is(err, ErrLater)
	}
	return "", false
}

// Features are the feature gates that tools of the list have, sorted.
func Features(list []*Tool) []string {
	set := map[string]bool{}
	for _, t := range list {
		if t.Feature != "" {
			set[t.Feature] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// Tools are the tools offered: the server's own sorted by name in byte order,
// then those of upstream servers in the same way. As long as nothing changes it
// is the same slice, which must not be modified.
func (r *Registry) Tools() []*Tool { return r.now.Load().tools }

// Tools are as in Registry.
func (c *Catalogue) Tools() []*Tool { return c.tools }

// Servers are the upstream servers, in the order they were set. The slice must
// not be modified.
func (c *Catalogue) Servers() []Server { return c.servers }

// Absent are the tools not offered, sorted by name.
func (r *Registry) Absent() []Absence {
	var out []Absence
	for name, a := range r.now.Load().absent {
		if name == a.Name {
			out = append(out, a.Absence)
		}
	}
	slices.SortFunc(out, func(a, b Absence) int { return strings.Compare(a.Name, b.Name) })
	return out
}
