// Package pipeline is the path that every call takes, for all clients and
// transports:
//
//	lookup -> parse -> resolve -> validate -> hooks -> decide -> ask -> schedule -> execute -> hooks -> limit -> audit
//
// Read Run from top to bottom. Tools describe, policy decides, and the
// scheduler orders. Only this package turns an error into an answer, and each
// refusal names its stage.
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

// maxDepth is the maximum depth of nested calls.
const maxDepth = 8

// Config holds the parts that a pipeline uses. All fields are required except
// Now and those with a documented zero value.
type Config struct {
	Registry *tools.Registry
	Policy   *policy.Policy
	Roots    *workspace.Roots
	Results  *results.Store
	Locks    *filelock.Locks
	Home     string // the user's home folder, "" if there is none
	Notice   string // added to the first result of each session; "": none
	Now      func() time.Time

	// Snapshots caches the content of files as sessions have seen them. It may
	// be nil.
	Snapshots *snapshot.Cache

	// Await connects the upstream server that an unknown tool name may belong
	// to. Wake connects upstream servers that are not connected; see tools.Env.
	// Both are nil without upstream servers.
	Await func(ctx context.Context, tool string)
	Wake  func(ctx context.Context, most time.Duration)

	// Shared deduplicates identical calls. If nil, each call runs.
	Shared *concurrency.Group

	// Cascade selects which calls of its burst a failed command cancels.
	Cascade Cascade

	// Hooks are commands of the user that run before and after calls. RunHooks
	// runs them; it is hook.Runner.Run. Both are nil without hooks.
	Hooks    *hook.Hooks
	RunHooks func(context.Context, hook.Event, []hook.Hook, hook.Input) hook.Verdict

	// Classify judges a call that nothing else decides. It returns nil if it
	// has no opinion. It may be nil.
	Classify func(context.Context, classifier.Question) *policy.Opinion

	// Changing is called before an allowed call changes a file. It may be nil.
	Changing func(path string)

	// Approvals stores the user's earlier answers; if nil, none are remembered.
	// Pending reports whether the user can approve calls outside of the client,
	// by number.
	Approvals *approval.Store
	Pending   bool

	// Instance identifies this server in session ids of hooks and the audit
	// log, so that sessions of several servers differ. It may be empty.
	Instance string

	// Audit writes a call to the audit log after its end and before its answer.
	// If AuditRequired is set, a call that cannot be logged is refused. If
	// Audit is nil, nothing is logged.
	Audit         func(context.Context, audit.Entry) error
	AuditRequired bool
	AuditReady    func(context.Context) error // returns why a call cannot be logged now; may be nil
}

// Pipeline runs calls. It is safe for concurrent use.
type Pipeline struct {
	Config
	room     room // budget for large inputs
	aside    asides
	unlogged atomic.Bool // an audit write has failed; unlogged tries again
	noticed  atomic.Bool // a call without a session has received the notice
}

// New returns a pipeline for the configuration.
func New(c Config) *Pipeline {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Pipeline{Config: c, room: newRoom(budget)}
}

// Request is one call of a client.
type Request struct {
	Tool      string
	Arguments json.RawMessage
	Session   *session.Session
	Ticket    *concurrency.Ticket // the call's place in its lane, taken on arrival
	Log       *slog.Logger
	Progress  func(tools.Progress) // nil: progress is not reported
	ID        string               // the client's id of the call; "": one is generated
	Ask       Asker                // asks the client's user; nil: not possible
	// Elicit shows a form of an upstream server to the client's user. It fails
	// as Ask does. If nil, that is not possible.
	Elicit  func(context.Context, tools.Form) (tools.FormReply, error)
	Resumed any // InputRequired.Kept of the question that this request answers; nil: none
}

// Run takes a call through all stages and returns its answer. A failure is an
// answer with Failed set, except for two errors that the protocol reports in
// its own way: *tools.UnknownTool, if no tool has the name, and *InputRequired,
// if the client must send the call again with an answer.
func (p *Pipeline) Run(ctx context.Context, r Request) (resp *tools.Response, err error) {
	defer func() { r.Ticket.Leave() }() // the ticket may have been replaced by then
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
	// Resolving, validating and deciding wait for the call's turn. Only then
	// does the session have the effects of all earlier unsafe calls of its
	// lane. Hooks and the user's answer are also waited for during the turn,
	// but without a slot, so calls of other lanes continue.
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
			failure = context.Cause(inner) // the call's burst was cancelled
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

// call holds the state of a request in the pipeline.
type call struct {
	p *Pipeline
	Request
	tool    *tools.Tool
	depth   int        // 0 for a client's call, 1 for a call made by that, ...
	safe    bool       // decided to be concurrency-safe
	nesting sync.Mutex // allows one nested call at a time
	access  policy.Access
	target  *target // the path of a call if the policy would ask about it; nil: none
	subject approval.Subject
	grants  []tools.Grant  // files beyond the workspace that the allowed call may use
	agreed  bool           // the user or a hook has approved the call
	asked   policy.Request // the last request to the policy
	effects []session.Effect
	stop    func()       // ends watch
	waited  atomic.Int64 // the last progress that watch reported, in ms
	holdup  atomic.Value // string: what the decision on the call waits for
	private atomic.Bool  // the result is for this session only
	preview atomic.Bool  // a preview is being made; it must not show credentials

	record record   // for the audit log
	notes  []string // texts that hooks add to the answer
	before *before  // decisions made before the call runs; nil: the hooks have not run
}

func (p *Pipeline) newCall(r Request, tool *tools.Tool) *call {
	c := &call{p: p, Request: r, tool: tool}
	if c.ID == "" {
		c.ID = rand.Text()
	}
	c.record = record{began: p.Now(), input: r.Arguments}
	return c
}

// decide judges the call, asks the user if necessary, and refuses the call
// unless it is allowed.
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

// judge completes and validates the input, then asks hooks, policy, tool and
// classifier. If live is false, it starts no hook and no classifier.
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

// classifierInput returns the text that describes the call to the classifier.
// It is the tool's own text, or the preview of the changes, which begins with
// the path.
func (c *call) classifierInput(ctx context.Context, r *tools.Resolved, env *tools.Env) string {
	if in := r.ClassifierInput(); in != "" {
		return in
	}
	return c.previewOf(ctx, r, env).Text
}

// previewOf returns the preview of the changes. It shows no file that may hold
// credentials.
func (c *call) previewOf(ctx context.Context, r *tools.Resolved, env *tools.Env) tools.Preview {
	c.preview.Store(true)
	defer c.preview.Store(false)
	return r.Preview(ctx, env)
}

// outcome holds the response and effects of an execution.
type outcome struct {
	resp    *tools.Response
	effects []session.Effect
	private bool // only for the session that made the call
}

// execute runs the tool and the hooks after it. The outcome's effects count
// even if execute returns an error.
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
	if pending(err) { // the call will run again from the start, with the answer
		return outcome{private: c.private.Load()}, err
	}
	var recorded *tools.Recorded
	if errors.As(err, &recorded) {
		out.effects = append(out.effects, recorded.Effect)
	}
	c.runAfter(ctx, r, env, resp, err, c.p.Now().Sub(began))
	if resp != nil {
		resp.HookFields = nil // these hold whole files
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

// recover answers a call if its tool panicked, at any stage. The panic and its
// stack are logged but are not in the answer.
func (c *call) recover(resp **tools.Response) {
	if v := recover(); v != nil {
		*resp = c.refuse(c.panicked(v))
	}
}

// panicked logs a panic of the tool and returns its refusal. Deferred functions
// must call it before they return, so that the stack is that of the panic.
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

// applyEffects changes the session. The scheduler calls it in order of arrival.
func (c *call) applyEffects() {
	c.apply(c.effects)
	c.effects = nil
}

func (c *call) apply(effects []session.Effect) {
	for _, e := range effects {
		c.Session.Apply(e)
	}
}

// explain turns an error of deciding, waiting or executing into a refusal.
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
