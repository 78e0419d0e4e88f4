package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"mcp-toolset/concurrency"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// outcome holds the response and effects of an execution.
type outcome struct {
	resp    *tools.Response
	effects []session.Effect
	private bool // only for the session that made the call
}

// execute is the stage that runs the tool and the hooks after it. The outcome's effects count
// even if execute returns an error.
func (c *call) execute(ctx context.Context) (out outcome, err error) {
	done, err := c.afford(ctx)
	if err != nil {
		return out, err
	}
	if c.tool.Interrupt == tools.Finish {
		ctx = context.WithoutCancel(ctx)
	}
	c.env.Call = func(ctx context.Context, tool string, args json.RawMessage) (*tools.Response, error) {
		return c.nested(ctx, tool, args, &out.effects)
	}
	ended, err := c.recordChanges(ctx)
	if err != nil {
		done()
		return out, err
	}
	defer ended() // after the hooks
	began := c.p.Now()
	resp, err := func() (*tools.Response, error) {
		defer done()
		return c.prepared.Run(ctx, c.env)
	}()
	if pending(err) { // the call will run again from the start, with the answer
		return outcome{private: c.private.Load()}, err
	}
	var recorded *tools.Recorded
	if errors.As(err, &recorded) {
		out.effects = append(out.effects, recorded.Effect)
	}
	c.runAfter(ctx, resp, err, c.p.Now().Sub(began))
	if resp != nil {
		resp.HookFields = nil // it holds whole files
		if resp.Private {
			c.private.Store(true)
		}
	}
	if err != nil {
		return out, err
	}
	if !resp.Effect.IsZero() {
		out.effects = append(out.effects, resp.Effect)
	}
	out.resp, out.private = resp, c.private.Load()
	return out, nil
}

// recover turns a panic of the tool, at any stage, into an error of the call.
// The panic and its stack are logged but are not in the error.
func (c *call) recover(err *error) {
	if v := recover(); v != nil {
		*err = c.panicked(v)
	}
}

// panicked logs a panic of the tool and returns its refusal. Deferred functions
// must call it before they return, so that the stack is that of the panic.
func (c *call) panicked(v any) *refusal {
	stack := debug.Stack()
	if p, ok := v.(*concurrency.Panic); ok {
		v, stack = p.Value, p.Stack
	}
	c.Log.Error("a tool panicked", "tool", c.tool.Name, "panic", fmt.Sprint(v), "stack", string(stack))
	return &refusal{
		stage: "failed", fact: "the tool stopped on an internal error",
		next: "Try another way; the server's log has the details.",
	}
}

// applyEffects changes the session. The scheduler calls it in order of arrival.
func (c *call) applyEffects() {
	c.apply(c.effects)
	c.effects = nil
}

func (c *call) apply(effects []session.Effect) {
	for _, e := range effects {
		c.Session.Apply(e)
	}
}
