package pipeline

import (
	"context"
	"slices"
	"time"

	"mcp-toolset/internal/consent/classifier"
	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/policy"
)

// Rules is what decides on calls: the policy, hooks and classifier of one state of the settings.
// It is immutable.
type Rules struct {
	Policy *policy.Policy

	// Hooks are commands of the user that run before and after calls. RunHooks
	// runs them; it is hook.Runner.Run. Both are nil without hooks.
	Hooks    *hook.Hooks
	RunHooks func(context.Context, hook.Event, []hook.Hook, hook.Input) hook.Verdict

	// Classify judges a call that nothing else decides. It returns nil if it
	// has no opinion. It may be nil.
	Classify func(context.Context, classifier.Question) *policy.ExternalDecision

	// Hidden and Unchanged list paths that commands must not read or must not change, in
	// addition to those that the sandbox knows from its start.
	Hidden, Unchanged []string

	connections *policy.Policy // the rules on connections of commands
}

// bulletin is a text for the next answer of each session.
type bulletin struct {
	number uint64
	text   string // "": none
}

// checkEvery is the time after which a call that had to wait looks for changed settings again.
const checkEvery = time.Millisecond

// SetRules replaces the rules. Calls that have not begun to run are decided by them; calls that
// run keep theirs.
func (p *Pipeline) SetRules(r Rules) {
	r.connections = r.Policy.Connections()
	p.rules.Store(&r)
}

// CurrentRules returns the rules that hold, after a look at the settings.
func (p *Pipeline) CurrentRules() *Rules {
	if p.Config.Reload != nil {
		p.Config.Reload()
	}
	return p.rules.Load()
}

// Policy returns the policy that holds.
func (p *Pipeline) Policy() *policy.Policy { return p.rules.Load().Policy }

// Announce adds text to the next answer of each session, once. "" ends that.
func (p *Pipeline) Announce(text string) {
	for {
		old := p.bulletin.Load()
		if old.text == text || p.bulletin.CompareAndSwap(old, &bulletin{old.number + 1, text}) {
			return
		}
	}
}

// use makes r decide on the call, in the session's present state.
func (c *call) use(r *Rules) {
	c.set, c.rules = r, r.Policy
	v := c.Session.View()
	switch {
	case v.Planning:
		c.rules = r.Policy.Planned()
	case v.AcceptEdits:
		c.rules = r.Policy.EditsAccepted()
	}
	if v.Worktree != nil {
		c.rules = c.rules.Moved(v.Roots, v.Worktree.Folder, v.Worktree.Main)
	}
}

// settle is the last stage before a call runs. If the rules have changed since they decided, the
// new ones decide again, so that an answer of the user does not run what they deny. An approval
// holds if they would ask, too, and the call gets the same access.
func (c *call) settle(ctx context.Context) error {
	set := c.p.rules.Load()
	if c.p.Now().Sub(c.looked) >= checkEvery {
		set = c.p.CurrentRules()
	}
	if set == c.set {
		return nil
	}
	c.use(set)
	c.restrict(c.env)
	before := c.grants
	if err := c.decide(ctx); err != nil {
		return err
	}
	if c.judged != nil && c.decision.Open {
		c.decision = c.decision.Classified(c.judged)
	}
	c.record.decided = c.decision
	approved := c.before != nil && c.before.agreed != nil
	switch {
	case c.decision.Behavior == policy.Deny:
		return refused(c.decision)
	case c.decision.Behavior == policy.Allow:
		c.agreed = c.agreed && (approved || c.decision.Layer == policy.LayerHook)
		return nil
	case approved && c.agreed && slices.Equal(before, c.grants):
		c.decision = policy.Decision{Behavior: policy.Allow, Layer: policy.LayerApproval, Reason: "the user agreed"}
		c.record.decided = c.decision
		return nil
	}
	return &refusal{stageRefused, "the settings changed while the call waited, and now it needs the user's approval", "Send it again."}
}
