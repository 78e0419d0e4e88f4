package pipeline

import (
	"context"
	"errors"

	"mcp-toolset/internal/plain"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// Explanation says what would become of a call.
type Explanation struct {
	Tool     string                // canonical name; as it was called, shortened, if no tool has that name
	Decision policy.Decision       // a call that cannot be judged is denied, in policy.LayerInput
	Facts    tools.Facts           // zero for a call that cannot be judged
	Commands []string              // the simple commands that the call runs, as far as the tool has such
	Parts    []policy.PartDecision // what is decided on each of Commands by itself
	Deciding []int                 // indexes of the Parts because of which the call is not allowed, as far as known
	Hooks    int                   // how many PreToolUse hooks would run before it is decided on; they may decide otherwise
	Error    string                // why the call cannot be judged; "" if it was
}

// Explain takes a call through the stages of Run up to the decision, and does
// not run it. No hook and no classifier is started: what they would say is not in
// the decision. A request without a session gets a new one in the first root; a
// ticket is not needed. A call of a tool that a deny rule removed is denied by
// that rule. What a tool's panic leaves open is denied, in policy.LayerTool.
//
// When ctx ends, the explanation is not to be used.
func (p *Pipeline) Explain(ctx context.Context, r Request) (e Explanation) {
	if r.Session == nil {
		r.Session = session.New(session.Config{Roots: p.Roots.Paths()})
	}
	tool, bad, err := p.called(ctx, &r)
	present := err == nil
	if !present {
		if tool = p.removed(err); tool == nil {
			return Explanation{
				Tool: plain.Line(r.Tool), Error: err.Error(),
				Decision: policy.Decision{Layer: policy.LayerInput, Reason: err.Error()},
			}
		}
	}
	e.Tool = tool.Name
	c := p.newCall(r, tool)
	defer func() {
		if v := recover(); v != nil {
			e = Explanation{Tool: tool.Name}
			e.refuse(c.panicked(v))
			e.Decision.Layer = policy.LayerTool
		}
	}()
	if bad != nil {
		e.refuse(bad)
		return e
	}
	parsed, err := tool.Parse(r.Arguments)
	if err != nil {
		e.refuse(invalid(err))
		return e
	}
	env := c.env()
	resolved, d, err := c.judge(ctx, parsed, env, false)
	if err != nil {
		e.refuse(explain(ctx, err))
		return e
	}
	e.Decision, e.Facts = d, resolved.Facts
	if present { // hooks never hear of a tool that a rule removed
		e.Hooks = len(p.Hooks.Matching(policy.PreToolUse, tool.Name, tool.Aliases))
	}
	if parts := resolved.Parts(env); parts != nil {
		e.Commands = []string{}
		for _, part := range parts.List {
			e.Commands = append(e.Commands, part.Text)
		}
		e.Parts = p.Policy.ExplainParts(c.asked)
		e.Deciding = deciding(d, e.Parts, env.Session.Dir, p.Home)
	}
	return e
}

// refuse words the refusal of a call before it was decided on.
func (e *Explanation) refuse(r *refusal) {
	e.Decision = policy.Decision{Layer: policy.LayerPath, Reason: r.fact, Next: r.next} // a path that cannot be followed
	if r.stage == stageInvalid {
		e.Decision.Layer, e.Error = policy.LayerInput, r.Error()
	}
}

// removed is the tool that a lookup did not find because a deny rule removed
// it, nil if that is not why. The rule denies every call of it, too.
func (p *Pipeline) removed(err error) *tools.Tool {
	var unknown *tools.UnknownTool
	if !errors.As(err, &unknown) || unknown.Absent == nil {
		return nil
	}
	if _, _, denied := p.Policy.DeniedTool(unknown.Absent.Name, unknown.Absent.Aliases); !denied {
		return nil
	}
	return unknown.Absent
}
