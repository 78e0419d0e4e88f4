package cli

import (
	"sync"

	"mcp-toolset/tools"
	"mcp-toolset/upstream"
)

// openUpstreams finds the servers of the settings for the command upstream.
func openUpstreams(host *Host, c *common) (*upstreams, error) {
	log, file, err := c.logger(host)
	if err != nil {
		return nil, err
	}
	plan, err := c.plan(host, nil, log)
	if err != nil {
		return nil, err
	}
	found := &upstreams{}
	for _, u := range plan.Settings.Upstreams() {
		d := declaredUpstream{Name: u.Name, URL: u.URL}
		if u.URL == "" {
			d.Command = append([]string{u.Command}, u.Args...)
		}
		found.declared = append(found.declared, d)
	}
	found.manage = func(only string) (upstreamManager, error) {
		o, err := plan.Upstreams(func(s *upstream.Server) bool {
			s.Eager = false // the command decides which servers to connect
			return only == "" || s.Name == only
		})
		if err != nil {
			return nil, err
		}
		w := &watched{Manager: o.Manager, done: func() error { return file.Close() }}
		o.Begin(w.set)
		return w, nil
	}
	return found, nil
}

// watched is a manager with the latest state of its servers.
type watched struct {
	*upstream.Manager
	done func() error

	mu   sync.Mutex
	list []tools.Server
}

func (w *watched) set(list []tools.Server) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = list
}

// Servers returns the present state of the servers.
func (w *watched) Servers() []tools.Server {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.list
}

// Close ends the servers and closes the log.
func (w *watched) Close() error {
	err := w.Manager.Close()
	if closed := w.done(); err == nil {
		err = closed
	}
	return err
}
