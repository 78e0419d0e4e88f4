// Package upstream makes other MCP servers' tools ours: it starts or reaches the
// servers, keeps what they say of their tools, and passes calls on.
//
// A Manager holds the servers. Each has a state of its own, so that one that is
// slow, broken or gone holds up nobody but who calls it. What a server says is
// passed on as it came: definitions and results are read from the raw bytes.
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

// Server is one to connect to, with variables expanded.
type Server struct {
	Name   string // as the settings have it
	Prefix string // its tools are called mcp__PREFIX__tool

	// Over stdio: the program, which is searched for in the PATH that it gets, its
	// arguments, what its environment has beside what every server gets, and its
	// working directory, "": Config.Dir.
	Command string
	Args    []string
	Env     map[string]string
	Dir     string

	// Over HTTP.
	URL     string
	Headers map[string]string

	Eager   bool          // connected from the start
	Always  bool          // its tools are always loaded
	Timeout time.Duration // of a call without a sign of life; 0: 5 minutes
	Refused string        // why it may not be started; "": it may
	Broken  string        // why it cannot be, such as a variable that is not set; "": it can
}

// Config is what a Manager needs to know.
type Config struct {
	Servers []Server
	Environ []string // of this process; servers get little of it, see environ.go
	Dir     string   // working directory of stdio servers without one, absolute
	Version string   // of this program, which servers are told

	// AskAlways has every call asked about, whatever its annotations say.
	AskAlways bool
	// Pins remember listings; nil: nothing is remembered. PinRefuses has tools
	// refused whose definition a person has not seen.
	Pins       Pins
	PinRefuses bool

	// Registry is handed the state of all servers, in their order, after each
	// change; one call at a time. nil: nobody is told.
	Registry func([]tools.Server)

	// Start starts a stdio server; nil: as a process that ends when this one does.
	Start func(context.Context, Command) (Process, error)

	ConnectTimeout time.Duration    // of one attempt to connect and list; 0: 30 s
	Log            *slog.Logger     // nil: nowhere
	Now            func() time.Time // nil: time.Now
}

// Pins remember what servers listed, and what of it a person has seen.
type Pins interface {
	// Cached is the last listing of a server; config is a digest of what is started.
	Cached(server, config string) (list []json.RawMessage, ok bool)
	// Update stores a listing. changed has, by the tool's own name, one phrase on
	// what is not as it was when a person last looked.
	Update(server, config string, list []json.RawMessage) (changed map[string]string, err error)
	// Changed is the same for what is cached.
	Changed(server, config string) map[string]string
	// Seen reports whether a person has seen a definition as it is. What is listed
	// elsewhere, or cannot be read, does not make it so.
	Seen(server, config string, tool json.RawMessage) bool
}

// Limits of time.
const (
	connectTimeout = 30 * time.Second
	callTimeout    = 5 * time.Minute
	// discoverTimeout is what a server of before protocol 2026-07-28 that says
	// nothing to a question it does not know costs, once.
	discoverTimeout = 2 * time.Second
	// relistEvery is how often at most a server that says that its tools changed
	// is asked for them.
	relistEvery = time.Second
)

// Manager holds the servers. It is safe for concurrent use.
type Manager struct {
	Config
	servers []*server
	local   local
	count   atomic.Int64 // of calls

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	publishing sync.Mutex // one state after the other reaches the registry

	mu     sync.Mutex
	closed bool
	conns  map[*conn]struct{} // that are not closed
	alive  sync.WaitGroup     // what Close waits for
}

// New makes a Manager. It starts nothing.
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

// Begin hands the first state to the registry, with what is remembered of the
// tools, and connects eager servers in the background. Nothing else connects
// before a Wake, an Await or a call.
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

// Wake connects in the background what is idle and of which nothing is known, and
// waits at most a time until nothing is being connected.
func (m *Manager) Wake(ctx context.Context, most time.Duration) {
	for _, s := range m.servers {
		if !s.isKnown() {
			s.wake()
		}
	}
	m.settle(ctx, most)
}

// WakeListed connects in the background what a list of tools shows and of which
// nothing is known: all servers, or only those whose tools are always loaded.
func (m *Manager) WakeListed(all bool) {
	for _, s := range m.servers {
		if (all || s.Always) && !s.isKnown() {
			s.wake()
		}
	}
}

// WakeAll is Wake of all servers, whatever is known of them.
func (m *Manager) WakeAll(ctx context.Context, most time.Duration) {
	for _, s := range m.servers {
		s.wake()
	}
	m.settle(ctx, most)
}

// Await is told the name of a tool that nobody has. If it may be one of a server
// that is not connected, that is connected and waited for.
func (m *Manager) Await(ctx context.Context, tool string) {
	// An attempt to connect ends by itself, and then says why.
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

// settle waits until nothing is being connected.
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

// publish hands the state of all servers to the registry.
func (m *Manager) publish() {
	if m.Registry == nil {
		return
	}
	m.publishing.Lock()
	defer m.publishing.Unlock()
	list := make([]tools.Server, len(m.servers))
	for i, s := range m.servers {
		list[i] = s.seen()
	}
	m.Registry(list)
}

// enter counts something that Close has to wait for; false: it is closed.
func (m *Manager) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.alive.Add(1)
	return true
}

// Close ends all connections and servers. It returns when nothing is left of
// them.
func (m *Manager) Close() error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.closeConns()
	m.alive.Wait()
	m.closeConns() // what was just being made
	return m.local.close()
}

// closeConns closes all connections.
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

// find is the server of a name, nil if there is none.
func (m *Manager) find(name string) *server {
	i := slices.IndexFunc(m.servers, func(s *server) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return m.servers[i]
}

// digest stands for what is started. Values of variables and headers are secrets
// that change, and no part of it.
func (s Server) digest() string {
	text, _ := json.Marshal([]any{s.Command, s.Args, s.URL}) // strings always can be
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
