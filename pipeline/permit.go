package pipeline

import (
	"context"
	"fmt"
	"reflect"

	"mcp-toolset/internal/approval"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// permit has a person decide on a call that the policy asks about: one who has
// already agreed to exactly this, the client's user, or somebody at this
// machine, who is given a number. What they are shown is what runs.
func (c *call) permit(ctx context.Context, r *tools.Resolved, d policy.Decision) (policy.Decision, error) {
	v, store := c.Session.View(), c.p.Approvals
	about := approval.Request{
		Principal: v.Principal, Tool: c.tool.Name, Title: r.Summary, Dir: v.Dir, Root: firstRoot(v),
		Input: r.Input(), Reason: d.Reason, Opens: grantLines(c.grants), Subject: c.subject, Once: !d.Open && d.Layer != policy.LayerClassifier,
	}
	if !v.Stateless {
		about.Session = v.ID
	}
	agreed := policy.Decision{Behavior: policy.Allow, Layer: policy.LayerApproval, Reason: "a person agreed"}
	if c.before.agreed != nil && reflect.DeepEqual(*c.before.agreed, about) {
		return agreed, nil // when the call was sent before
	}
	if store != nil && store.Take(about) {
		c.before.agreed = &about
		return agreed, nil
	}
	if c.Ask != nil {
		done := c.heldUp("a person to agree")
		reply, err := c.Ask(ctx, Question{
			Tool: c.tool.Name, Title: r.Summary, Dir: v.Dir, Input: r.Input(), Reason: d.Reason, Opens: about.Opens, Always: c.always(about),
		})
		done()
		switch {
		case err != nil:
			return d, c.keep(err)
		case !reply.Allow:
			return c.notPermitted(d, reply, about), nil
		}
		if reply.Always && store != nil {
			if err := store.Remember(about); err != nil {
				c.Log.Warn("what is always allowed could not be stored", "error", err.Error())
			}
		}
		c.before.agreed = &about
		return agreed, nil
	}
	if store == nil || !c.p.Pending {
		return d, nil
	}
	number, err := store.Pend(about)
	if err != nil {
		return d, fault(approval.UnavailableText(err), d)
	}
	return d, fault(approval.PendingText(number), d)
}

// always is what the client's user is told would be allowed for good, "" if
// nothing can be.
func (c *call) always(about approval.Request) string {
	if about.Once || c.p.Approvals == nil || about.Root == "" || about.Subject.Value == "" {
		return ""
	}
	switch about.Subject.Kind {
	case "command":
		return fmt.Sprintf("this command in %s, exactly as it is written: %s", about.Subject.Dir, about.Subject.Value)
	case "path":
		return fmt.Sprintf("%s of %s", map[string]string{"Read": "reading", "Edit": "changing"}[about.Subject.Access], about.Subject.Value)
	default:
		return c.tool.Name + " with exactly this input"
	}
}

// notPermitted is the decision when the client's user did not agree. Only a no
// is remembered.
func (c *call) notPermitted(d policy.Decision, reply Reply, about approval.Request) policy.Decision {
	if reply.How == Declined && c.p.Approvals != nil && about.Session != "" {
		c.p.Approvals.Decline(about.Session, c.tool.Name, about.Subject)
	}
	said := map[string]string{
		Declined: "the person who was asked declined", Cancelled: "the person who was asked did not decide",
		TimedOut: "the person who was asked did not answer in time",
	}[reply.How]
	if said == "" {
		said = "the client gave no answer"
	}
	return policy.Decision{Behavior: policy.Deny, Layer: policy.LayerApproval, Reason: d.Reason + "; " + said, Next: d.Next}
}

// fault is the refusal of a call that has to wait for a person.
func fault(f *tools.Fault, d policy.Decision) *refusal {
	return &refusal{stageRefused, d.Reason + "; " + f.Fact, f.Next}
}
