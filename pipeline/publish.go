package pipeline

import (
	"slices"

	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/policy"
)

// Commands that publish something are asked about once in a session for each kind, which is
// the program with its subcommand, such as git push, whatever the remote or the text.

// published returns the subject of the user's agreement to a kind.
func published(kind string) approval.Subject {
	return approval.Subject{Kind: "publish", Value: kind}
}

// publishing returns the parts with a risk for each that publishes something, unless the user
// has agreed to its kind in the session.
func (c *call) publishing(parts []policy.Part) []policy.Part {
	v, list := c.Session.View(), slices.Clone(parts)
	for i := range list {
		p := &list[i]
		if p.Publishes == "" || p.Risk != "" || c.p.Approvals != nil && slices.ContainsFunc(c.names(), func(name string) bool { return c.p.Approvals.Agreed(v.ID, name, published(p.Publishes)) }) {
			continue
		}
		p.Risk = "it publishes something"
		if c.p.Approvals != nil && !v.Forgets() {
			p.Risk += "; agreeing holds for each " + p.Publishes + " of this session"
		}
	}
	return list
}

// agreeOnPublishing records the kinds that the user agreed to with a command.
func (c *call) agreeOnPublishing(about approval.Request) {
	if c.p.Approvals == nil || c.asked.Parts == nil {
		return
	}
	for _, p := range c.asked.Parts.List {
		if p.Publishes != "" {
			c.p.Approvals.Agree(about.Session, about.Tool, published(p.Publishes))
		}
	}
}
