package pipeline

import (
	"errors"
	"slices"
	"strings"

	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// openFor sets c.grants to the accesses that the sandbox must add if the call
// runs. If the call would fail in any case, openFor denies it, so that the user
// is not asked about it.
func (c *call) openFor(d policy.Decision) policy.Decision {
	c.grants = nil
	if d.Behavior == policy.Deny && !d.Open {
		return d
	}
	grants, err := c.prepared.Grants(c.env, d.Opens)
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

// checked reduces guessed grants from edit to read if the policy would not let
// the call change the file. Only guessed grants need this: the policy does not
// know of them.
func (c *call) checked(grants []tools.Grant, d policy.Decision) []tools.Grant {
	for i, g := range grants {
		if !g.Uncertain {
			continue
		}
		target := policy.Target{Literal: g.Path, Canonical: g.Path, Access: policy.Edit}
		edit := c.rules.CheckPath(c.tool.Name, c.hookNames(), target, c.asked.Dir, nil).Behavior
		if edit == policy.Deny || edit == policy.Ask && d.Behavior == policy.Allow {
			grants[i] = tools.Grant{Path: g.Path, Access: policy.Read}
		}
	}
	return grants
}

// opening describes the access that the call needs beyond the workspace. It is
// part of the approval's subject, so that an approval holds for exactly this
// access: a link may point elsewhere later.
func (c *call) opening(req policy.Request) string {
	grants, err := c.prepared.Grants(c.env, c.rules.Opens(req))
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

// mayChange reports whether a grant lets the call change path, a folder above
// it or a path below it.
func mayChange(grants []tools.Grant, path string) bool {
	return slices.ContainsFunc(grants, func(g tools.Grant) bool {
		return g.Access == policy.Edit && (g.Path == path || strings.HasPrefix(path, g.Path+"/") || strings.HasPrefix(g.Path, path+"/"))
	})
}
