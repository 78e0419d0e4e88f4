package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/event"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// ask is the stage that gets the user's answer if the decision is to ask, and
// refuses the call unless it is allowed.
func (c *call) ask(ctx context.Context) (err error) {
	c.record.decided, c.record.input = c.decision, c.prepared.Input()
	if c.decision.Behavior == policy.Ask {
		if c.decision, err = c.permit(ctx, c.decision); err != nil {
			return err
		}
		c.record.decided = c.decision
	}
	if c.decision.Behavior != policy.Allow {
		return refused(c.decision)
	}
	c.safe = c.prepared.Facts.ConcurrencySafe
	c.agreed = c.decision.Layer == policy.LayerApproval || c.decision.Layer == policy.LayerHook
	if c.p.Changing != nil && c.subject.Kind == "path" && c.access == policy.Edit {
		c.p.Changing(c.subject.Value)
	}
	return nil
}

// permit gets the user's answer to an ask decision. It tries an earlier
// approval of exactly this call, then the client's user, then an approval on
// this machine by number. The call runs with exactly the input that the user
// was shown.
func (c *call) permit(ctx context.Context, d policy.Decision) (policy.Decision, error) {
	r := c.prepared
	v, store := c.Session.View(), c.p.Approvals
	about := approval.Request{
		Principal: v.Principal, Client: v.Named(), Tool: c.tool.Name, As: c.prepared.As, Title: r.Summary, Dir: v.Dir, Root: v.Project(),
		Input: r.Input(), Reason: d.Reason, Subject: c.subject, Once: eachTime(d),
	}
	if !v.Forgets() {
		about.Session = v.ID
	}
	agreed := policy.Decision{Behavior: policy.Allow, Layer: policy.LayerApproval, Reason: "the user agreed"}
	if c.before.agreed != nil && reflect.DeepEqual(*c.before.agreed, about) {
		return agreed, nil // approved when the call was sent before
	}
	number := 0
	if store != nil && !c.Unattended {
		number = store.Take(about)
	}
	if number != 0 {
		c.p.Events.Retract(v.Owner(), approvalSource(number))
		c.before.agreed = &about
		c.agreeOnSite(about)
		c.agreeOnPublishing(about)
		return agreed, nil
	}
	shown, preview := about, tools.Preview{}
	shown.Answered = c.answered(about)
	if c.Ask != nil || c.numbered() {
		// The preview may change, so the approval does not cover it.
		preview = c.previewOf(ctx)
		shown.Preview, shown.Partial = preview.Text, preview.Partial
	}
	if c.Ask != nil {
		done := c.heldUp("the user to agree")
		reply, err := c.Ask(ctx, Question{
			Tool: c.tool.Name, Title: r.Summary, Subject: c.thing(), Part: c.askingPart(d), Dir: v.Dir, Input: r.Input(), Preview: preview, Reason: d.Reason, Opens: c.subject.Opens, Further: c.further(about), Always: c.always(about),
		})
		done()
		c.Session.SetUnseen(err == nil && reply.How == Unseen)
		switch {
		case err != nil:
			return d, c.keep(err)
		case !reply.Allow:
			return c.notPermitted(d, reply, shown)
		}
		if reply.Always && store != nil {
			if err := store.Remember(about); err != nil {
				c.Log.Warn("a permanent approval could not be stored", "error", err.Error())
			}
		}
		c.before.agreed = &about
		c.agreeOnSite(about)
		c.agreeOnPublishing(about)
		return agreed, nil
	}
	return c.pend(d, shown)
}

// thing returns what a call is about, for the user: a command, a path, an address, or "". It is never
// text that the model wrote about the call.
func (c *call) thing() string {
	switch c.subject.Kind {
	case "command", "path":
		return c.subject.Value
	case "site":
		var in struct{ URL string }
		_ = json.Unmarshal(c.prepared.Input(), &in)
		return cmp.Or(in.URL, c.subject.Value)
	}
	var in struct{ Code string }
	_ = json.Unmarshal(c.prepared.Input(), &in)
	return in.Code
}

// askingPart returns the parts of a command that need the approval, if others do not.
func (c *call) askingPart(d policy.Decision) string {
	parts := c.prepared.Parts(c.env)
	if parts == nil || len(parts.List) < 2 {
		return ""
	}
	each := c.set.Policy.ExplainParts(c.asked)
	var asking []string
	for _, i := range deciding(d, each, c.env.Session.Dir, c.p.Home) {
		asking = append(asking, each[i].Text)
	}
	return strings.Join(asking, "; ")
}

// answered returns the function that turns the user's answers outside of the client into events
// of the session.
func (c *call) answered(about approval.Request) func(int, approval.Answer, string) {
	owner, events := c.Session.View().Owner(), c.p.Events
	what := plain.Line(cmp.Or(about.Title, about.Tool))
	return func(n int, a approval.Answer, reason string) {
		text := map[approval.Answer]string{
			approval.Approved: "The user agreed to this call. Send exactly the same call again: " + what,
			approval.Always:   "The user agreed to this call, now and later. Send the same call again: " + what,
			approval.Denied:   "The user declined " + what,
			approval.Lifted:   "The user took back the decline of this. A call of it asks again: " + what,
		}[a]
		if reason != "" {
			text += " and wrote: " + strconv.Quote(plain.Text(reason))
		}
		events.Retract(owner, approvalSource(n))
		events.Add(owner, event.Event{Source: approvalSource(n), Text: text})
	}
}

// approvalSource returns the source of the events about an approval.
func approvalSource(n int) string { return fmt.Sprintf("approval %d", n) }

// further returns the text that describes what an approval also allows in the session, or ""
// if it allows nothing more. An approval of a call to a site allows all calls to it, because
// a page is often read in several calls, unless a rule or a hook asks each time.
func (c *call) further(about approval.Request) string {
	if c.p.Approvals == nil || about.Subject.Kind != "site" || about.Once != "" || about.Session == "" {
		return ""
	}
	return fmt.Sprintf("further %s to %s", approval.SiteCalls(c.tool.Name), about.Subject.Value)
}

// agreeOnSite records what the approval of a call to a site also allows.
func (c *call) agreeOnSite(about approval.Request) {
	if c.further(about) != "" {
		c.p.Approvals.Agree(about.Session, about.Tool, about.Subject)
	}
}

// eachTime returns why the user is asked about a call each time, as a clause. It returns
// "" if the user may always allow the call.
func eachTime(d policy.Decision) string {
	switch {
	case d.Open || d.Layer == policy.LayerClassifier:
		return ""
	case d.Layer == policy.LayerRule:
		return "a rule asks each time"
	case d.Layer == policy.LayerHook:
		return "a hook asks each time"
	case d.Layer == policy.LayerSandbox:
		return "a command outside of the sandbox is asked about each time"
	case d.Layer == policy.LayerDefault:
		return "what it does is only known when it runs"
	}
	return "it is asked about each time"
}

// numbered reports whether the user can approve calls outside of the client, by
// number.
func (c *call) numbered() bool { return c.p.Approvals != nil && c.p.Pending && !c.Unattended }

// pend refuses the call with the number by which the user can approve it
// outside of the client. If that is not offered, it returns d unchanged.
func (c *call) pend(d policy.Decision, about approval.Request) (policy.Decision, error) {
	if !c.numbered() {
		return d, nil
	}
	number, err := c.p.Approvals.Pend(about)
	if err != nil {
		return d, fault(approval.UnavailableText(err), d)
	}
	return d, fault(approval.PendingText(number, c.tool.Name), d)
}

// always returns the text that describes what "always" also allows, or "" if it
// allows nothing more.
func (c *call) always(about approval.Request) string {
	if about.Once != "" || c.p.Approvals == nil || about.Root == "" || about.Subject.Value == "" {
		return ""
	}
	switch about.Subject.Kind {
	case "command":
		text := fmt.Sprintf("exactly this command in the folder %s, in this workspace: %s", about.Subject.Dir, about.Subject.Value)
		if about.Subject.Opens != "" {
			text += "; and for it " + about.Subject.Opens
		}
		return text
	case "path":
		return fmt.Sprintf("future %s %s in this workspace", map[string]string{"Read": "reads of", "Edit": "changes to"}[about.Subject.Access], about.Subject.Value)
	case "site":
		return fmt.Sprintf("future %s to %s in this workspace", approval.SiteCalls(c.tool.Name), about.Subject.Value)
	default:
		return "future calls of " + c.tool.Name + " with exactly this input in this workspace"
	}
}

// notPermitted returns the decision on a call that the client's user did not
// approve. A decline is remembered and final. Any other reply counts as no
// answer, because hosts without a user cancel every question at once. The user
// can then approve the call outside of the client.
func (c *call) notPermitted(d policy.Decision, reply Reply, about approval.Request) (policy.Decision, error) {
	if reply.How == Declined {
		if c.p.Approvals != nil && about.Session != "" {
			for _, name := range c.names() {
				c.p.Approvals.Decline(about.Session, name, about.Subject, about.Answered)
			}
		}
		return c.asked.Refused(), nil
	}
	if reply.How == Unseen {
		d.Reason += "; the client answered for the user"
	}
	if d, err := c.pend(d, about); err != nil {
		return d, err
	}
	said := map[string]string{
		Unseen: "the user was not asked", Cancelled: "the question to the user was cancelled without an answer", TimedOut: "the user did not answer in time",
	}[reply.How]
	if said == "" {
		said = "the client gave no answer"
	}
	return policy.Decision{Behavior: policy.Deny, Layer: policy.LayerApproval, Reason: d.Reason + "; " + said, Next: d.Next}, nil
}

// fault returns the refusal of a call that waits for an approval.
func fault(f *tools.Fault, d policy.Decision) *refusal {
	next := f.Next
	if d.Alternative != "" {
		next = sentence(d.Alternative) + " For this path: " + strings.ToLower(next[:1]) + next[1:]
	}
	return &refusal{stageRefused, d.Reason + "; " + f.Fact, next}
}
