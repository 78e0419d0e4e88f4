// Package upstream offers the tools of upstream servers. It starts or connects
// to the servers, remembers the definitions of their tools, and passes calls on
// to them.
//
// A Manager holds the servers. Each has its own state, so that a slow, broken
// or lost server delays only the calls to itself. Definitions and results are
// read from the raw bytes, so that they are passed on as received.
//
// A list starts only the servers whose tools it shows (Manager.WakeListed). Processes are
// started without a PID namespace, in which docker and the like do not work.
//
// The library's client loses fields that it does not know. So a transport around its own
// keeps the raw results (tap.go), from which definitions and answers are read. Schemas
// are passed on, but not trusted: the server itself checks a schema that has no end or
// grows with its references. Of the annotations only readOnlyHint is used, to run calls
// in parallel: a wrong one harms only the data of that server.
//
// A call of a server that is not connected gives up its place and takes one when the
// server is connected or has failed. It is then decided as a call of the tool that exists
// by then. Later calls may run first while a server starts; the alternative was to delay
// them by up to 30 s. Calls of one conversation that wait for the same server keep their
// order.
package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcp-toolset/tools"
)

// Server describes an upstream server, with variables expanded.
type Server struct {
	Name   string // as in the settings
	Prefix string // its tools are named mcp__PREFIX__tool

	// Fields for stdio. Command is searched for in the PATH of the server. Env
	// adds to the variables that every server gets. Dir is the working
	// directory; "" means Config.Dir.
	Command string
	Args    []string
	Env     map[string]string
	Dir     string

	// Fields for HTTP.
	URL     string
	Headers map[string]string

	Eager   bool          // connect at the start
	Always  bool          // always load its tools
	Timeout time.Duration // limit of a call without a sign of life; 0 means 5 minutes
	Refused string        // why the server must not be started; "" if it may be
	Broken  string        // why the server cannot be started, such as an unset variable; "" if it can be
}

// Config holds the settings of a Manager.
type Config struct {
	Servers []Server
	Environ []string // environment of this process; servers inherit little of it, see environ.go
	Dir     string   // absolute working directory of stdio servers that set none
	Version string   // version of this program, sent to servers

	// AskAlways makes every call an ask decision, whatever its annotations are.
	AskAlways bool
	// Pins remembers listings; nil means that nothing is remembered. PinRefuses
	// denies calls of tools whose definition the user has not seen.
	Pins       Pins
	PinRefuses bool

	// Registry receives the state of all servers, in the order of Servers,
	// after each change. Calls to it do not overlap. It may be nil.
	Registry func([]tools.Server)

	// Start starts a stdio server; nil means a local process, which ends when
	// this one does.
	Start func(context.Context, Command) (Process, error)

	ConnectTimeout time.Duration    // limit of one attempt to connect and list; 0 means 30 s
	Log            *slog.Logger     // nil discards all records
	Now            func() time.Time // nil means time.Now
}

// Pins remembers what servers listed, and which definitions the user has seen.
type Pins interface {
	// Cached returns the last listing of a server. config is a digest of its command,
	// arguments and URL.
	Cached(server, config string) (list []json.RawMessage, ok bool)
	// Update stores a listing. It returns a phrase for each tool that differs
	// from what the user last saw, by the server's own names.
	Update(server, config string, list []json.RawMessage) (changed map[string]string, err error)
	// Changed returns the same for the cached listing.
	Changed(server, config string) map[string]string
	// Seen reports whether the user has seen a definition in exactly this form
	// under config. It returns false if the record cannot be read.
	Seen(server, config string, tool json.RawMessage) bool
}

// Timeouts and intervals.
const (
	connectTimeout = 30 * time.Second
	callTimeout    = 5 * time.Minute
	// discoverTimeout is the timeout for the first request of the current
	// protocol. A server from before protocol 2026-07-28 may not answer an
	// unknown request; connecting to it takes this much longer, once.
	discoverTimeout = 2 * time.Second
	// relistEvery is the shortest time between two listings of a server that
	// reports changed tools.
	relistEvery = time.Second
)

// Manager holds the upstream servers. It is safe for concurrent use.
type Manager struct {
	Config
	servers []*server
	local   local
	count   atomic.Int64 // number of calls made

	ctx    context.Context // canceled by Close
	cancel context.CancelFunc

	publishing sync.Mutex // held while a state is passed to the registry, to preserve the order

	mu     sync.Mutex
	closed bool
	conns  map[*conn]struct{} // connections that are not closed
	alive  sync.WaitGroup     // work that Close waits for
}

// New returns a Manager. It starts no server.
func New(c Config) *Manager {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	m := &Manager{Config: c, conns: map[*conn]struct{}{}}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.local.log = c.Log
	if m.Start == nil {
		m.Start = m.local.start
	}
	for _, s := range c.Servers {
		if s.Timeout == 0 {
			s.Timeout = callTimeout
		}
		m.servers = append(m.servers, newServer(m, s))
	}
	return m
}

// Begin passes the first state, with the remembered tools, to the registry, and
// connects eager servers in the background. Other servers connect on a Wake, an
// Await or a call.
func (m *Manager) Begin() {
	for _, s := range m.servers {
		s.recall()
	}
	m.publish()
	for _, s := range m.servers {
		if s.Eager {
			s.wake()
		}
	}
}

// Wake connects idle servers without a known listing in the background. It
// waits until all attempts to connect have ended, but no longer than most.
func (m *Manager) Wake(ctx context.Context, most time.Duration) {
	for _, s := range m.servers {
		if !s.isListed() {
			s.wake()
		}
	}
	m.settle(ctx, most)
}

// WakeListed connects servers without a known listing in the background, before
// a list of tools is shown: all of them, or only those whose tools are always
// loaded. It waits until all attempts to connect have ended, but no longer than most.
func (m *Manager) WakeListed(ctx context.Context, all bool, most time.Duration) {
	for _, s := range m.servers {
		if (all || s.Always) && !s.isListed() {
			s.wake()
		}
	}
	m.settle(ctx, most)
}

// WakeAll is like Wake, but also connects servers with a known listing.
func (m *Manager) WakeAll(ctx context.Context, most time.Duration) {
	for _, s := range m.servers {
		s.wake()
	}
	m.settle(ctx, most)
}

// Await is called with the name of an unknown tool. It connects the servers
// whose prefix the name has, and waits for the attempts to end.
func (m *Manager) Await(ctx context.Context, tool string) {
	// An attempt to connect ends by its own timeout, which is shorter, and then
	// gives the reason.
	ctx, cancel := context.WithTimeout(ctx, m.ConnectTimeout+time.Second)
	defer cancel()
	for _, s := range m.servers {
		if strings.HasPrefix(tool, s.toolPrefix()) {
			if c, err := s.connect(ctx); err == nil {
				c.leave()
			}
		}
	}
}

// settle waits until all attempts to connect have ended, but no longer than
// most.
func (m *Manager) settle(ctx context.Context, most time.Duration) {
	if most <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for _, s := range m.servers {
		if d := s.pending(); d != nil {
			select {
			case <-d.done:
			case <-ctx.Done():
				return
			}
		}
	}
}

// publish passes the state of all servers to the registry.
func (m *Manager) publish() {
	if m.Registry == nil {
		return
	}
	m.publishing.Lock()
	defer m.publishing.Unlock()
	list := make([]tools.Server, len(m.servers))
	for i, s := range m.servers {
		list[i] = s.forRegistry()
	}
	m.Registry(list)
}

// enter registers work that Close waits for. It returns false after Close.
func (m *Manager) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.alive.Add(1)
	return true
}

// Close ends all connections and servers. It returns after all have ended.
func (m *Manager) Close() error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.closeConns()
	m.alive.Wait()
	m.closeConns() // connections made in the meantime
	return m.local.close()
}

// closeConns closes all connections, in parallel.
func (m *Manager) closeConns() {
	m.mu.Lock()
	all := slices.Collect(maps.Keys(m.conns))
	m.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(c.close)
	}
	wg.Wait()
}

// find returns the server with a name, or nil if there is none.
func (m *Manager) find(name string) *server {
	i := slices.IndexFunc(m.servers, func(s *server) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return m.servers[i]
}

// digest identifies what is started. It leaves out the values of variables and
// headers, which are secrets and change.
func (s Server) digest() string {
	text, _ := json.Marshal([]any{s.Command, s.Args, s.URL}) // marshaling strings cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
