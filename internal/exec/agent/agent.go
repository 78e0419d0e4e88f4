// Package agent runs agents: loops in which a language model works with the tools of the server.
//
// An agent has a session of its own, which the server makes. Its calls take the path of those of
// any client: rules, hooks, approvals, order and audit. An agent can therefore do nothing that its
// parent, the session that started it, could not do.
//
// The agents of some types are programs of the user instead of a loop (Program). One that speaks the
// Agent Client Protocol asks for files, commands and permissions: these are calls of its session.
//
// A Run is one task of an agent. A named agent waits for further tasks after its first one, with
// its conversation; any other ends. Whatever an agent has started ends with its run, before the run
// counts as ended.
//
// Reports of agents, results of tools and messages of other sessions are data, never instructions.
package agent

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/exec/spool"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/exec/worktree"
	"mcp-toolset/internal/record/journal"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/models"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

const (
	// maxDepth is the limit of agents within agents.
	maxDepth = 2
	// maxRunning is the limit of the running agents of a client's session, with all that they start.
	maxRunning = 8
	// maxTotal is the limit of the running agents of a server.
	maxTotal = 32
	// maxWaiting is the limit of the named agents of a client's session that wait, with those of its
	// agents. The longest unused ends.
	maxWaiting = 20
)

// Limits holds the limits of a run. Tokens includes the use of the agents that it starts.
type Limits struct {
	Steps  int           // answers of the model
	Calls  int           // of tools
	Tokens int           // input and output, with those of prompt caches
	Time   time.Duration // from the start
	Window int           // tokens of the conversation
}

// DefaultLimits returns the limits of a run. 200,000 tokens are about ten steps of an agent that
// reads files, since each step counts the whole conversation again, so that the default is higher.
func DefaultLimits() Limits {
	return Limits{Steps: 50, Calls: 300, Tokens: 1_000_000, Time: 20 * time.Minute, Window: 150_000}
}

// Type is a kind of agents.
type Type struct {
	Name, Description string
	Profile           *session.Profile // its tools; not nil
	Prompt            string           // a part of the system text
	Small             bool             // it uses the small model, unless a call names one
	Steps             int              // limit of steps, if lower than that of Limits; 0: none
	Guided            bool             // the system text includes that of Options.Guide
	Program           *Program         // runs instead of the loop; nil: none
}

// Session is the session of an agent (server.Agent).
type Session interface {
	View() session.View
	Apply(session.Effect)
	Follow(parent session.View)
	Tools() []*tools.Tool
	Instructions() string
	Arrive(tool string, args json.RawMessage, ask any) (run func(context.Context) *tools.Response)
	Permit(tool string, args json.RawMessage, ask any, uncontained bool) (decide func(context.Context) *tools.Response)
	Close()
}

// Options holds the services of agents. All fields are required except those with a documented
// zero value.
type Options struct {
	Types        []Type       // the first of a name counts
	Large, Small models.Model // nil if all types are programs
	// Guide returns the instructions of the projects that the session v works in, without files that
	// are hidden; "": none.
	Guide func(v session.View, hidden func(path string) bool) string
	// Launch starts the program of an agent whose session is v. It is nil without such types.
	Launch func(ctx context.Context, p *Program, v session.View, network tools.Connections) (*Process, error)
	// Open starts the session of an agent, for a call of the session parent.
	Open      func(parent session.View, name, call string, p *session.Profile) Session
	Tasks     *task.Registry
	NewLog    func() (*spool.Log, io.WriteCloser, error) // makes an output log, and a writer that fills it
	Events    *event.Registry
	Journal   *journal.Journal
	Worktrees *worktree.Registry
	Free      func(principal, name string) bool // reports whether no session has the name
	ValidName func(name string) bool
	Folder    string // of the transcripts
	Limits    Limits
	Log       *slog.Logger
}

// Registry starts agents and knows those that run or wait. It is safe for concurrent use.
type Registry struct {
	Options
	mu       sync.Mutex
	closed   bool
	agents   map[session.Owner]*agent // by their sessions
	profiles map[profileKey]*session.Profile
	number   int             // of the last agent without a name
	opening  map[*agent]bool // that Start makes
}

// New returns a registry without agents.
func New(o Options) *Registry {
	return &Registry{Options: o, agents: map[session.Owner]*agent{}, profiles: map[profileKey]*session.Profile{}, opening: map[*agent]bool{}}
}

// agent is an agent with its conversation.
type agent struct {
	r       *Registry
	name    string
	named   bool // it waits for further tasks
	kind    *Type
	model   models.Model
	parent  session.Owner // the session that started it
	root    session.Owner // the client's session above it, whose budgets pay
	depth   int
	owner   session.Owner // its own session
	session Session
	system  string
	tools   []models.Tool
	window  int

	isolated bool
	folder   string // of its worktree; "": none
	hidden   func(string) bool

	messages []models.Message // only the run uses it

	// Guarded by Registry.mu.
	run  *Run // nil: it waits
	gone bool // it must end after the run
	used time.Time
}

// Request is a task for a new agent.
type Request struct {
	Title     string // one line for the user
	Prompt    string
	Type      string // "": general
	Model     string // "": that of the type
	Name      string // "": the agent ends with its task
	Isolation bool   // in a worktree of its own
}

// aliases maps names that models know from other hosts to types.
var aliases = map[string]string{"general-purpose": "general", "explore": "explore", "plan": "plan"}

// Find returns the type with a name; "" is general. It fails with a *fault.Fault that names the
// valid ones.
func (r *Registry) Find(name string) (*Type, error) {
	if name == "" {
		name = "general"
	}
	var names []string
	for i := range r.Types {
		if r.Types[i].Name == name {
			return &r.Types[i], nil
		}
		names = append(names, r.Types[i].Name)
	}
	if other := aliases[strings.ToLower(name)]; other != "" && other != name {
		return r.Find(other)
	}
	return nil, fault.Unknown("there is no agent type "+plain.Key(name), "type", names, "the description of Agent has more")
}

// modelNames lists the values of Request.Model, with those that models know from other hosts.
var modelNames = []string{"default", "small", "opus", "sonnet", "haiku"}

// IsSmall reports whether a name of a model means the small one. known is false for an unknown name.
func IsSmall(name string) (small, known bool) {
	return name == "small" || name == "haiku", slices.Contains(modelNames, name)
}

// Check returns the type of a request, or an error for an invalid request.
func (r *Registry) Check(q Request) (*Type, error) {
	kind, err := r.Find(q.Type)
	if err != nil {
		return nil, err
	}
	if q.Model != "" && kind.Program != nil {
		return nil, fault.New("the agent type "+kind.Name+" is a program, which has its own model", "Leave out model.")
	}
	if _, known := IsSmall(q.Model); q.Model != "" && !known {
		return nil, fault.Unknown("there is no model "+plain.Key(q.Model), "model", modelNames, "")
	}
	if q.Name != "" && !r.ValidName(q.Name) {
		return nil, fault.New("the name is invalid", "Use 1 to 64 letters, digits, - and _.")
	}
	return kind, nil
}

// profileKey identifies a profile of agents. Profiles are made once, since catalogues of tools are
// cached by them.
type profileKey struct {
	kind, within *session.Profile
	last         bool
}

// without lists the tools that no agent has: those that talk to the user, move its session, or make
// something that outlives it.
var without = []string{"AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "EnterWorktree", "ExitWorktree", "SyntheticOutput", "CronCreate", "CronDelete", "CronList", "RemoteTrigger"}

// profile returns the profile of an agent of a type, for a session.
func (r *Registry) profile(kind *Type, parent session.View, depth int) *session.Profile {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := profileKey{kind.Profile, parent.Profile, depth == maxDepth}
	if p := r.profiles[k]; p != nil {
		return p
	}
	p := *kind.Profile
	p.Name, p.Prompt, p.Within = kind.Name, "", parent.Profile
	p.Disallowed = slices.Concat(p.Disallowed, without)
	if k.last {
		p.Disallowed = append(p.Disallowed, "Agent")
	}
	r.profiles[k] = &p
	return &p
}
