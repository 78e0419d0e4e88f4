// Package peers holds the names of the sessions of a server, and their teams, so that
// sessions can send messages to each other.
//
// Sessions of one principal neither reach nor see those of another: names, numbers and
// limits are per principal. Everything is in memory and ends with the last session that
// needs it. Errors are worded for models.
package peers

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

// The limits of a registry. Those of sessions and teams hold for each principal.
const (
	MaxName    = 64 // characters of the name of a session or team
	MaxTeams   = 50 // teams
	MaxMembers = 50 // members of one team
	// maxSent is the limit of messages of one session in sentTime.
	maxSent  = 20
	sentTime = time.Minute
	// mostNamed is the number of names in an error.
	mostNamed = 5
	// maxClient is the number of bytes of the name of a client that are used.
	maxClient = 40
)

// NameRule describes valid names, for error texts.
const NameRule = "1 to 64 letters, digits, - and _"

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ValidName reports whether a session or a team can have a name.
func ValidName(name string) bool { return validName.MatchString(name) }

// Registry holds the sessions and teams of a server. It is safe for concurrent use.
type Registry struct {
	name   string
	events *event.Registry

	mu     sync.Mutex
	groups map[string]*group // by principal
}

// New returns an empty registry that delivers messages as events. The first session of a
// principal gets the name, and later ones the name and a number. If the name is "",
// sessions get the name of their client and a number.
func New(name string, events *event.Registry) *Registry {
	return &Registry{name: name, events: events, groups: map[string]*group{}}
}

// group holds what belongs to one principal. Sessions and teams have different names.
type group struct {
	sessions map[session.Owner]*peer
	teams    map[string]*team
	given    bool // a session has or had the name of the registry
	last     int  // the highest number in a name
}

// peer is one session.
type peer struct {
	name, client, folder string
	owner                session.Owner
	used                 time.Time
	sent                 []time.Time // the latest messages, at most maxSent
	team                 *team       // nil: none
}

// Use records that a session begins or makes a call. It ignores a request that has no
// session and no handle.
func (r *Registry) Use(v session.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _, _ = r.use(v)
}

// use returns the session and its group. It registers a session that is not known yet. The
// caller holds mu.
func (r *Registry) use(v session.View) (*group, *peer, error) {
	if v.Forgets() {
		return nil, nil, fault.New("this request belongs to no session, so that it has no name and gets no messages",
			`Ask the user for a client that keeps a session, or that sends the value of _meta["mcp-toolset/session"] of an answer with later requests.`)
	}
	g := r.groups[v.Principal]
	if g == nil {
		g = &group{sessions: map[session.Owner]*peer{}, teams: map[string]*team{}}
		r.groups[v.Principal] = g
	}
	now := time.Now()
	p := g.sessions[v.Owner()]
	if p == nil {
		client := strings.ToValidUTF8(v.Client[:min(len(v.Client), maxClient)], "")
		p = &peer{client: client, owner: v.Owner()}
		if p.name = v.Agent; v.Agent == "" || g.taken(v.Agent) {
			p.name = g.newName(r.name, client)
		}
		p.folder = v.Project()
		g.sessions[p.owner] = p
	}
	p.used = now
	return g, p, nil
}

// Free reports whether a principal has no session and no team with the name.
func (r *Registry) Free(principal, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.groups[principal]
	return g == nil || !g.taken(name)
}

// End removes a session. After that no message is delivered to it.
func (r *Registry) End(o session.Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.groups[o.Principal]
	if g == nil {
		return
	}
	if g.remove(o); len(g.sessions) == 0 {
		delete(r.groups, o.Principal)
	}
}

func (g *group) remove(o session.Owner) {
	p := g.sessions[o]
	if p == nil {
		return
	}
	delete(g.sessions, o)
	g.leave(p)
}

// leave makes p a member of no team. A team without members ends.
func (g *group) leave(p *peer) {
	t := p.team
	if t == nil {
		return
	}
	p.team = nil
	if t.members = t.others(p); len(t.members) == 0 {
		delete(g.teams, t.name)
	}
}

// unnamed matches what is replaced in the name of a client.
var unnamed = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// newName returns a name for a session: the given name for the first one, else that of the
// client or the given one with a number. No name is used again while the group exists.
func (g *group) newName(given, client string) string {
	if given != "" && !g.given && !g.taken(given) {
		g.given = true
		return given
	}
	client = strings.Trim(unnamed.ReplaceAllString(client, "-"), "-")
	base := cmp.Or(given, client, "session")
	for {
		g.last++
		number := "-" + strconv.Itoa(g.last)
		if name := base[:min(len(base), MaxName-len(number))] + number; !g.taken(name) {
			return name
		}
	}
}

func (g *group) taken(name string) bool { return g.teams[name] != nil || g.named(name) != nil }

// named returns the session with a name, or nil.
func (g *group) named(name string) *peer {
	for _, p := range g.sessions {
		if p.name == name {
			return p
		}
	}
	return nil
}

// sorted returns the sessions, the most recently used first.
func (g *group) sorted() []*peer {
	var all []*peer
	for _, p := range g.sessions {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *peer) int { return cmp.Or(b.used.Compare(a.used), cmp.Compare(a.name, b.name)) })
	return all
}

// Peer describes a session.
type Peer struct {
	Name, Client string
	Folder       string // the first root; "" if it is none of the roots of the session that asks
	Team         string // "" if it is a member of none
	You          bool   // it is the session that asks
	Idle         time.Duration
}

// List returns the sessions of the principal, first the one that asks and then the most
// recently used ones.
func (r *Registry) List(v session.View) ([]Peer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g, self, err := r.use(v)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	all := []Peer{self.describe(v, now)}
	all[0].You = true
	for _, p := range g.sorted() {
		if p != self {
			all = append(all, p.describe(v, now))
		}
	}
	return all, nil
}

// describe returns what a session that asks may know of p.
func (p *peer) describe(asks session.View, now time.Time) Peer {
	d := Peer{Name: p.name, Client: p.client, Idle: now.Sub(p.used)}
	if slices.Contains(asks.Roots, p.folder) || p.folder == asks.Project() {
		d.Folder = p.folder
	}
	if p.team != nil {
		d.Team = p.team.name
	}
	return d
}

// alone is the next step where a principal has only one session.
const alone = "Go on without it; only the clients of one HTTP server reach each other."

// unknown returns the error for a name that no session and, with teams, no team has. It
// names up to five that p could use.
func (g *group) unknown(p *peer, name string, teams bool) error {
	what := "session"
	var names []string
	if teams {
		what = "session or team"
		if p.team != nil {
			names = append(names, p.team.name)
		}
	}
	for _, other := range g.sorted() {
		if other != p {
			names = append(names, other.name)
		}
	}
	fact := fmt.Sprintf("there is no %s %s", what, plain.Key(name))
	if len(g.sessions) == 1 {
		return fault.New(fact+", as this server has no other session", alone)
	}
	return fault.Unknown(fact, "other session", names, "ListSessions shows all")
}
