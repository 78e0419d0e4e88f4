package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-toolset/tools"
)

// server holds the state of one server: idle, then pending during an attempt to
// connect, then ready or failed.
type server struct {
	Server
	m      *Manager
	config string // digest of what is started

	mu      sync.Mutex
	state   tools.ServerState
	conn    *conn     // set if state is Ready
	dialing *dialing  // set if state is Pending
	failure *failure  // why state is Failed
	failed  int       // number of failures in a row
	retry   time.Time // when the next attempt is allowed
	legacy  bool      // whether it answers to initialize but not to server/discover

	listed  bool // whether list is a listing of the server
	list    []json.RawMessage
	changed map[string]string // by the server's own names of the tools
	tools   []own
	offered []*tools.Tool // the same tools; the slice is never modified
}

// dialing is one attempt to connect.
type dialing struct {
	done chan struct{} // closed when the attempt has ended
	err  error
}

func newServer(m *Manager, s Server) *server {
	out := &server{Server: s, m: m, config: s.digest()}
	switch {
	case s.Refused != "":
		out.state = tools.Refused
	case s.Broken != "":
		out.state = tools.Failed
	}
	return out
}

func (s *server) toolPrefix() string { return "mcp__" + s.Prefix + "__" }

// recall loads the remembered tools. A server that cannot be started offers no
// tools.
func (s *server) recall() {
	if s.m.Pins == nil || s.Refused != "" || s.Broken != "" {
		return
	}
	if list, ok := s.m.Pins.Cached(s.Name, s.config); ok {
		s.apply(list, s.m.Pins.Changed(s.Name, s.config))
	}
}

// apply makes list the current listing. Unchanged tools retain their objects, so
// that clients are not notified without a change.
func (s *server) apply(list []json.RawMessage, changed map[string]string) {
	list = slices.Clone(list)
	made := s.define(list, changed)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = reuseUnchanged(s.tools, made)
	s.offered = make([]*tools.Tool, len(s.tools))
	for i, t := range s.tools {
		s.offered[i] = t.Tool
	}
	s.listed, s.list, s.changed = true, list, changed
}

// forRegistry returns the state of the server for the registry.
func (s *server) forRegistry() tools.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return tools.Server{Name: s.Name, Prefix: s.Prefix, State: s.state, Note: s.note(), Tools: s.offered}
}

// note returns the reason for the state of the server. The caller must hold the
// lock.
func (s *server) note() string {
	switch {
	case s.Refused != "":
		return line(s.Refused)
	case s.Broken != "":
		return line(s.Broken)
	case s.state == tools.Failed && s.failure != nil:
		if s.failure.next != "" {
			return s.failure.reason + ". " + strings.TrimSuffix(s.failure.next, ".")
		}
		return s.failure.reason + "; " + s.again(s.m.Now())
	}
	return ""
}

func (s *server) isListed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed
}

func (s *server) pending() *dialing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dialing
}

// wake connects the server in the background, unless it is connected or must
// not be connected now.
func (s *server) wake() {
	if c, _, err := s.begin(); err == nil && c != nil {
		c.leave()
	}
}

// connect returns a connection to the server, and makes one if necessary. The
// caller must leave it.
func (s *server) connect(ctx context.Context) (*conn, error) {
	const attempts = 2 // a connection may be lost before its first use
	for range attempts {
		c, d, err := s.begin()
		if c != nil || err != nil {
			return c, err
		}
		select {
		case <-d.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if d.err != nil {
			return nil, d.err
		}
	}
	c, d, err := s.begin()
	if d != nil {
		return nil, s.unreachable(&failure{reason: "it ends as soon as it is connected"})
	}
	return c, err
}

// begin returns a connection to the server, which the caller must leave, or
// the running attempt to make one.
func (s *server) begin() (*conn, *dialing, error) {
	s.mu.Lock()
	switch {
	case s.Refused != "" || s.Broken != "":
		s.mu.Unlock()
		return nil, nil, s.barred()
	case s.conn != nil && s.conn.enter():
		defer s.mu.Unlock()
		return s.conn, nil, nil
	case s.dialing != nil:
		defer s.mu.Unlock()
		return nil, s.dialing, nil
	case s.m.Now().Before(s.retry):
		defer s.mu.Unlock()
		return nil, nil, s.unreachable(s.failure)
	case !s.m.enter():
		s.mu.Unlock()
		return nil, nil, errClosing()
	}
	d := &dialing{done: make(chan struct{})}
	s.conn, s.dialing, s.state = nil, d, tools.Pending
	s.mu.Unlock()
	s.m.publish()
	go func() {
		defer s.m.alive.Done()
		defer close(d.done)
		s.run(d)
	}()
	return nil, d, nil
}

// run makes one attempt to connect.
func (s *server) run(d *dialing) {
	ctx, cancel := context.WithTimeout(s.m.ctx, s.m.ConnectTimeout)
	defer cancel()
	c, list, err := s.dial(ctx)
	if err == nil {
		s.remember(list)
		s.mu.Lock()
		if c.isLost() {
			err = errLost
		} else {
			s.conn, s.state, s.failed, s.failure, s.retry = c, tools.Ready, 0, nil, time.Time{}
			s.dialing = nil
		}
		s.mu.Unlock()
	}
	if err != nil {
		if errors.Is(err, errLost) {
			err = c.lostError() // may block, so not under the lock
		}
		f := s.explain(ctx, err)
		if c != nil {
			c.retire() // closes in the background, so that nothing waits for it
		}
		s.m.Log.Info("an upstream server could not be connected", "server", s.Name, "error", f.reason)
		s.mu.Lock()
		s.dialing = nil
		s.fail(f)
		d.err = s.unreachable(f)
		s.mu.Unlock()
	}
	s.m.publish()
}

// remember stores a new listing and applies it.
func (s *server) remember(list []json.RawMessage) {
	var changed map[string]string
	if s.m.Pins != nil {
		var err error
		if changed, err = s.m.Pins.Update(s.Name, s.config, list); err != nil {
			s.m.Log.Warn("the tools of an upstream server could not be remembered", "server", s.Name, "error", err)
		}
	}
	s.apply(list, changed)
}

// fail records a failure. A retry is allowed at once after the first failure,
// and then with growing delay. The caller must hold the lock.
func (s *server) fail(f *failure) {
	const most = time.Minute
	s.failed++
	s.state, s.failure = tools.Failed, f
	s.retry = time.Time{}
	if s.failed > 1 {
		s.retry = s.m.Now().Add(min(most, time.Second<<min(s.failed-2, 10)))
	}
}

// dropped records that a connection is no longer usable. Running calls
// continue; the connection closes after the last one.
func (s *server) dropped(c *conn, f *failure) {
	s.mu.Lock()
	was := s.conn == c
	if was {
		s.conn = nil
		s.fail(f)
	}
	s.mu.Unlock()
	c.retire()
	if was {
		s.m.Log.Info("the connection to an upstream server was lost", "server", s.Name, "error", f.reason)
		s.m.publish()
	}
}
