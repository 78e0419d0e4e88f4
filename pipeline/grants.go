package pipeline

import (
	"errors"
	"slices"
	"strings"

	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// openFor finds what the containment has to be opened for if the call runs. A
// call that would fail all the same is denied: nobody is asked about it.
func (c *call) openFor(r *tools.Resolved, env *tools.Env, d policy.Decision) policy.Decision {
	c.grants = nil
	if d.Behavior == policy.Deny && !d.Open {
		return d
	}
	grants, err := r.Grants(env, d.Opens)
	var fault *tools.Fault
	switch {
	case errors.As(err, &fault):
		next := strings.TrimSuffix(fault.Next, ".")
		return policy.Decision{Layer: policy.LayerSandbox, Reason: fault.Fact, Next: next}
	case err != nil:
		return policy.Decision{Layer: policy.LayerSandbox, Reason: err.Error(), Next: "try again"}
	}
	c.grants = c.checked(grants, d)
	return d
}

// checked takes the right to change a file back where that is a guess, of which the
// policy does not know, and the policy would not let the call change it.
func (c *call) checked(grants []tools.Grant, d policy.Decision) []tools.Grant {
	for i, g := range grants {
		if !g.Guess {
			continue
		}
		target := policy.Target{Literal: g.Path, Canonical: g.Path, Access: policy.Edit}
		edit := c.p.Policy.CheckPath(c.tool.Name, c.tool.Aliases, target, c.asked.Dir, nil).Behavior
		if edit == policy.Deny || edit == policy.Ask && d.Behavior == policy.Allow {
			grants[i] = tools.Grant{Path: g.Path, Access: policy.Read}
		}
	}
	return grants
}

// opening describes what the call needs beyond the workspace. What somebody said
// of a call holds for exactly that: a link may lead elsewhere later.
func (c *call) opening(r *tools.Resolved, env *tools.Env, req policy.Request) string {
	grants, err := r.Grants(env, c.p.Policy.Opens(req))
	if err != nil {
		return "" // the call is refused
	}
	c.asked = req
	grants = c.checked(grants, policy.Decision{Behavior: policy.Ask})
	shown := make([]string, len(grants))
	for i, g := range grants {
		shown[i] = g.String()
	}
	return strings.Join(shown, ", ")
}

// mayChange reports whether the call was granted changes of a path, or of what
// holds it.
func mayChange(grants []tools.Grant, path string) bool {
	return slices.ContainsFunc(grants, func(g tools.Grant) bool {
		return g.Access == policy.Edit && (g.Path == path || strings.HasPrefix(path, g.Path+"/") || strings.HasPrefix(g.Path, path+"/"))
	})
}
