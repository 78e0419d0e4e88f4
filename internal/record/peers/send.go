package peers

import (
	"fmt"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/session"
)

// Sent describes a message that was delivered.
type Sent struct {
	From string   // name of the sender
	To   []string // names of the sessions that get it
	Team string   // the team that it was sent to; "" if it was sent to one session
	// Idle is the time since the last call of the session; 0 for a team.
	Idle time.Duration
}

// Send sends a text to the session with the name to, or to all other members of the
// sender's team if that has the name. The text becomes an event of each, marked as data.
func (r *Registry) Send(v session.View, to, text string) (Sent, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g, p, err := r.use(v)
	if err != nil {
		return Sent{}, err
	}
	now := time.Now()
	recipients, err := g.recipients(p, to)
	if err != nil {
		return Sent{}, err
	}
	if err := p.limit(now); err != nil {
		return Sent{}, err
	}
	s := Sent{From: p.name}
	e := event.Event{Source: "session " + p.name, Text: text, Data: true}
	if g.teams[to] != nil {
		s.Team = to
		e.Source += " (to team " + to + ")"
	} else {
		s.Idle = now.Sub(recipients[0].used)
	}
	for _, other := range recipients {
		r.events.Add(other.owner, e)
		s.To = append(s.To, other.name)
	}
	return s, nil
}

// recipients returns the sessions that a message of p reaches. There is at least one.
func (g *group) recipients(p *peer, to string) ([]*peer, error) {
	if t := g.teams[to]; t != nil {
		switch {
		case p.team != t:
			return nil, fault.New(fmt.Sprintf("this session is no member of team %s", to), "Join it with TeamCreate, or send to one of its members.")
		case len(t.members) == 1:
			return nil, fault.New(fmt.Sprintf("team %s has no other member", to), "Add members with TeamCreate; ListSessions shows the sessions.")
		}
		return t.others(p), nil
	}
	switch other := g.named(to); {
	case other == nil:
		return nil, g.unknown(p, to, true)
	case other == p && len(g.sessions) == 1:
		return nil, fault.New(to+" is this session, and this server has no other", alone)
	case other == p:
		return nil, fault.New(to+" is this session", "Name another one; ListSessions shows them.")
	default:
		return []*peer{other}, nil
	}
}

// limit counts a message of p. It refuses one too many in sentTime.
func (p *peer) limit(now time.Time) error {
	for len(p.sent) > 0 && now.Sub(p.sent[0]) >= sentTime {
		p.sent = p.sent[1:]
	}
	if len(p.sent) >= maxSent {
		wait := sentTime - now.Sub(p.sent[0])
		return fault.New(fmt.Sprintf("this session has sent %d messages in a minute, and no more may be sent", maxSent),
			fmt.Sprintf("Send it again in %d s.", (wait+time.Second-1)/time.Second))
	}
	p.sent = append(p.sent, now)
	return nil
}
