package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"mcp-toolset/internal/host"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/internal/record/journal"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// record collects facts about a call for the audit log.
type record struct {
	began    time.Time
	parent   string          // id of the outer call
	input    json.RawMessage // as it runs, or as the client sent it
	decided  policy.Decision
	original string   // the text that a hook replaced
	hooks    []string // what the hooks decided, changed or failed at
	stage    string   // stage of the refusal; "" if not refused
	fact     string
	written  bool // writing to the audit log was tried
}

// finish is the last stage. It turns an error into an answer, has a long result
// summarized, adds the notes of hooks, reduces the answer to the tool's limit,
// and writes the call to the audit log. If AuditRequired is set and the log fails, a refusal replaces the
// answer. The only error it returns is an *InputRequired.
func (c *call) finish(ctx context.Context, resp *tools.Response, err error) (*tools.Response, error) {
	if c.end != nil {
		c.end()
	}
	var needed *InputRequired
	switch {
	case errors.As(err, &needed):
		return c.logged(ctx, nil, needed), needed
	case err != nil:
		resp = c.refuse(toRefusal(ctx, err))
	}
	c.summarize(ctx, resp)
	if resp != nil {
		for _, note := range c.notes {
			resp.Content = append(resp.Content, tools.Text{Text: note})
		}
	}
	c.p.limit(c.tool, c.Session.View(), resp)
	if resp != nil && c.prepared != nil {
		c.prepared.AddNotes(resp)
	}
	c.applies(resp)
	c.placed(resp)
	c.notice(resp)
	resp = c.logged(ctx, resp, nil)
	c.sum(resp, err)
	c.remember(resp)
	c.reportLost(ctx, resp)
	c.deliver(ctx, resp)
	return resp, nil
}

// logged writes the call to the audit log and returns the answer, or a refusal
// in its place. err is nil or an *InputRequired.
func (c *call) logged(ctx context.Context, resp *tools.Response, err error) *tools.Response {
	if c.p.Audit == nil || c.record.written {
		return resp
	}
	if failed := c.p.Audit(context.WithoutCancel(ctx), c.entry(resp, err)); failed != nil {
		c.p.unlogged.Store(true)
		if c.p.AuditRequired && !pending(err) {
			return c.refuse(&refusal{
				"failed", "what became of the call cannot be written to the audit log, so its result is not shown: " + failed.Error(),
				"Do not repeat the call; ask the user to look at the audit log.",
			})
		}
	}
	return resp
}

// notice adds Config.Notice to the first result of a session. Calls without a
// session share one notice. It is added after the limit applies, so it is never
// truncated.
func (c *call) notice(resp *tools.Response) {
	if resp == nil || c.depth > 0 {
		return
	}
	if b := c.p.bulletin.Load(); b.text != "" {
		first := false
		if c.Session.View().Forgets() {
			first = c.p.posted.Swap(b.number) < b.number
		} else {
			first = c.Session.Posted(b.number)
		}
		if first {
			resp.Content = append(resp.Content, tools.Text{Text: b.text})
		}
	}
	if c.p.Notice == "" {
		return
	}
	first := false
	if c.Session.View().Forgets() {
		first = !c.p.noticed.Swap(true)
	} else {
		first = c.Session.Notice()
	}
	if first {
		resp.Content = append(resp.Content, tools.Text{Text: c.p.Notice})
	}
}

// placed adds a note on where the session is, if it has moved, to the answer of a call that depends
// on it: another agent of the client may have moved it.
func (c *call) placed(resp *tools.Response) {
	if c.env == nil || c.depth > 0 || resp == nil || !c.env.Placed && (c.prepared == nil || c.prepared.Parts(c.env) == nil) {
		return
	}
	v := c.env.Session
	if h := host.Of(v.Client); v.Agent != "" || h.Name != "" && !h.Shares {
		return
	}
	if dir := resp.Effect.Dir; dir != "" && !v.Forgets() {
		v.Dir = dir // the call changes it
	}
	if where := v.Place(); where != "" {
		resp.Content = append(resp.Content, tools.Text{Text: "[" + plain.Line(where) + "]"})
	}
}

// applies adds the note of Config.Applies to the result of a call on a file.
func (c *call) applies(resp *tools.Response) {
	if c.p.Applies == nil || resp == nil || resp.Failed || c.prepared == nil || c.prepared.Path == "" {
		return
	}
	if note := c.p.Applies(c.Session.View(), c.tool.Name, c.prepared.Path); note != "" {
		resp.Content = append(resp.Content, tools.Text{Text: note})
	}
}

// remember adds the call to the journal of its session. Invalid calls and those that are only decided
// are left out.
func (c *call) remember(resp *tools.Response) {
	if c.prepared == nil || c.record.stage == stageInvalid || c.Unrun {
		return
	}
	e := journal.Entry{
		Time: c.record.began, Tool: c.tool.Name, Title: c.prepared.Summary, Path: c.prepared.Path, ReadOnly: c.prepared.Facts.ReadOnly,
		Outcome: outcomes[c.record.stage], Reason: c.record.fact,
		Agreed: c.record.decided.Behavior == policy.Allow && c.record.decided.Layer == policy.LayerApproval && !c.asked.Always,
	}
	if resp != nil {
		if resp.Failed && e.Outcome == audit.OK {
			e.Outcome = audit.Failed
		}
		if resp.Did != nil {
			e.Did = *resp.Did
		}
	}
	c.p.Journal.Add(c.Session.View().Owner(), e)
}

// entry returns the call's entry for the audit log.
func (c *call) entry(resp *tools.Response, err error) audit.Entry {
	v, d := c.Session.View(), c.record.decided
	e := audit.Entry{
		Time: c.p.Now(), Call: c.ID, Parent: cmp.Or(c.record.parent, v.Parent), Session: c.p.instance(v.ID), Agent: v.Agent, Principal: v.Principal, User: v.User, Tool: c.tool.Name,
		Input: c.record.input, Original: c.record.original, Hooks: c.record.hooks,
		DurationMS: float64(c.p.Now().Sub(c.record.began)) / float64(time.Millisecond), Outcome: outcomes[c.record.stage], Error: c.record.fact,
	}
	if d.Reason != "" {
		e.Decision = audit.Decision{Behavior: d.Behavior.String(), Layer: d.Layer, Rule: d.Rule, Source: d.Source, Line: d.Line, Reason: d.Reason}
	}
	if resp != nil {
		e.Bytes = len(joinText(resp.Content))
		if resp.Failed && c.record.stage == "" {
			e.Outcome = audit.Failed
		} else if c.Unrun && e.Outcome == audit.OK {
			e.Outcome = audit.Permitted
		}
	}
	switch {
	case pending(err):
		e.Outcome, e.Error = audit.Asked, err.Error() // the call continues with another request
	case err != nil && e.Error == "":
		e.Outcome, e.Error = audit.Failed, err.Error()
	}
	return e
}

// outcomes maps the stage of a refusal to the outcome in the audit log.
var outcomes = map[string]string{
	"": audit.OK, stageInvalid: audit.Invalid, stageRefused: audit.Refused, "cancelled": audit.Cancelled, "failed": audit.Failed,
}

// loggable is the stage that refuses a call if AuditRequired is set and the audit
// log is not ready or an earlier write has failed. It tries to write the
// refused call; if that succeeds, later calls are accepted again.
func (c *call) loggable(ctx context.Context) error {
	if !c.p.AuditRequired || c.p.Audit == nil {
		return nil
	}
	ready := c.p.AuditReady == nil || c.p.AuditReady(context.WithoutCancel(ctx)) == nil
	if ready && !c.p.unlogged.Load() {
		return nil
	}
	why := &refusal{stageRefused, "the audit log could not be written, and no call is done without", "Ask the user to look at the audit log, then send this call again."}
	c.refuse(why)
	c.record.written = true
	if c.p.Audit(ctx, c.entry(nil, nil)) == nil && ready {
		c.p.unlogged.Store(false)
	}
	return why
}

// instance returns a session id that is unique among several servers.
func (p *Pipeline) instance(id string) string {
	if p.Instance == "" {
		return id
	}
	return p.Instance + "-" + id
}

// Refused writes a call to the audit log that did not reach Run, because it was
// malformed or its lane had no room.
func (p *Pipeline) Refused(ctx context.Context, r Request, err error) { p.auditUnknown(ctx, r, err) }

// auditUnknown writes a call of an unknown or removed tool to the audit log.
func (p *Pipeline) auditUnknown(ctx context.Context, r Request, err error) {
	if p.Audit == nil {
		return
	}
	outcome := audit.Invalid
	if unknown := (*tools.UnknownTool)(nil); errors.As(err, &unknown) && unknown.Absent != nil {
		outcome = audit.Refused
	}
	v := r.Session.View()
	if failed := p.Audit(context.WithoutCancel(ctx), audit.Entry{
		Time: p.Now(), Call: r.ID, Parent: v.Parent, Session: p.instance(v.ID), Agent: v.Agent, Principal: v.Principal, User: v.User, Tool: r.Tool, Input: r.Arguments, Outcome: outcome, Error: fmt.Sprint(err),
	}); failed != nil {
		p.unlogged.Store(true)
	}
}
