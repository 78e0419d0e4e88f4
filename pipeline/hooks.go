package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// Hooks run twice for a call, both times in its place in the schedule: before
// the decision and after the execution.

// consult is the stage that runs the hooks before the call. Input that a hook
// has changed is parsed and prepared like input of a model, once.
func (c *call) consult(ctx context.Context) error {
	if c.before = c.resumed(); c.before == nil {
		done := c.heldUp("hooks")
		c.before = &before{input: c.prepared.Input()}
		c.before.verdict = c.runHooks(ctx, hook.PreToolUse, c.hookInput())
		done()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	v := c.before.verdict
	c.hear(v)
	if v.Decided {
		c.opinion = &policy.ExternalDecision{Behavior: v.Behavior, Reason: v.Reason, By: v.By, Next: v.Next}
	}
	if v.UpdatedInput == nil {
		return nil
	}
	var err error
	if c.parsed, err = c.tool.Parse(v.UpdatedInput); err == nil {
		c.prepared, err = c.parsed.Prepare(c.env)
	}
	if err != nil {
		bad := invalid(err)
		bad.fact = "a hook changed the input, and now: " + bad.fact
		bad.next = "Ask the user to correct the hook."
		return bad
	}
	return nil
}

// resumed returns the decisions made when the same call was sent before. It
// returns nil if there are none or the input differs.
func (c *call) resumed() *before {
	b, ok := c.Resumed.(*before)
	if !ok || b == nil || c.depth > 0 || string(b.input) != string(c.prepared.Input()) {
		return nil
	}
	return b
}

// hookedAfter reports whether any hooks run after the call.
func (c *call) hookedAfter() bool {
	for _, event := range []hook.Event{hook.PostToolUse, hook.PostToolUseFailure} {
		if len(c.set.Hooks.Matching(event, c.tool.Name, c.hookNames())) > 0 {
			return true
		}
	}
	return false
}

// runAfter runs the hooks after the execution, before the session gets the
// call's effects and before the next call. So the next call sees a file as a
// formatter left it.
func (c *call) runAfter(ctx context.Context, resp *tools.Response, err error, took time.Duration) {
	if !c.hookedAfter() || ctx.Err() != nil {
		return
	}
	in := c.hookInput()
	in.Duration = took
	event := hook.PostToolUse
	switch {
	case err != nil:
		event, in.Error = hook.PostToolUseFailure, toRefusal(ctx, err).Error()
	case resp.Failed:
		event, in.Error = hook.PostToolUseFailure, joinText(resp.Content)
	}
	var written []*session.Read
	if resp != nil {
		in.Response = responseFor(resp)
		written = stillWritten(c.env, resp.Effect)
	}
	v := c.runHooks(ctx, event, in)
	c.lookAgain(written)
	c.hear(v)
	if resp != nil && v.Replace != nil {
		c.record.original = joinText(resp.Content)
		text := string(v.Replace)
		if s := ""; json.Unmarshal(v.Replace, &s) == nil {
			text = s
		}
		resp.Content, resp.Structured, resp.Summary = []tools.Content{tools.Text{Text: text}}, nil, ""
		delete(resp.Meta, tools.MetaHunks)
	}
	if v.Block != "" {
		c.notes = append(c.notes, "A hook objects: "+v.Block)
	}
}

// hear records the notes, failures and changes that hooks returned, for the
// answer and the audit log.
func (c *call) hear(v hook.Verdict) {
	c.notes = append(c.notes, v.Context...)
	for _, f := range v.Failures {
		c.record.hooks = append(c.record.hooks, f.Command+" "+f.Reason)
		c.notes = append(c.notes, fmt.Sprintf("[The hook %s %s.]", f.Command, f.Reason))
	}
	switch {
	case v.Decided:
		c.record.hooks = append(c.record.hooks, fmt.Sprintf("%s: %s", v.By, v.Behavior))
	case v.Block != "":
		c.record.hooks = append(c.record.hooks, v.By+": block")
	}
	if v.UpdatedInput != nil {
		c.record.hooks = append(c.record.hooks, "the input was changed")
	}
	if v.Replace != nil {
		c.record.hooks = append(c.record.hooks, "the output was replaced")
	}
}

// runHooks runs the hooks that match the event and the tool.
func (c *call) runHooks(ctx context.Context, event hook.Event, in hook.Input) hook.Verdict {
	list := c.set.Hooks.Matching(event, c.tool.Name, c.hookNames())
	if len(list) == 0 {
		return hook.Verdict{}
	}
	return c.set.RunHooks(ctx, event, list, in)
}

func (c *call) hookInput() hook.Input {
	env := c.env
	return hook.Input{
		SessionID: c.p.instance(env.Session.ID), Dir: env.Session.Dir, PermissionMode: c.mode(env.Session),
		Tool: cmp.Or(c.prepared.As, c.tool.Name), ToolInput: c.prepared.Input(), ToolUseID: c.ID,
		Spill: func(name, text string) (string, error) {
			c.private.Store(true)
			return c.p.Results.Save(env.Session.Results, name, text)
		},
	}
}

// responseFor returns a response in the form that hooks get: the tool's output
// as JSON, or its text if it has no such output.
func responseFor(resp *tools.Response) json.RawMessage {
	if data, ok := resp.HookResponse(); ok {
		return data
	}
	data, err := json.Marshal(map[string]string{"text": plain.Text(joinText(resp.Content))})
	if err != nil {
		return nil
	}
	return data
}

// mode returns the permission mode of a call for hooks.
func (c *call) mode(v session.View) string {
	if v.Planning {
		return string(policy.ModePlan)
	}
	return string(c.rules.Mode())
}
