package pipeline

import (
	"context"
	"errors"

	"mcp-toolset/internal/hook"
	"mcp-toolset/internal/plain"
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
	if present { // a tool that a rule removed is never passed to hooks
		e.Hooks = len(p.Hooks.Matching(hook.PreToolUse, tool.Name, tool.Aliases))
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
	if _, _, denied := p.Policy.DeniedTool(unknown.Absent.Name, unknown.Absent.Aliases); !denied {
		return nil
	}
	return unknown.Absent
}
