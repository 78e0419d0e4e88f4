package pipeline

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/memory"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/internal/record/undo"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// Run takes a call through all stages and returns its answer. A failure is an
// answer with Failed set, except for two errors that the protocol reports in
// its own way: *tools.UnknownTool, if no tool has the name, and *InputRequired,
// if the client must send the call again with an answer.
func (p *Pipeline) Run(ctx context.Context, r Request) (resp *tools.Response, err error) {
	c := p.newCall(r)
	defer func() { c.Ticket.Leave() }() // the ticket may have been replaced by then
	defer func() { memory.Used(len(c.Arguments) + size(resp)) }()
	if err := c.lookup(ctx); err != nil {
		p.auditUnknown(ctx, c.Request, err)
		return nil, err
	}
	defer func() { resp, err = c.finish(ctx, resp, err) }()
	defer c.recover(&err)
	if err := stages(ctx, c.unwrap, c.connect, c.loggable, c.parse); err != nil {
		return nil, err
	}
	return c.inTurn(ctx)
}

// inTurn waits for the call's turn in its lane, then decides on the call and
// executes it. Only in its turn does the session have the effects of all
// earlier unsafe calls of the lane. Hooks and the user's answer are also waited
// for during the turn, but without a slot, so calls of other lanes continue.
func (c *call) inTurn(ctx context.Context) (resp *tools.Response, err error) {
	defer c.endProgress()
	defer c.watch(ctx)()
	var failure error
	err = c.Ticket.Run(ctx, func(ctx context.Context) (safe bool, err error) {
		err = c.judge(ctx)
		if c.prepared != nil {
			c.Ticket.Label(c.tool.Name, c.prepared.Summary)
		}
		if err != nil {
			c.Ticket.Outcome(c.outcome(ctx, nil, err))
		}
		return c.safe && !c.barrier, err
	}, func(inner context.Context) func() {
		c.stopWatch()
		c.announce()
		defer c.endProgress()
		if failure = c.settle(inner); failure == nil {
			resp, failure = c.share(inner)
		}
		c.Ticket.Outcome(c.outcome(inner, resp, failure))
		if failure != nil && ctx.Err() == nil && inner.Err() != nil && errors.Is(failure, context.Canceled) {
			failure = context.Cause(inner) // the call's burst was cancelled
		}
		c.cascade(resp)
		if len(c.effects) == 0 {
			return nil
		}
		return c.applyEffects
	})
	if err == nil {
		err = failure
	}
	return resp, err
}

// outcome returns the outcome of a call that has run.
func (c *call) outcome(ctx context.Context, resp *tools.Response, err error) string {
	switch {
	case pending(err):
		return audit.Asked
	case err != nil:
		return outcomes[toRefusal(ctx, err).stage]
	case resp != nil && resp.Failed:
		return audit.Failed
	}
	return audit.OK
}

// judge takes the call through the stages that decide whether it may run.
func (c *call) judge(ctx context.Context) error {
	return stages(ctx, c.prepare, c.consult, c.decide, c.classify, c.ask)
}

// stages runs stages in order until one of them fails.
func stages(ctx context.Context, list ...func(context.Context) error) error {
	for _, stage := range list {
		if err := stage(ctx); err != nil {
			return err
		}
	}
	return nil
}

// call holds the state of a request in the pipeline.
type call struct {
	p *Pipeline
	Request
	depth int // 0 for a client's call, 1 for a call made by that, ...

	onlyReads bool // it was made by a tool that only makes read-only calls
	barrier   bool // the client wants it to run after all earlier calls

	// Results of the stages, in their order.
	tool     *tools.Tool
	set      *Rules         // of its turn
	rules    *policy.Policy // those of set, or of plan mode if the session is in it at the call's turn
	looked   time.Time      // when set was current
	lost     error          // why lookup did not find the tool, if the call was cancelled meanwhile or has no room
	parsed   *tools.Call
	env      *tools.Env               // with the session's state at the call's turn
	prepared *tools.Prepared          // the input as it runs
	before   *before                  // decisions made before the call runs; nil: the hooks have not run
	opinion  *policy.ExternalDecision // of the hooks; nil: none
	judged   *policy.ExternalDecision // of the classifier; nil: none
	decision policy.Decision
	safe     bool // decided to be concurrency-safe
	agreed   bool // the user or a hook has approved the call
	effects  []session.Effect

	temp Private // of its session; nil: none

	// What decide finds out.
	access  policy.Access
	target  *target // the path of the call if the policy would ask about it; nil: none
	subject approval.Subject
	grants  []tools.Grant  // files beyond the workspace that the allowed call may use
	asked   policy.Request // the last request to the policy

	network tools.Connections // connections of its commands; zero before prepare
	end     func()            // closes network at the end of the call; nil before prepare

	nesting  sync.Mutex // allows one nested call at a time
	stop     func()     // ends watch
	activity activity
	holdup   atomic.Value // string: what the decision on the call waits for
	private  atomic.Bool  // the result is for this session only
	preview  atomic.Bool  // a preview is being made; it must not show credentials

	recording atomic.Pointer[undo.Recording] // of what the call changes in the roots; nil: none
	explains  bool                           // the call only explains a decision

	record record   // for the audit log
	notes  []string // texts that hooks add to the answer
}

func (p *Pipeline) newCall(r Request) *call {
	set := p.rules.Load()
	if r.Found == nil { // whoever found the tool has looked at the settings
		set = p.CurrentRules()
	}
	c := &call{p: p, Request: r, set: set, rules: set.Policy, looked: p.Now()}
	if c.ID == "" {
		c.ID = rand.Text()
	}
	c.activity.last = -1
	c.record = record{began: p.Now(), input: r.Arguments}
	return c
}

// parse is the stage that decodes the arguments.
func (c *call) parse(context.Context) (err error) {
	if c.Ticket != nil {
		c.Ticket.Label(c.tool.Name, "")
	}
	if c.parsed, err = c.tool.Parse(c.Arguments); err != nil {
		return invalid(err)
	}
	return nil
}

// prepare is the stage that completes and checks the input.
func (c *call) prepare(context.Context) (err error) {
	set := c.p.rules.Load()
	if now := c.p.Now(); now.Sub(c.looked) >= checkEvery {
		set, c.looked = c.p.CurrentRules(), now
	}
	c.use(set)
	c.env = c.newEnv()
	if c.prepared, err = c.parsed.Prepare(c.env); err != nil {
		return invalid(err)
	}
	if c.onlyReads && !c.prepared.Facts.ReadOnly {
		return &refusal{stageInvalid, "CallReadOnlyTool only makes calls that change nothing", "Make this one with CallTool."}
	}
	if c.ReadsOnly && !c.prepared.Facts.ReadOnly {
		return &refusal{stageRefused, "this client may only make calls that change nothing", "Ask the user to sign in again with the scope toolset:write."}
	}
	return nil
}
