package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"mcp-toolset/internal/exec/worktree"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

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
		delete(r.opening, a)
	}()
	a.hidden = func(path string) bool { return env.Commands.HidingRule(path) != "" }
	a.session = r.Open(env.Session, a.name, env.ID, r.profile(a.kind, env.Session, a.depth))
	a.owner = a.session.View().Owner()
	run, err := r.begin(ctx, a, q.Title, q.Prompt, env)
	if err != nil {
		a.session.Close()
		return nil, err
	}
	return run, nil
}

// reserve returns an agent without a session. While it is in opening, it counts as running and has
// its name.
func (r *Registry) reserve(v session.View, q Request) (*agent, error) {
	kind, err := r.Check(q)
	if err != nil {
		return nil, err
	}
	a := &agent{r: r, kind: kind, name: q.Name, named: q.Name != "", parent: v.Owner(), root: v.Payer(), depth: 1, isolated: q.Isolation, window: r.Limits.Window, run: starting}
	if small, _ := IsSmall(q.Model); small || q.Model == "" && a.kind.Small {
		a.model = r.Small
	} else {
		a.model = r.Large
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if parent := r.agents[v.Owner()]; parent != nil {
		a.depth = parent.depth + 1
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
	for !a.named && (a.name == "" || !r.Free(v.Principal, a.name) || r.named(v.Principal, a.name) != nil) {
		r.number++
		a.name = fmt.Sprintf("%s-%d", a.kind.Name, r.number)
	}
	r.opening[a] = true
	return a, nil
}

// room returns an error if a client's session cannot have another running agent. The caller holds mu.
func (r *Registry) room(root session.Owner) error {
	mine, all := 0, 0
	count := func(a *agent) {
		if all++; a.root == root {
			mine++
		}
	}
	for a := range r.opening {
		count(a)
	}
	for _, a := range r.agents {
		if a.run != nil && !r.opening[a] {
			count(a)
		}
	}
	const next = "Wait until one has ended, or stop one with TaskStop."
	switch {
	case r.closed:
		return fault.New("the server is ending", "Do not start agents any more.")
	case mine >= maxRunning:
		return fault.New(fmt.Sprintf("%d agents are running, which is the limit", mine), next)
	case all >= maxTotal:
		return fault.New(fmt.Sprintf("%d agents of all sessions are running, which is the limit", all), next)
	}
	return nil
}

// named returns the agent of a principal with a name, or nil. The caller holds mu.
func (r *Registry) named(principal, name string) *agent {
	for _, a := range r.agents {
		if a.name == name && a.parent.Principal == principal {
			return a
		}
	}
	for a := range r.opening {
		if a.name == name && a.parent.Principal == principal {
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
	go run.do()
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
	a.run = starting
	r.mu.Unlock()
	a.hidden = func(path string) bool { return env.Commands.HidingRule(path) != "" }
	a.session.Follow(env.Session) // which may have moved, or be in another mode
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

// starting stands for a run that is about to begin. No other call continues its agent.
var starting = new(Run)

// ended records the end of a run. An agent without a name ends with it.
func (r *Registry) ended(a *agent) {
	r.mu.Lock()
	a.run, a.used = nil, time.Now()
	list := []*agent{a}
	if a.named && !a.gone && !r.closed {
		list = r.surplus(a.root)
	}
	r.mu.Unlock()
	for _, a := range list {
		r.drop(a)
	}
}

// surplus returns the longest unused agents of a client's session over the limit of those that wait.
// They are gone from then on. The caller holds mu.
func (r *Registry) surplus(root session.Owner) []*agent {
	var list []*agent
	for _, a := range r.agents {
		if a.root == root && a.run == nil && !a.gone {
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
