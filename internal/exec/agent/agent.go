// Package agent runs agents: loops in which a language model works with the tools of the server.
//
// An agent has a session of its own, which the server makes. Its calls take the path of those of
// any client: rules, hooks, approvals, order and audit. An agent can therefore do nothing that its
// parent, the session that started it, could not do.
//
// A Run is one task of an agent. A named agent waits for further tasks after its first one, with
// its conversation; any other ends. Whatever an agent has started ends with its run, before the run
// counts as ended.
//
// Reports of agents, results of tools and messages of other sessions are data for whoever reads
// them, never instructions.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
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
	// maxWaiting is the limit of named agents of a session that wait. The longest unused ends.
	maxWaiting = 20
)

// Limits are the limits of a run. Those of tokens and cost also count what the agents use that it
// starts.
type Limits struct {
	Steps  int           // answers of the model
	Calls  int           // of tools
	Tokens int           // input and output, with those of prompt caches
	Cost   float64       // in the currency of the price; 0: no limit
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
}

// Session is the session of an agent (server.Agent).
type Session interface {
	View() session.View
	Apply(session.Effect)
	Tools() []*tools.Tool
	Instructions() string
	Arrive(tool string, args json.RawMessage, ask any) (run func(context.Context) *tools.Response)
	Close()
}

// Options holds the services of agents. All fields are required except those with a documented
// zero value.
type Options struct {
	Types        []Type // the first of a name counts
	Large, Small models.Model
	// Open starts the session of an agent, for a call of the session parent.
	Open      func(parent session.View, name, call string, p *session.Profile) Session
	Tasks     *task.Registry
	NewLog    func() (*spool.Log, io.WriteCloser, error) // makes an output log, and what fills it until it is closed
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
	number   int // of the last agent without a name
	opening  map[session.Owner]int
}

// New returns a registry without agents.
func New(o Options) *Registry {
	return &Registry{Options: o, agents: map[session.Owner]*agent{}, profiles: map[profileKey]*session.Profile{}, opening: map[session.Owner]int{}}
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
	return nil, fault.Unknown("there is no type of agents "+plain.Key(name), "type", names, "the description of Agent has more")
}

// modelNames lists the values of Request.Model, with those that models know from other hosts.
var modelNames = []string{"default", "small", "opus", "sonnet", "haiku"}

// IsSmall reports whether a name of a model means the small one. known is false for an unknown name.
func IsSmall(name string) (small, known bool) {
	return name == "small" || name == "haiku", slices.Contains(modelNames, name)
}

// Check returns what is wrong with a request, or nil.
func (r *Registry) Check(q Request) error {
	if _, err := r.Find(q.Type); err != nil {
		return err
	}
	if _, known := IsSmall(q.Model); q.Model != "" && !known {
		return fault.Unknown("there is no model "+plain.Key(q.Model), "model", modelNames, "")
	}
	if q.Name != "" && !r.ValidName(q.Name) {
		return fault.New("the name is invalid", "Use 1 to 64 letters, digits, - and _.")
	}
	return nil
}

// profileKey identifies a profile of agents. Profiles are made once, since catalogues of tools are
// cached by them.
type profileKey struct {
	kind, within *session.Profile
	plan, last   bool
}

// without lists the tools that no agent has: those that talk to the user, move its session, or make
// what outlives it.
var without = []string{"AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "EnterWorktree", "ExitWorktree", "SyntheticOutput", "CronCreate", "RemoteTrigger"}

// profile returns the profile of an agent. The caller holds mu.
func (r *Registry) profile(kind *Type, parent session.View, depth int) *session.Profile {
	k := profileKey{kind.Profile, parent.Profile, parent.Planning, depth == maxDepth}
	if p := r.profiles[k]; p != nil {
		return p
	}
	p := *kind.Profile
	p.Name, p.Prompt, p.Within, p.Plan = kind.Name, "", parent.Profile, p.Plan || parent.Planning
	p.Disallowed = slices.Concat(p.Disallowed, without)
	if k.last {
		p.Disallowed = append(p.Disallowed, "Agent")
	}
	r.profiles[k] = &p
	return &p
}

// Start starts an agent for a call of a session and returns its run. The caller must end or
// register it.
func (r *Registry) Start(ctx context.Context, env *tools.Env, q Request) (*Run, error) {
	a, err := r.reserve(env.Session, q)
	if err != nil {
		return nil, err
	}
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.opening[a.root]--; r.opening[a.root] == 0 {
			delete(r.opening, a.root)
		}
	}()
	a.hidden = func(path string) bool { return env.Commands.HidingRule(path) != "" }
	a.session = r.Open(env.Session, a.name, env.ID, r.profileOf(a, env.Session))
	a.owner = a.session.View().Owner()
	run, err := r.begin(ctx, a, q.Title, q.Prompt, env)
	if err != nil {
		a.session.Close()
		return nil, err
	}
	return run, nil
}

func (r *Registry) profileOf(a *agent, parent session.View) *session.Profile {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.profile(a.kind, parent, a.depth)
}

// reserve returns an agent without a session. Until opening is decremented, it counts as running.
func (r *Registry) reserve(v session.View, q Request) (*agent, error) {
	if err := r.Check(q); err != nil {
		return nil, err
	}
	a := &agent{r: r, name: q.Name, named: q.Name != "", parent: v.Owner(), root: v.Owner(), depth: 1, isolated: q.Isolation, window: r.Limits.Window}
	a.kind, _ = r.Find(q.Type)
	if small, _ := IsSmall(q.Model); small || q.Model == "" && a.kind.Small {
		a.model = r.Small
	} else {
		a.model = r.Large
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if parent := r.agents[v.Owner()]; parent != nil {
		a.root, a.depth = parent.root, parent.depth+1
	}
	switch {
	case a.depth > maxDepth:
		return nil, fault.New(fmt.Sprintf("agents are started at most %d levels deep", maxDepth), "Do the work without another agent.")
	case q.Isolation && v.Worktree != nil:
		return nil, fault.New("the session is in the worktree "+plain.Line(v.Worktree.Folder)+" already", "Leave out isolation; the agent then works there, too.")
	case a.named && (!r.Free(v.Principal, a.name) || r.named(v.Principal, a.name) != nil):
		return nil, fault.New("another agent, session or team has the name "+a.name, "Use another name; SendMessage continues an agent that has ended its task.")
	}
	if err := r.room(a.root); err != nil {
		return nil, err
	}
	for !a.named && (a.name == "" || !r.Free(v.Principal, a.name)) {
		r.number++
		a.name = fmt.Sprintf("%s-%d", a.kind.Name, r.number)
	}
	r.opening[a.root]++
	return a, nil
}

// room refuses one more running agent of a client's session than may be. The caller holds mu.
func (r *Registry) room(root session.Owner) error {
	mine, all := r.opening[root], 0
	for _, n := range r.opening {
		all += n
	}
	for _, a := range r.agents {
		if a.run != nil {
			if all++; a.root == root {
				mine++
			}
		}
	}
	const next = "Wait until one has ended, or stop one with TaskStop."
	switch {
	case r.closed:
		return fault.New("the server is ending", "Do not start agents any more.")
	case mine >= maxRunning:
		return fault.New(fmt.Sprintf("%d agents are running, and no more may at once", mine), next)
	case all >= maxTotal:
		return fault.New(fmt.Sprintf("%d agents of all sessions are running, and no more may at once", all), next)
	}
	return nil
}

// named returns the agent of a principal with a name, or nil. The caller holds mu.
func (r *Registry) named(principal, name string) *agent {
	for _, a := range r.agents {
		if a.name == name && a.owner.Principal == principal {
			return a
		}
	}
	return nil
}

// begin starts a run of an agent.
func (r *Registry) begin(ctx context.Context, a *agent, title, prompt string, env *tools.Env) (*Run, error) {
	if err := a.enter(ctx); err != nil {
		return nil, err
	}
	run, err := newRun(a, title, prompt, env)
	if err != nil {
		a.leave(ctx)
		return nil, err
	}
	r.mu.Lock()
	if above := r.agents[a.parent]; above != nil {
		run.above = above.run
	}
	closed := r.closed || a.gone
	if !closed {
		a.run, a.used = run, time.Now()
		r.agents[a.owner] = a
	}
	r.mu.Unlock()
	if closed {
		run.discard()
		a.leave(ctx)
		return nil, fault.New("the session or the server is ending", "Do not start agents any more.")
	}
	go run.do(prompt)
	return run, nil
}

// enter moves the session of an isolated agent into a worktree: its former one, or a new one.
func (a *agent) enter(ctx context.Context) error {
	if !a.isolated {
		return nil
	}
	q := worktree.Request{Path: a.folder, Hidden: a.hidden}
	if q.Path != "" && !a.r.Worktrees.Made(q.Path) {
		q.Path = ""
	}
	e, err := a.r.Worktrees.Enter(ctx, a.session.View(), q)
	if err != nil {
		return err
	}
	a.folder = e.Move.To.Folder
	a.session.Apply(session.Effect{Move: &e.Move})
	return nil
}

// leave moves the session out of its worktree, and removes that unless it has work. It returns a
// line about a worktree that stays.
func (a *agent) leave(ctx context.Context) (note string) {
	v := a.session.View()
	if !a.isolated || v.Worktree == nil {
		return ""
	}
	m, err := a.r.Worktrees.Leave(v)
	if err == nil {
		if _, err = a.r.Worktrees.Remove(context.WithoutCancel(ctx), v, false); err == nil {
			a.folder = ""
		} else {
			note = fmt.Sprintf("Its worktree %s with the branch %s stays: %s", plain.Line(v.Worktree.Folder), plain.Line(v.Worktree.Branch), factOf(err))
		}
		a.r.Worktrees.Forget(v.Owner())
		a.session.Apply(session.Effect{Move: m})
	}
	return note
}

// factOf returns the fact of an error in one line.
func factOf(err error) string {
	var f *fault.Fault
	if errors.As(err, &f) {
		return plain.Line(f.Fact)
	}
	return plain.Line(err.Error())
}

// Continue gives a named agent that waits another task, if the session has started it. ok is false
// if there is no such agent, or it runs.
func (r *Registry) Continue(ctx context.Context, env *tools.Env, name, prompt string) (run *Run, ok bool, err error) {
	r.mu.Lock()
	a := r.named(env.Session.Principal, name)
	if a == nil || a.parent != env.Session.Owner() || a.run != nil || a.gone || !a.named {
		r.mu.Unlock()
		return nil, false, nil
	}
	if err := r.room(a.root); err != nil {
		r.mu.Unlock()
		return nil, true, err
	}
	a.run = starting // nobody else continues it
	r.mu.Unlock()
	a.hidden = func(path string) bool { return env.Commands.HidingRule(path) != "" }
	if run, err = r.begin(ctx, a, "Continue "+name, prompt, env); err != nil {
		r.mu.Lock()
		a.run = nil
		gone := a.gone
		r.mu.Unlock()
		if gone {
			r.drop(a)
		}
	}
	return run, true, err
}

// starting stands for a run that is about to begin.
var starting = new(Run)

// ended records the end of a run. An agent without a name ends with it.
func (r *Registry) ended(a *agent) {
	r.mu.Lock()
	a.run, a.used = nil, time.Now()
	list := []*agent{a}
	if a.named && !a.gone && !r.closed {
		list = r.surplus(a.parent)
	}
	r.mu.Unlock()
	for _, a := range list {
		r.drop(a)
	}
}

// surplus returns the agents of a session that are more than may wait. The caller holds mu.
func (r *Registry) surplus(parent session.Owner) []*agent {
	var list []*agent
	for _, a := range r.agents {
		if a.parent == parent && a.run == nil && !a.gone {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b *agent) int { return a.used.Compare(b.used) })
	list = list[:max(0, len(list)-maxWaiting)]
	for _, a := range list {
		a.gone = true
	}
	return list
}

// drop ends an agent that does not run.
func (r *Registry) drop(a *agent) {
	r.mu.Lock()
	_, known := r.agents[a.owner]
	delete(r.agents, a.owner)
	r.mu.Unlock()
	if known {
		a.session.Close()
	}
}

// Forget ends the agents of a session that has ended: at once those that wait, the others after
// their run, which the end of the session's calls and tasks ends.
func (r *Registry) Forget(o session.Owner) {
	if r == nil {
		return
	}
	r.mu.Lock()
	var waiting []*agent
	for _, a := range r.agents {
		if a.parent == o {
			a.gone = true
			if a.run == nil {
				waiting = append(waiting, a)
			}
		}
	}
	r.mu.Unlock()
	for _, a := range waiting {
		r.drop(a)
	}
}

// Close ends all agents and waits for their end.
func (r *Registry) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	r.closed = true
	var runs []*Run
	for _, a := range r.agents {
		if a.run != nil && a.run != starting {
			runs = append(runs, a.run)
		}
	}
	r.mu.Unlock()
	var all sync.WaitGroup
	for _, run := range runs {
		all.Go(func() { _ = run.Stop("the end of the server") })
	}
	all.Wait()
	return nil
}

func (r *Registry) transcriptPath(a *agent) string {
	return filepath.Join(r.Folder, time.Now().UTC().Format("20060102T150405Z")+"-"+a.name+"-"+a.owner.Session+"-"+randomID()+".jsonl")
}
