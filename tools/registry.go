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

// Registry holds the tools of a server: its own, which are fixed, and those of upstream
// servers, which change. It is safe for concurrent use.
type Registry struct {
	gates Gates
	list  []*Tool
	own   *Catalogue // without upstream servers; state at the start
	later bool       // the offered tools of own may change

	mu      sync.Mutex // serializes changes
	base    *Catalogue // current state of own
	now     atomic.Pointer[Catalogue]
	changed []func()
	views   sync.Map // view by *session.Profile
}

// Catalogue is an immutable snapshot of a Registry.
type Catalogue struct {
	tools   []*Tool
	byName  map[string]*Tool // canonical names and aliases
	absent  map[string]absent
	servers []Server
	query   bool // ToolSearch finds the tools that are not listed
}

// Absence names a tool that exists but is not offered, and the reason.
type Absence struct{ Name, Reason string }

type absent struct {
	Absence
	tool  *Tool
	later bool // it may be offered later
}

// ErrLater is wrapped by an error of Def.IsEnabled if a later call may return nil.
var ErrLater = errors.New("it may be offered later")

// Gates decides which tools of a list are offered.
type Gates struct {
	Features map[string]bool                          // state of features; a tool is not offered if its Feature is off
	Denied   func(*Tool) (reason string, denied bool) // reports whether the policy removes the tool; nil: it removes none
	Later    bool                                     // whether the answers of Denied may change
	Deferral Deferral                                 // how tools that are not always loaded are offered; "": DeferHints
}

// Server describes an upstream server.
type Server struct {
	Name   string
	Prefix string // its tools have the names mcp__PREFIX__tool
	State  ServerState
	Note   string  // reason for State, one line safe to show; "": none
	Tools  []*Tool // its known tools, also while it is not connected
}

// ServerState is the state of the connection to an upstream server.
type ServerState uint8

const (
	Idle    ServerState = iota // not started; a call or search starts it
	Pending                    // connecting
	Ready                      // connected
	Failed                     // could not be connected or has ended; Note holds the reason and the time of the next attempt
	Refused                    // must not be started; Note names what forbids it
)

func (s ServerState) String() string {
	return [...]string{"idle", "pending", "ready", "failed", "refused"}[s]
}

// NewRegistry returns a registry of the tools in list. Names and aliases must be unique.
func NewRegistry(list []*Tool, g Gates) (*Registry, error) {
	if g.Deferral == "" {
		g.Deferral = DeferHints
	}
	r := &Registry{gates: g, list: slices.Clone(list), later: g.Later}
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

// offered returns a catalogue of the server's own tools, with those that are offered now.
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

// Later reports whether the server's own tools that are offered may change.
func (r *Registry) Later() bool { return r.later }

// Refresh checks again whether the server's own tools that may be offered later are
// enabled. It only adds tools. It calls the listeners after a change.
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

// Regate checks again which of the tools the gates exclude, after the rules have changed. It calls
// the listeners after a change.
func (r *Registry) Regate() {
	r.mu.Lock()
	next, err := r.offered()
	if err != nil { // names do not depend on gates
		r.mu.Unlock()
		return
	}
	if slices.Equal(next.tools, r.base.tools) {
		next.tools = r.base.tools
	}
	r.base = next
	_, tell := r.set(r.now.Load().servers)
	r.mu.Unlock()
	tell()
}

// add adds a tool to the offered tools, or to the absent ones if a gate excludes it.
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
		case i > 0 && t.Server != "": // the alias of an upstream tool is only lost for calls; rules still use it
		default:
			return fmt.Errorf("tools %s and %s are both called %s", by.Name, t.Name, name)
		}
	}
	if reason, later := g.absenceReason(t); reason != "" {
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

// SetServers replaces the upstream servers and their tools. Their tools follow the server's
// own, sorted by name. A tool whose name is taken is left out and reported in errs. An
// alias that is taken stays with the tool that had it first. Listeners are called if the
// tools have changed.
func (r *Registry) SetServers(list []Server) (errs []error) {
	r.mu.Lock()
	errs, tell := r.set(list)
	r.mu.Unlock()
	tell()
	return errs
}

// set implements SetServers. The caller holds the lock, and calls tell after releasing it.
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
		next.tools = before.tools // callers that cache by this slice need not rebuild
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

// OnChange registers f to be called after the tools have changed. f must not block.
func (r *Registry) OnChange(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = append(r.changed, f)
}

// Catalogue returns the current state of the registry.
func (r *Registry) Catalogue() *Catalogue { return r.now.Load() }

// For returns the catalogue for a client to which tools are offered as how selects. Its
// errors suggest ToolSearch only if that deferral has clients search.
func (c *Catalogue) For(how Deferral) *Catalogue {
	if c.query == how.Searches() {
		return c
	}
	view := *c
	view.query = how.Searches()
	return &view
}

// Deferral returns how tools that are not always loaded are offered.
func (r *Registry) Deferral() Deferral { return r.gates.Deferral }

// Leaves reports whether a tool is left out for a client that has features of its own, because its
// feature is one of them and was not switched on or off.
func (r *Registry) Leaves(t *Tool, has []string) bool {
	_, set := r.gates.Features[t.Feature]
	return slices.Contains(has, t.Feature) && !set
}

// absenceReason returns the reason a tool is absent, "" if it is offered, and whether it may
// be offered later.
func (g Gates) absenceReason(t *Tool) (reason string, later bool) {
	if on, set := g.Features[t.Feature]; t.Feature != "" && set && !on {
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

// Features returns the features that tools of the list require, sorted.
func Features(list []*Tool) []string {
	set := map[string]bool{}
	for _, t := range list {
		if t.Feature != "" {
			set[t.Feature] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// Tools returns the offered tools: the server's own sorted by name in byte order, then
// those of upstream servers in the same order. While nothing changes it returns the same
// slice, which must not be modified.
func (r *Registry) Tools() []*Tool { return r.now.Load().tools }

// Tools is like Registry.Tools.
func (c *Catalogue) Tools() []*Tool { return c.tools }

// Servers returns the upstream servers in the order of SetServers. The slice must not be
// modified.
func (c *Catalogue) Servers() []Server { return c.servers }

// Absent returns the tools that are not offered, sorted by name.
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
