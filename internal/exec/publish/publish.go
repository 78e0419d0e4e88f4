// Package publish makes ports of commands reachable on this machine.
//
// Contained commands have a network of their session, so that the user's browser does not reach a
// server that one of them runs. A Publisher tells a session on which TCP ports its background tasks
// listen. It forwards connections from 127.0.0.1 to the ports that the settings name, or that the
// user has agreed to. A forwarder listens as long as its task runs.
package publish

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/session"
)

const (
	// firstLook is the time after which the ports of a new task are looked at. The time doubles
	// with each look, up to lookEvery.
	firstLook = 100 * time.Millisecond
	lookEvery = time.Second
	// firstEphemeral and lastEphemeral are the ports that the kernel chooses in a new network
	// namespace (ip_local_port_range in ip-sysctl.rst). Tests listen on such ports for moments, so
	// no event reports them.
	firstEphemeral, lastEphemeral = 32768, 60999
	// maxTold is the limit of ports of one task that events report.
	maxTold = 50
)

// Options configures a Publisher. All fields are required, except Record.
type Options struct {
	// Named reports whether the settings name a port. Asks reports whether the user may be asked
	// about any other. They are called often, and their results may change.
	Named func(port uint16) bool
	Asks  func() bool
	// Events reports the ports of tasks.
	Events *event.Registry
	// Record records that a port was published without a call. It may be nil.
	Record func(owner session.Owner, t *task.Task, port, host uint16)
}

// Publisher publishes ports of background tasks. It is safe for concurrent use.
type Publisher struct {
	Options
	stop chan struct{}
	all  sync.WaitGroup // watches and forwarders

	reports sync.Mutex // orders reports to a session: by an event, or by an answer in its place

	mu       sync.Mutex
	closed   bool
	forwards map[service]*forwarder
	agreed   map[service]uint16             // what the user agreed to in a session, with the last port of this machine
	told     map[*task.Task]map[uint16]bool // ports that the session knows of, with whether they are published
}

// service is a port in the network of a session.
type service struct {
	owner session.Owner
	port  uint16
}

// New returns a Publisher.
func New(o Options) *Publisher {
	return &Publisher{Options: o, stop: make(chan struct{}), forwards: map[service]*forwarder{}, agreed: map[service]uint16{}, told: map[*task.Task]map[uint16]bool{}}
}

// Close ends all forwarders and waits for their end.
func (p *Publisher) Close() error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.stop)
	}
	for _, f := range p.forwards {
		f.close()
	}
	p.mu.Unlock()
	p.all.Wait()
	return nil
}

// Forget drops what the user agreed to in a session that has ended. Its forwarders end with its
// tasks.
func (p *Publisher) Forget(owner session.Owner) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.agreed {
		if s.owner == owner {
			delete(p.agreed, s)
		}
	}
}

// Watch reports the ports of a task, and publishes those that need no question, until the task
// ends. It does not block.
func (p *Publisher) Watch(t *task.Task) {
	server, ok := t.Job.(task.Server)
	if !ok {
		return
	}
	n := server.Network()
	p.mu.Lock()
	defer p.mu.Unlock()
	if n == nil || p.closed {
		return
	}
	p.all.Go(func() {
		defer p.end(t)
		for wait := firstLook; ; wait = min(2*wait, lookEvery) {
			late := time.NewTimer(wait)
			select {
			case <-t.Done():
			case <-p.stop:
			case <-late.C:
				p.look(t, n)
				continue
			}
			late.Stop()
			return
		}
	})
}

// end ends the forwarders of a task.
func (p *Publisher) end(t *task.Task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.told, t)
	for s, f := range p.forwards {
		if f.task == t {
			f.close()
			delete(p.forwards, s)
		}
	}
}

// lookTime is the timeout of listing the ports of a task.
const lookTime = 10 * time.Second

// look publishes what is to be published of a task, and reports the ports of which the session does
// not know.
func (p *Publisher) look(t *task.Task, n task.Network) {
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	ports, err := n.Listening(ctx)
	if err != nil {
		return // the next look tries again
	}
	var fresh []uint16
	p.reports.Lock()
	defer p.reports.Unlock()
	for _, port := range ports {
		s := service{t.Owner(), port}
		if !p.wanted(s) {
			p.withdraw(s, t)
		} else if host, made := p.forward(s, t, n); made && p.Record != nil {
			p.Record(s.owner, t, port, host)
		}
		if p.published(s) == 0 && firstEphemeral <= port && port <= lastEphemeral {
			continue
		}
		if p.tell(t, port) {
			fresh = append(fresh, port)
		}
	}
	if len(fresh) > 0 {
		for _, note := range p.describe(t.Owner(), fresh) {
			p.Events.Add(t.Owner(), event.Event{Source: source(t), Text: note})
		}
	}
}

// tell records that the session hears of a port of a running task. It reports whether that is news.
func (p *Publisher) tell(t *task.Task, port uint16) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ended(t) {
		return false
	}
	told := p.told[t]
	if told == nil {
		told = map[uint16]bool{}
		p.told[t] = told
	}
	published := p.forwards[service{t.Owner(), port}] != nil
	before, known := told[port]
	if known && before == published || !known && len(told) == maxTold {
		return false
	}
	told[port] = published
	return true
}

// source returns the source of the events on the ports of a task.
func source(t *task.Task) string { return "network of task " + t.ID }

// wanted reports whether a port is published without a question.
func (p *Publisher) wanted(s service) bool {
	if p.Named(s.port) {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.agreed[s]
	return ok
}

// Question reports whether the user has to be asked before a port is published for a session.
// refused reports that the settings do not publish it at all.
func (p *Publisher) Question(owner session.Owner, port uint16) (ask, refused bool) {
	switch {
	case p.wanted(service{owner, port}):
		return false, false
	case p.Asks():
		return true, false
	}
	return false, true
}

// Agree publishes a port of a session from now on, whichever of its tasks listens there. It returns
// the port of this machine, or 0 if none of the tasks listens there yet.
func (p *Publisher) Agree(ctx context.Context, owner session.Owner, port uint16, tasks []*task.Task) (host uint16, err error) {
	s := service{owner, port}
	p.mu.Lock()
	if _, ok := p.agreed[s]; !ok {
		p.agreed[s] = 0
	}
	p.mu.Unlock()
	for _, t := range tasks {
		server, ok := t.Job.(task.Server)
		if !ok {
			continue
		}
		n := server.Network()
		if n == nil {
			continue
		}
		ports, failed := n.Listening(ctx)
		if failed != nil {
			err = failed
		}
		if slices.Contains(ports, port) {
			if host, _ := p.forward(s, t, n); host != 0 {
				p.tell(t, port)
				return host, nil
			}
		}
	}
	return 0, err
}

// Notes returns notes for an answer on the ports on which a task listens, and retracts the events
// on them.
func (p *Publisher) Notes(ctx context.Context, t *task.Task) []string {
	server, ok := t.Job.(task.Server)
	if !ok {
		return nil
	}
	n := server.Network()
	if n == nil {
		return nil
	}
	ports, err := n.Listening(ctx)
	if err != nil || len(ports) == 0 {
		return nil
	}
	p.reports.Lock()
	defer p.reports.Unlock()
	for _, port := range ports {
		p.tell(t, port)
	}
	p.Events.Retract(t.Owner(), source(t))
	return p.describe(t.Owner(), ports)
}

// maxNamed is the limit of ports that a note names.
const maxNamed = 5

// describe returns notes on ports of a session: one for each that is published, and one for the
// others.
func (p *Publisher) describe(owner session.Owner, ports []uint16) (notes []string) {
	var closed []uint16
	for _, port := range ports {
		if host := p.published(service{owner, port}); host != 0 {
			notes = append(notes, Address(port, host))
		} else {
			closed = append(closed, port)
		}
	}
	if len(closed) == 0 {
		return notes
	}
	what, is, them := fmt.Sprintf("port %d", closed[0]), "is", "it"
	if len(closed) > 1 {
		what, is, them = "ports "+list(closed), "are", "them"
	}
	next := "; the user can add ports to sandbox.publish in the settings"
	if p.Asks() {
		next = fmt.Sprintf(`; PublishPort {"port":%d} asks the user to publish it there`, closed[0])
		if len(closed) > 1 {
			next = "; PublishPort asks the user to publish one there"
		}
	}
	return append(notes, fmt.Sprintf("%s %s of this session: its commands and WebFetch reach %s, the browser of the user on this machine does not%s", what, is, them, next))
}

// Address returns a note on a published port.
func Address(port, host uint16) string {
	if host == port {
		return fmt.Sprintf("port %d is published: on this machine the user opens http://localhost:%d/", port, host)
	}
	return fmt.Sprintf("port %d is published as port %d, since %d is in use on this machine: there the user opens http://localhost:%d/", port, host, port, host)
}

// list returns ports as a text.
func list(ports []uint16) string {
	text := ""
	for i, port := range ports {
		switch {
		case i == maxNamed:
			return text + fmt.Sprintf(" and %d more", len(ports)-i)
		case i > 0 && i == len(ports)-1:
			text += " and "
		case i > 0:
			text += ", "
		}
		text += fmt.Sprint(port)
	}
	return text
}
