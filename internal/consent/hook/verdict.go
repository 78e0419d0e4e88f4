package hook

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
)

// combiner combines the answers of all hooks of one call.
type combiner struct {
	*Runner
	event Event
	spill func(name, text string) (path string, err error) // see Input
}

// verdict combines answers, which are in the order of the settings.
func (r *combiner) verdict(answers []answer) Verdict {
	var v Verdict
	for _, a := range answers {
		if a.cancelled {
			v.Failures = append(v.Failures, Failure{Command: short(a.hook.Command), Reason: "had not answered when the call was cancelled"})
		}
		if a.failure != "" {
			f := Failure{Command: short(a.hook.Command), Reason: plain.Line(a.failure)}
			v.Failures = append(v.Failures, f)
			r.log.Warn("a hook failed", "hook", f.Command, "event", string(r.event), "why", f.Reason)
		}
	}
	r.decide(&v, answers)
	r.block(&v, answers)
	for i, a := range answers {
		if text := r.shorten(i, "context", a.output.context); text != "" {
			v.Context = append(v.Context, text)
		}
		if a.output.input != nil && (!v.Decided || v.Behavior != policy.Deny) {
			r.first(&v.UpdatedInput, a.output.input, a.hook, "updatedInput")
		}
		r.first(&v.Replace, a.output.replace, a.hook, "updatedToolOutput")
	}
	return v
}

// first sets have to said unless an earlier hook has set it.
func (r *combiner) first(have *json.RawMessage, said json.RawMessage, h Hook, key string) {
	switch {
	case said == nil:
	case *have == nil:
		*have = said
	default:
		r.log.Warn("a hook returned a key that has no effect, because another hook returned it first", "hook", short(h.Command), "event", string(r.event), "key", key)
	}
}

// hookDecision is the decision of one hook.
type hookDecision struct {
	behavior     policy.Behavior
	reason, next string
}

// position returns the decision of an answer before the call. ok is false if it
// has none.
func (r *combiner) position(i int, a answer) (s hookDecision, ok bool) {
	name, source := short(a.hook.Command), settingsFile(a.hook)
	switch {
	case a.cancelled:
		return hookDecision{policy.Deny, "the call was cancelled before all of its hooks had answered", "call again if it is still wanted"}, true
	case a.failure != "" && r.cfg.FailClosed:
		return hookDecision{policy.Deny, fmt.Sprintf("the hook %s %s, which refuses the call here (hooksFailClosed)", name, plain.Line(a.failure)),
			"ask the user to correct the hook in " + source}, true
	case a.failure != "" || !a.output.decided:
		return hookDecision{}, false
	}
	s = hookDecision{behavior: a.output.behavior, reason: r.shorten(i, "reason", a.output.reason)}
	verb := "allows"
	switch s.behavior {
	case policy.Deny:
		verb, s.next = "refuses", "do it another way, or ask the user to change the hook in "+source
	case policy.Ask:
		verb, s.next = "wants the user to approve", "the user can change the hook in "+source
	}
	if s.reason == "" {
		s.reason = fmt.Sprintf("the hook %s %s this call without giving a reason", name, verb)
	}
	return s, true
}

// decide sets the most severe decision, with the reasons of all hooks that made
// it.
func (r *combiner) decide(v *Verdict, answers []answer) {
	if r.event != PreToolUse {
		return
	}
	var reasons []string
	for i, a := range answers {
		s, ok := r.position(i, a)
		switch {
		case !ok || v.Decided && s.behavior > v.Behavior:
		case !v.Decided || s.behavior < v.Behavior:
			v.Decided, v.Behavior, v.By, v.Next = true, s.behavior, short(a.hook.Command), s.next
			reasons = []string{s.reason}
		case !slices.Contains(reasons, s.reason):
			reasons = append(reasons, s.reason)
		}
	}
	v.Reason = strings.Join(reasons, "\n")
}

// block collects the objections of hooks after the call.
func (r *combiner) block(v *Verdict, answers []answer) {
	var reasons []string
	for i, a := range answers {
		if !a.output.blocked {
			continue
		}
		name := short(a.hook.Command)
		if v.By == "" {
			v.By = name
		}
		reason := r.shorten(i, "block", a.output.reason)
		if reason == "" {
			reason = fmt.Sprintf("the hook %s objects to the result without giving a reason", name)
		}
		reasons = append(reasons, reason)
	}
	v.Block = strings.Join(reasons, "\n")
}

func settingsFile(h Hook) string {
	if h.Source == "" {
		return "the settings file"
	}
	return plain.Line(h.Source)
}
