// Package pipeline is the one path every call takes, whatever the client and
// the transport:
//
//	lookup -> parse -> resolve -> validate -> hooks -> decide -> ask -> schedule -> execute -> hooks -> limit -> audit
//
// Read Run from top to bottom. Tools describe, policy decides, the scheduler
// orders; only this package turns an error into an answer, and every refusal
// says which stage it comes from.
package pipeline

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/approval"
	"mcp-toolset/internal/audit"
	"mcp-toolset/internal/classifier"
	faults "mcp-toolset/internal/fault"
	"mcp-toolset/internal/filelock"
	"mcp-toolset/internal/hook"
	"mcp-toolset/internal/memory"
	"mcp-toolset/internal/results"
	"mcp-toolset/internal/snapshot"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// maxDepth bounds calls made by calls made by calls.
const maxDepth = 8

// Config is what a pipeline works with. Fields are required but for Now and
// those that say otherwise.
type Config struct {
	Registry *tools.Registry
	Policy   *policy.Policy
	Roots    *workspace.Roots
	Results  *results.Store
	Locks    *filelock.Locks
	Home     string // the user's home folder, "" if there is none
	Notice   string // added to the first result of each session; "": nothing
	Now      func() time.Time

	// Snapshots are kept for as long as the pipeline is. nil: none are.
	Snapshots *snapshot.Cache

	// Await connects the upstream server that a name of a tool nobody has may be
	// of, and Wake those that are not; see tools.Env. nil: there are none.
	Await func(ctx context.Context, tool string)
	Wake  func(ctx context.Context, most time.Duration)

	// Shared lets identical calls share one execution. nil: each runs.
	Shared *concurrency.Group

	// Cascade is what the failure of a command cancels of the calls sent with it.
	Cascade Cascade

	// Hooks are commands of the user that run before and after calls, RunHooks is
	// what runs them (hook.Runner.Run). nil: there are none.
	Hooks    *policy.Hooks
	RunHooks func(context.Context, policy.Event, []policy.Hook, hook.Input) hook.Verdict

	// Classify is asked about a call that nothing else decides; nil where it has
	// no opinion, or is nil itself.
	Classify func(context.Context, classifier.Question) *policy.Opinion

	// Changing is called before an allowed call changes a file. nil: nobody is told.
	Changing func(path string)

	// Approvals are what persons have said of calls. With Pending they can be
	// asked outside of the client too, by a number. nil: nothing is remembered.
	Approvals *approval.Store
	Pending   bool

	// Instance tells conversations of this server from those of others, for hooks
	// and the audit; "": they are not told apart.
	Instance string

	// Audit writes down a call that has ended, before it is answered. With
	// AuditRequired no call is done that cannot be written down. nil: nothing is.
	Audit         func(context.Context, audit.Entry) error
	AuditRequired bool
	AuditReady    func(context.Context) error // why a call could not be written down now; nil: it is not asked
}

// Pipeline runs calls. It is safe for concurrent use.
type Pipeline struct {
	Config
	room     room // for large inputs
	aside    asides
	unlogged atomic.Bool // the last call could not be written to the audit log
	noticed  atomic.Bool // a call without a session has got the notice
}

// New makes a pipeline.
func New(c Config) *Pipeline {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Pipeline{Config: c, room: newRoom(budget)}
}

// Request is one call as it came from a client.
type Request struct {
	Tool      string
	Arguments json.RawMessage
	Session   *session.Session
	Ticket    *concurrency.Ticket // the call's place, taken on arrival
	Log       *slog.Logger
	Progress  func(tools.Progress) // nil: nobody listens
	ID        string               // the client's name for the call, for hooks and the audit; "": one is made
	Ask       Asker                // puts a question to the client's user; nil: that cannot be
	// Elicit puts a form of another server to the client's user, and fails as Ask
	// does; nil: that cannot be.
	Elicit  func(context.Context, tools.Form) (tools.FormReply, error)
	Resumed any // InputRequired.Kept of the question whose answer the request brings; nil: none
}

// Run carries a call through every stage and answers it. Whatever goes wrong
// is an answer with Failed set. Two things are errors, because the protocol has
// an answer of its own for them: a name that no tool has (*tools.UnknownTool),
// and a question that the client has to send the call again for
// (*InputRequired).
func (p *Pipeline) Run(ctx context.Context, r Request) (resp *tools.Response, err error) {
	defer func() { r.Ticket.Leave() }() // the last that it had
	defer func() { memory.Used(len(r.Arguments) + size(resp)) }()
	tool, bad, err := p.called(ctx, &r)
	if err != nil {
		p.auditUnknown(ctx, r, err)
		return nil, err
	}
	if bad == nil {
		if tool, err = p.connect(ctx, &r, tool); err != nil {
			bad, err = explain(ctx, err), nil
		}
	}
	r.Ticket.Label(tool.Name, "")
	c := p.newCall(r, tool)
	defer func() { resp = c.finish(ctx, resp, err) }()
	defer c.recover(&resp)
	if why := c.unlogged(ctx); why != nil {
		return c.refuse(why), nil
	}
	if bad != nil {
		return c.refuse(bad), nil
	}
	parsed, err := tool.Parse(r.Arguments)
	if err != nil {
		return c.refuse(invalid(err)), nil
	}
	var (
		resolved *tools.Resolved
		env      *tools.Env
		failure  error
	)
	defer c.watch(ctx)()
	// Resolving, validating and deciding wait for the call's turn: only then
	// is the session what all earlier unsafe calls of the conversation left.
	// Hooks and persons are waited for in there too, with the turn and without
	// a slot: calls of other conversations go on.
	err = r.Ticket.Run(ctx, func(ctx context.Context) (safe bool, err error) {
		env = c.env()
		if resolved, err = c.decide(ctx, parsed, env); err != nil {
			return false, err
		}
		r.Ticket.Label(tool.Name, resolved.Summary)
		return resolved.Facts.ConcurrencySafe, nil
	}, func(inner context.Context) func() {
		c.stopWatch()
		resp, failure = c.share(inner, resolved, env)
		if failure != nil && ctx.Err() == nil && inner.Err() != nil && errors.Is(failure, context.Canceled) {
			failure = context.Cause(inner) // a burst was cancelled
		}
		c.cascade(resp, resolved)
		if len(c.effects) == 0 {
			return nil
		}
		return c.applyEffects
	})
	if err == nil {
		err = failure
	}
	var needed *InputRequired
	switch {
	case errors.As(err, &needed):
		return nil, needed
	case err != nil:
		return c.refuse(explain(ctx, err)), nil
	}
	return resp, nil
}

// call is a request on its way through the pipeline.
type call struct {
	p *Pipeline
	Request
	tool    *tools.Tool
	depth   int        // 0 for a client's call, 1 for a call made by that, ...
	safe    bool       // settled as concurrency-safe
	nesting sync.Mutex // one call made by this one at a time
	access  policy.Access
	target  *target // of a call that is asked about, or would be but for what allows it; nil: none
	subject approval.Subject
	grants  []tools.Grant  // files beyond the workspace that it may use once it is allowed
	agreed  bool           // a person, or a hook, has agreed to the call
	asked   policy.Request // what the policy was asked last
	effects []session.Effect
	stop    func()       // of watch
	waited  atomic.Int64 // the last progress that watch told, in ms
	holdup  atomic.Value // string: what a call that is being decided on waits for
	private atomic.Bool  // what it returns is this session's alone
	preview atomic.Bool  // a preview is being made, which shows no credentials

	record record   // for the audit
	notes  []string // what hooks add to the answer
	before *before  // what was settled before it runs; nil: the hooks have not run
}

func (p *Pipeline) newCall(r Request, tool *tools.Tool) *call {
	c := &call{p: p, Request: r, tool: tool}
	if c.ID == "" {
		c.ID = rand.Text()
	}
	c.record = record{began: p.Now(), input: r.Arguments}
	return c
}

// decide judges the call, asks who can be asked, and refuses what is not allowed.
func (c *call) decide(ctx context.Context, parsed *tools.Call, env *tools.Env) (*tools.Resolved, error) {
	r, d, err := c.judge(ctx, parsed, env, true)
	if err != nil {
		return nil, err
	}
	c.record.decided, c.record.input = d, r.Input()
	if d.Behavior == policy.Ask {
		if d, err = c.permit(ctx, r, env, d); err != nil {
			return nil, err
		}
		c.record.decided = d
	}
	if d.Behavior != policy.Allow {
		return nil, refused(d)
	}
	c.safe = r.Facts.ConcurrencySafe
	c.agreed = d.Layer == policy.LayerApproval || d.Layer == policy.LayerHook
	if c.p.Changing != nil && c.subject.Kind == "path" && c.access == policy.Edit {
		c.p.Changing(c.subject.Value)
	}
	return r, nil
}

// judge completes the input, validates it, and asks hooks, policy, tool and
// classifier. Unless it is live, it starts nothing: no hook, no classifier.
func (c *call) judge(ctx context.Context, parsed *tools.Call, env *tools.Env, live bool) (*tools.Resolved, policy.Decision, error) {
	r := parsed.Resolve(env)
	if err := r.Validate(); err != nil {
		return nil, policy.Decision{}, invalid(err)
	}
	var opinion *policy.Opinion
	if live {
		var err error
		if r, opinion, err = c.runBefore(ctx, r, env); err != nil {
			return nil, policy.Decision{}, err
		}
	}
	d, err := c.decision(ctx, r, env, opinion)
	if err != nil {
		return nil, d, err
	}
	d = c.openFor(r, env, d)
	if live && d.Open && c.p.Classify != nil && c.p.Policy.Mode() != policy.ModeManual {
		opinion := c.p.Classify(ctx, classifier.Question{
			Tool: c.tool.Name, Summary: r.Summary, Input: c.classifierInput(ctx, r, env), Mode: string(c.p.Policy.Mode()), Dir: env.Session.Dir,
		})
		if ctx.Err() != nil {
			return nil, d, context.Cause(ctx)
		}
		d = d.Classified(opinion)
	}
	return r, d, nil
}

// classifierInput returns what the classifier is shown of the call: what the tool
// makes for it, else the preview of what it would change, which begins with the path.
func (c *call) classifierInput(ctx context.Context, r *tools.Resolved, env *tools.Env) string {
	if in := r.ClassifierInput(); in != "" {
		return in
	}
	return c.previewOf(ctx, r, env).Text
}

// previewOf makes the preview of what the call would change. It shows no file that
// may hold credentials.
func (c *call) previewOf(ctx context.Context, r *tools.Resolved, env *tools.Env) tools.Preview {
	c.preview.Store(true)
	defer c.preview.Store(false)
	return r.Preview(ctx, env)
}

// outcome is what an execution leaves.
type outcome struct {
	resp    *tools.Response
	effects []session.Effect
	private bool // it is for the session that made the call alone
}

// execute runs the tool. What it leaves counts though there is an error.
func (c *call) execute(ctx context.Context, r *tools.Resolved, env *tools.Env) (out outcome, err error) {
	done, err := c.afford(ctx)
	if err != nil {
		return out, err
	}
	if c.tool.Interrupt == tools.Finish {
		ctx = context.WithoutCancel(ctx)
	}
	env.Call = func(ctx context.Context, tool string, args json.RawMessage) (*tools.Response, error) {
		return c.nested(ctx, tool, args, &out.effects)
	}
	began := c.p.Now()
	resp, err := func() (*tools.Response, error) {
		defer done()
		return r.Run(ctx, env)
	}()
	if pending(err) { // it runs again from its start, with the answer
		return outcome{private: c.private.Load()}, err
	}
	var recorded *tools.Recorded
	if errors.As(err, &recorded) {
		out.effects = append(out.effects, recorded.Effect)
	}
	c.runAfter(ctx, r, env, resp, err, c.p.Now().Sub(began))
	if resp != nil {
		resp.HookFields = nil // which hold whole files
	}
	if err != nil {
		return out, err
	}
	if !resp.Effect.IsZero() {
		out.effects = append(out.effects, resp.Effect)
	}
	out.resp, out.private = resp, c.private.Load()
	return out, nil
}

// recover answers a call whose tool panicked, at whatever stage: the log has
// the panic and its stack, the answer has neither.
func (c *call) recover(resp **tools.Response) {
	if v := recover(); v != nil {
		*resp = c.refuse(c.panicked(v))
	}
}

// panicked logs a panic of the tool, from within the deferred call that
// recovered it, and words it.
func (c *call) panicked(v any) *refusal {
	stack := debug.Stack()
	if p, ok := v.(*concurrency.Panic); ok {
		v, stack = p.Value, p.Stack
	}
	c.Log.Error("a tool panicked", "tool", c.tool.Name, "panic", fmt.Sprint(v), "stack", string(stack))
	return &refusal{
		stage: "failed", fact: "the tool stopped on an internal error",
		next: "Try another way; the server's log has the details.",
	}
}

// applyEffects changes the session; the scheduler calls it in arrival order.
func (c *call) applyEffects() {
	c.apply(c.effects)
	c.effects = nil
}

func (c *call) apply(effects []session.Effect) {
	for _, e := range effects {
		c.Session.Apply(e)
	}
}

// explain words an error of deciding, waiting or executing.
func explain(ctx context.Context, err error) *refusal {
	var r *refusal
	var burst *BatchFailed
	switch {
	case errors.As(err, &r):
		return r
	case errors.As(err, &burst):
		return &refusal{stage: "cancelled", fact: burst.Error(), next: "Look at what failed, then send this call again if it still makes sense."}
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))):
		return &refusal{stage: "cancelled", fact: "the call was cancelled"}
	case faults.Descriptors("", err) != nil:
		f := faults.Descriptors("the call could not go on", err)
		return &refusal{stage: "failed", fact: f.Fact, next: f.Next}
	default:
		return &refusal{stage: "failed", fact: err.Error()}
	}
}
