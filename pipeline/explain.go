package pipeline

import (
	"context"
	"errors"

	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// Explanation describes what the pipeline would decide on a call.
type Explanation struct {
	Tool     string                // canonical name, or the shortened unknown name
	Decision policy.Decision       // a call that cannot be judged is denied, in policy.LayerInput
	Facts    tools.Facts           // zero for a call that cannot be judged
	Commands []string              // the simple commands of the call, if the tool has any
	Parts    []policy.PartDecision // the decision on each of Commands by itself
	Deciding []int                 // indexes of the Parts that cause an ask or deny, if known
	Hooks    int                   // number of PreToolUse hooks that could change the decision
	Error    string                // why the call cannot be judged; "" if it was judged
}

// Explain takes a call through the stages of Run up to the decision, without
// running it. It starts no hook and no classifier; the decision leaves out
// their opinions. If the request has no session, Explain makes one in the first
// root. The request needs no ticket. A deny rule that removed a tool also
// denies its calls. If the tool panics, the decision is deny, in
// policy.LayerTool.
//
// The caller must discard the explanation if ctx has ended.
func (p *Pipeline) Explain(ctx context.Context, r Request) (e Explanation) {
	if r.Session == nil {
		r.Session = session.New(session.Config{Roots: p.Roots.Paths()})
	}
	c := p.newCall(r)
	c.explains = true
	err := c.lookup(ctx)
	present := err == nil
	if !present {
		if c.tool = p.removed(err); c.tool == nil {
			return Explanation{
				Tool: plain.Line(r.Tool), Error: err.Error(),
				Decision: policy.Decision{Layer: policy.LayerInput, Reason: err.Error()},
			}
		}
	}
	defer func() {
		if v := recover(); v != nil {
			e = Explanation{Tool: c.tool.Name}
			e.refuse(c.panicked(v))
			e.Decision.Layer = policy.LayerTool
		}
	}()
	if present { // the rule denies each call of a removed tool, whatever it wraps
		err = c.unwrap(ctx)
	} else {
		err = nil
	}
	if err == nil {
		err = stages(ctx, c.parse, c.prepare, c.decide)
	}
	e.Tool = c.tool.Name
	if err != nil {
		e.refuse(toRefusal(ctx, err))
		return e
	}
	e.Decision, e.Facts = c.decision, c.prepared.Facts
	if searches(c.tool.Name) && c.decision.Behavior == policy.Allow && c.env.Commands.ReadDenied {
		e.Decision.Reason += "; files that rules deny or ask about are left out of the results"
	}
	if present { // a tool that a rule removed is never passed to hooks
		e.Hooks = len(c.set.Hooks.Matching(hook.PreToolUse, c.tool.Name, c.hookNames()))
	}
	if parts := c.prepared.Parts(c.env); parts != nil {
		e.Commands = []string{}
		for _, part := range parts.List {
			e.Commands = append(e.Commands, part.Text)
		}
		e.Parts = c.set.Policy.ExplainParts(c.asked)
		e.Deciding = deciding(c.decision, e.Parts, c.env.Session.Dir, p.Home)
	}
	return e
}

// searches reports whether a tool goes through the files of a folder.
func searches(tool string) bool { return tool == "Glob" || tool == "Grep" }

// refuse turns a refusal before the decision into the decision.
func (e *Explanation) refuse(r *refusal) {
	e.Decision = policy.Decision{Layer: policy.LayerPath, Reason: r.fact, Next: r.next} // a path that cannot be followed
	if r.stage == stageInvalid {
		e.Decision.Layer, e.Error = policy.LayerInput, r.Error()
	}
}

// removed returns the tool that a lookup did not find because a deny rule
// removed it. It returns nil for any other error. The rule also denies each
// call of the tool.
func (p *Pipeline) removed(err error) *tools.Tool {
	var unknown *tools.UnknownTool
	if !errors.As(err, &unknown) || unknown.Absent == nil {
		return nil
	}
	if _, _, denied := p.rules.Load().Policy.DeniedTool(unknown.Absent.Name, unknown.Absent.Aliases); !denied {
		return nil
	}
	return unknown.Absent
}
