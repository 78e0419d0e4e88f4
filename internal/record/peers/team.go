package peers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/record/worklist"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

// team is a group of sessions with a list of work. It has at least one member.
type team struct {
	name, description string
	maker             string          // name of the session that made it
	members           []*peer         // in order of joining
	list              worklist.Memory // has one list, that of the zero owner
}

// Team describes a team after a call of Join.
type Team struct {
	Name, Description string
	Maker             string   // name of the session that made it and wrote the description
	Members           []string // in order of joining
	Created           bool     // the call made the team
	Left              string   // the team that the session was a member of; "" if none
	Tasks             int      // number of items of its list
}

// Join makes a session a member of a team, and with it the sessions that members names. It
// makes the team with the description if there is none of that name. A session is a member
// of at most one team, so it leaves another one, whose list stays with the other members. Sessions that become members by their name get an event; the call then
// counts as a message.
func (r *Registry) Join(v session.View, name, description string, members []string) (Team, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g, p, err := r.use(v)
	if err != nil {
		return Team{}, err
	}
	t := g.teams[name]
	made := t == nil
	if made {
		if t, err = g.newTeam(p, name, description); err != nil {
			return Team{}, err
		}
	}
	joining, err := g.joining(p, t, members)
	if err != nil {
		return Team{}, err
	}
	if slices.ContainsFunc(joining, func(m *peer) bool { return m != p }) {
		if err := p.limit(time.Now()); err != nil {
			return Team{}, err
		}
	}
	left := ""
	if p.team != nil && p.team != t {
		left = p.team.name
		g.leave(p)
	}
	g.teams[name] = t
	for _, m := range joining {
		m.team = t
		t.members = append(t.members, m)
		if m != p {
			r.events.Add(m.owner, t.joined(p))
		}
	}
	l, err := t.store().Read(context.Background())
	return Team{Name: name, Description: t.description, Maker: t.maker, Members: t.names(), Created: made, Left: left, Tasks: len(l.Items)}, err
}

// newTeam returns a team of p that g does not have yet.
func (g *group) newTeam(p *peer, name, description string) (*team, error) {
	most := MaxTeams
	if p.team != nil && len(p.team.members) == 1 {
		most++ // p leaves it, and it ends
	}
	switch {
	case g.named(name) != nil:
		return nil, fault.New(name+" is the name of a session", "Choose another name for the team.")
	case len(g.teams) >= most:
		return nil, fault.New(fmt.Sprintf("there are %d teams, and no more fit", MaxTeams), "Join one of them, or have one ended with TeamDelete.")
	}
	return &team{name: name, description: description, maker: p.name}, nil
}

// joining returns p and the sessions that names names, without the members of t.
func (g *group) joining(p *peer, t *team, names []string) ([]*peer, error) {
	all := []*peer{p}
	for _, name := range names {
		m := g.named(name)
		switch {
		case m == nil:
			return nil, g.unknown(p, name, false)
		case m == p:
		case m.team != nil && m.team != t:
			return nil, fault.New(fmt.Sprintf("%s is a member of team %s, and a session has one team at a time", name, m.team.name), "Leave it out; with TeamCreate it can join by itself.")
		case !slices.Contains(all, m):
			all = append(all, m)
		}
	}
	all = slices.DeleteFunc(all, func(m *peer) bool { return m.team == t })
	if n := len(t.members) + len(all); n > MaxMembers {
		return nil, fault.New(fmt.Sprintf("team %s would have %d members, and the most is %d", t.name, n, MaxMembers), "Name fewer, or make another team.")
	}
	return all, nil
}

// joined returns the event for a session that by made a member. The description is of
// another session, so that the text is data.
func (t *team) joined(by *peer) event.Event {
	text := fmt.Sprintf("%s made this session a member. While the team lasts, TaskList and the other tools for tasks use its list, and SendMessage to %s reaches the other members.", by.name, t.name)
	if t.description != "" {
		text += "\nDescription of the team: " + plain.Text(t.description)
	}
	return event.Event{Source: "team " + t.name, Text: text, Data: true}
}

// Delete ends a team of the session and drops its list. It returns the number of items
// dropped. While items of members are in progress it refuses, unless force is true. The other
// members get an event.
func (r *Registry) Delete(v session.View, name string, force bool) (tasks int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g, p, err := r.use(v)
	if err != nil {
		return 0, err
	}
	t := g.teams[name]
	switch {
	case t == nil && p.team != nil:
		return 0, fault.New("there is no team "+plain.Key(name), "This session is a member of "+p.team.name+".")
	case t == nil:
		return 0, fault.New("there is no team "+plain.Key(name), "Go on; there is nothing to end.")
	case p.team != t:
		return 0, fault.New(fmt.Sprintf("this session is no member of team %s", name), "Leave that to a member: "+listed(t.names())+".")
	}
	l, err := t.store().Read(context.Background())
	if err != nil {
		return 0, err
	}
	if working := t.inProgress(l); len(working) > 0 && !force {
		return 0, fault.New(fmt.Sprintf("team %s has work in progress: %s", name, listed(working)), "Wait until that is completed, or set force to drop it.")
	}
	for _, m := range t.members {
		m.team = nil
		if m != p {
			r.events.Add(m.owner, event.Event{Source: "team " + name, Text: p.name + " has ended the team. Its list of tasks is gone, and the tools for tasks use the list of this session again."})
		}
	}
	delete(g.teams, name)
	return len(l.Items), nil
}

// inProgress returns the items in progress whose owners are members, each with its owner.
func (t *team) inProgress(l worklist.List) []string {
	var all []string
	for _, it := range l.Items {
		if it.Status == worklist.InProgress && slices.Contains(t.names(), it.Owner) {
			all = append(all, fmt.Sprintf("task %d of %s", it.ID, it.Owner))
		}
	}
	return all
}

// listed returns up to five words for a text, and the number of the others.
func listed(words []string) string {
	text := strings.Join(words[:min(len(words), mostNamed)], ", ")
	if more := len(words) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// WorkList returns the list of the team of a session, and the name of the session as an owner of
// items. The store is nil if the session is a member of no team.
func (r *Registry) WorkList(v session.View) (store worklist.Store, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g := r.groups[v.Principal]; g != nil {
		if p := g.sessions[v.Owner()]; p != nil && p.team != nil {
			return p.team.store(), p.name
		}
	}
	return nil, ""
}

// store returns the list of the team.
func (t *team) store() worklist.Store { return t.list.Of(session.Owner{}) }

// names returns the names of the members.
func (t *team) names() []string {
	var all []string
	for _, m := range t.members {
		all = append(all, m.name)
	}
	return all
}

// others returns the members without p.
func (t *team) others(p *peer) []*peer {
	return slices.DeleteFunc(slices.Clone(t.members), func(m *peer) bool { return m == p })
}
