// Package lsp asks language servers about code: it starts them, gives them the content of
// files, and stays in step with the disk.
//
// # Design
//
//   - One process per server and project folder, shared by all sessions, found by the table or
//     the settings, started at first use. Each start is registered before the handshake, so
//     that a server that never answers ends with the Manager as well.
//   - Never stale: before each request, the changes of all files of the workspace since the
//     last one are found by their stamps or by a watcher (package walk), and announced. Only
//     the files that calls are about are open in the server. One that changes on the disk is
//     closed, so that the server reads it by itself. A content is sent only while it is that
//     of the file, since all sessions share the server.
//   - Diagnostics: a server is asked for them if it answers such requests. Otherwise the
//     document is sent again, and only diagnostics that come after that count: those of its
//     version, or, if they have no version, the last ones before a pause. Those after a change
//     of a file are compared with those before it; see Compare.
//   - A server may hang, stop reading, flood, or send garbage: messages and all that is stored
//     of them have a limit, writes never wait, each request and each question has a timeout,
//     and a server that sends nothing for a minute after it was asked is ended. Each wait ends
//     with the connection, and the process too.
//   - The types of the protocol are our own: servers leave out members, and send null, where
//     generated types refuse a whole answer.
package lsp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

// listTime is the timeout for listing the files of a project when its server starts.
const listTime = 20 * time.Second

// Launch describes a process to start.
type Launch struct {
	Args []string // the first is the path of the program
	Dir  string
	Root string // the root that holds Dir
	In   Workspace
	Env  []string // NAME=value, in addition to the environment of commands
	Read []string // folders of the program's installation
	Name string   // unique
}

// Config configures a Manager. Paths are canonical.
type Config struct {
	Servers []Server
	Roots   []string // of sessions that work in no git worktree
	// Trusted reports whether the user trusts the project in a root. Then programs in it may
	// run: those of node_modules/.bin and .venv/bin.
	Trusted func(root string) bool
	Find    func(name string) (path string, err error) // finds a program of the user
	Start   func(context.Context, Launch) (Process, error)
	Log     *slog.Logger
	Memory  int64 // limit of the memory of a server, in bytes; 0: 2 GiB
	settled bool  // no file is taken for one that may have changed without another stamp; for tests
}

// Manager starts and ends servers. It is safe for concurrent use.
type Manager struct {
	config Config
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	running map[string]*instance // by key
	ends    map[string][]end     // unexpected ones, by key
	started int
	looking bool

	trees trees
}

// instance is a server that starts or runs.
type instance struct {
	key    string
	folder string                  // git worktree of the sessions that use it; "": none
	ready  chan struct{}           // closed when client or err is set
	cancel context.CancelCauseFunc // ends the start
	client *Client
	err    error
	used   time.Time
	uses   int
	gone   chan struct{} // closed when its process has ended
	reason string        // why it was ended; "": not by us
}

// end is an unexpected end of a server.
type end struct {
	at  time.Time
	why string
}

// New returns a Manager. It starts nothing.
func New(c Config) *Manager {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Trusted == nil {
		c.Trusted = func(string) bool { return false }
	}
	c.Memory = cmp.Or(c.Memory, maxMemory)
	m := &Manager{config: c, running: map[string]*instance{}, ends: map[string][]end{}, trees: trees{open: map[string]*tree{}}}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// Close ends all servers and returns when their processes have ended.
func (m *Manager) Close() error {
	m.mu.Lock()
	m.closed = true
	all := slices.Collect(maps.Values(m.running))
	m.mu.Unlock()
	m.cancel()
	for _, i := range all {
		m.work.Go(func() { m.stop(i, "the server ends", false) })
	}
	m.work.Wait()
	return nil
}

// For returns a server for a file in a workspace, which is in use until done is called.
func (m *Manager) For(ctx context.Context, w Workspace, path string) (c *Client, done func(), err error) {
	s, root, program, err := m.choose(w, path)
	switch {
	case err != nil:
		return nil, nil, err
	case root == "": // a file outside of all roots, such as of a library
		return m.latest(w, s, path)
	}
	return m.use(ctx, w, s, root, program, true)
}

// use returns the server of a row for a project, which is in use until done is called. If start
// is false, it returns nil unless the server runs already.
func (m *Manager) use(ctx context.Context, w Workspace, s *Server, root, program string, start bool) (c *Client, done func(), err error) {
	key := s.Name + "\x00" + root + "\x00" + w.folder()
	for {
		i, err := m.enter(ctx, w, key, s, root, program, start)
		if err != nil || i == nil {
			return nil, nil, err
		}
		done := func() { m.leave(i) }
		select {
		case <-i.ready:
		case <-ctx.Done():
			done()
			return nil, nil, context.Cause(ctx)
		}
		if i.err != nil {
			done()
			return nil, nil, i.err
		}
		select {
		case <-i.client.conn.DisconnectNotify(): // it ended meanwhile
			done()
			select {
			case <-i.gone:
				continue
			case <-ctx.Done():
				return nil, nil, context.Cause(ctx)
			}
		default:
		}
		return i.client, done, nil
	}
}

// latest returns the server of a row that was used last, for a file outside of the roots.
func (m *Manager) latest(w Workspace, s *Server, path string) (*Client, func(), error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found *instance
	for _, i := range m.running {
		if i.client != nil && i.client.Server.Name == s.Name && i.folder == w.folder() && (found == nil || i.used.After(found.used)) {
			found = i
		}
	}
	if found == nil {
		return nil, nil, fault.New(plain.Line(path)+" is outside of the workspace, and no "+s.Name+" runs that could know it", "Ask about a file of the workspace first.")
	}
	found.uses++
	found.used = time.Now()
	return found.client, func() { m.leave(found) }, nil
}

func (m *Manager) leave(i *instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i.uses--
	i.used = time.Now()
}

// enter returns the instance of a key and counts its use. It starts one if there is none.
func (m *Manager) enter(ctx context.Context, w Workspace, key string, s *Server, root, program string, start bool) (*instance, error) {
	for {
		m.mu.Lock()
		i := m.running[key]
		switch {
		case m.closed:
			m.mu.Unlock()
			return nil, fault.New("the server is ending and starts no more language servers", "Stop here.")
		case i != nil:
			i.uses++
			i.used = time.Now()
			m.mu.Unlock()
			return i, nil
		case !start:
			m.mu.Unlock()
			return nil, nil
		}
		wait, err := m.mayStart(key, s)
		if err == nil && wait <= 0 {
			var room *instance
			if room, err = m.makeRoom(); err == nil && room == nil {
				var starting context.Context
				i = &instance{key: key, folder: w.folder(), ready: make(chan struct{}), gone: make(chan struct{}), used: time.Now(), uses: 1}
				starting, i.cancel = context.WithCancelCause(m.ctx)
				m.running[key] = i
				m.started++
				l := m.launch(w, s, root, program, m.started)
				m.work.Go(func() { m.start(starting, i, w, s, root, l) })
				m.look()
				m.mu.Unlock()
				return i, nil
			}
			stopped := make(chan struct{})
			if room != nil {
				m.work.Go(func() { m.stop(room, "another language server needs its place", true); close(stopped) })
			}
			m.mu.Unlock()
			if room != nil {
				select {
				case <-stopped:
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			}
		} else {
			m.mu.Unlock()
		}
		if err != nil {
			return nil, err
		}
		if wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
	}
}

// launch describes the process of a server.
func (m *Manager) launch(w Workspace, s *Server, root, program string, n int) Launch {
	l := Launch{Args: append([]string{program}, s.Command[1:]...), Dir: root, Root: rootOf(m.roots(w), root), In: w, Env: s.Env, Name: fmt.Sprintf("%s %d", s.Name, n)}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		l.Read = append(l.Read, filepath.Dir(program), filepath.Dir(real))
		// The program of a package of npm needs the packages beside it.
		const modules = string(filepath.Separator) + "node_modules" + string(filepath.Separator)
		if before, _, ok := strings.Cut(real, modules); ok {
			l.Read = append(l.Read, before+strings.TrimSuffix(modules, string(filepath.Separator)))
		}
	}
	return l
}

// start starts the process of an instance and does the handshake, unless ctx ends before that.
func (m *Manager) start(ctx context.Context, i *instance, w Workspace, s *Server, root string, l Launch) {
	defer i.cancel(nil)
	f := newFiles(&m.trees, topRoots(m.roots(w)))
	if m.config.settled {
		f.fresh = 0
	}
	fail := func(err error) {
		m.mu.Lock()
		delete(m.running, i.key)
		if i.reason == "" {
			m.ends[i.key] = append(m.ends[i.key], end{time.Now(), plain.Line(err.Error())})
		}
		m.mu.Unlock()
		i.err = fault.New(s.Name+" does not start: "+strings.TrimRight(plain.Line(err.Error()), ". "), "Use Grep and Read; ask the user to run "+plain.Line(s.Command[0])+" by hand to see what is wrong.")
		close(i.gone)
		close(i.ready)
	}
	// The changes after this look are announced before the first request.
	limited, cancel := context.WithTimeoutCause(ctx, listTime, fmt.Errorf("listing the files of the workspace takes longer than %v", listTime))
	_, err := f.changes(limited, func(path string) bool { return s.knows(path) })
	if limited.Err() != nil {
		err = context.Cause(limited)
	}
	cancel()
	if err != nil {
		f.close()
		fail(err)
		return
	}
	p, err := m.config.Start(ctx, l)
	if err != nil {
		f.close()
		fail(err)
		return
	}
	c := newClient(s, root, p, f)
	c.key = i.key
	if err := c.initialize(ctx); err != nil {
		if c.stderr.last() != "" && !errors.Is(err, errEnded) {
			err = fmt.Errorf("%w%s", err, c.lastWords())
		}
		_ = c.end(false)
		fail(err)
		return
	}
	m.mu.Lock()
	i.client = c
	m.mu.Unlock()
	m.config.Log.Debug("a language server started", "name", s.Name, "project", root)
	m.work.Go(func() { m.watch(i, c) })
	close(i.ready)
}

// watch waits for the end of a server, or of its connection.
func (m *Manager) watch(i *instance, c *Client) {
	<-c.conn.DisconnectNotify()
	why := strings.TrimPrefix(c.ended().Error(), errEnded.Error()+": ")
	_ = c.end(false)
	m.mu.Lock()
	if m.running[i.key] == i {
		delete(m.running, i.key)
	}
	if i.reason == "" && !m.closed {
		m.ends[i.key] = append(m.ends[i.key], end{time.Now(), why})
		m.config.Log.Warn("a language server ended", "name", c.Server.Name, "how", why)
	}
	m.mu.Unlock()
	close(i.gone)
}

// stop ends a server and returns when its process has ended.
func (m *Manager) stop(i *instance, reason string, polite bool) {
	m.mu.Lock()
	if i.reason == "" {
		i.reason = reason
	}
	m.mu.Unlock()
	i.cancel(errors.New(reason))
	<-i.ready
	m.mu.Lock()
	if m.running[i.key] == i {
		delete(m.running, i.key)
	}
	c := i.client
	m.mu.Unlock()
	if c != nil {
		_ = c.end(polite)
		<-i.gone
	}
}
