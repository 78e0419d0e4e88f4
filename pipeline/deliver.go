package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"unicode/utf8"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/host"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// maxEvents is the limit of the events in an answer, in characters.
const maxEvents = 2000

// reportLost adds an event for a call that goes on as a task although its client has stopped
// waiting for the answer that names the task.
func (c *call) reportLost(ctx context.Context, resp *tools.Response) {
	if c.depth > 0 || resp == nil || resp.Did == nil || resp.Did.Task == "" || !errors.Is(context.Cause(ctx), tools.ErrGaveUp) {
		return
	}
	c.p.Events.Add(c.Session.View().Owner(), event.Event{
		Source: "task " + resp.Did.Task,
		Text:   fmt.Sprintf("The client stopped waiting for %s (%s). It goes on as task %s: TaskOutput shows its output, TaskStop ends it.", c.tool.Name, plain.Line(c.prepared.Summary), resp.Did.Task),
	})
}

// deliver adds the events of the session to the answer of a client's call, in a block of
// their own. A longer text is stored. The rest of the answer is as without events. A call
// that was cancelled gets no answer, so it takes no events.
func (c *call) deliver(ctx context.Context, resp *tools.Response) {
	if c.depth > 0 || c.Unattended || c.Unrun || resp == nil || ctx.Err() != nil {
		return
	}
	v, take := c.Session.View(), c.p.Events.Take
	switch {
	case resp.Collects:
		take = c.p.Events.Collect
	case v.Agent == "" && host.Of(v.Client).Shares:
		take = c.p.Events.Show
	}
	events, dropped := take(v.Owner())
	if len(events) == 0 {
		return
	}
	text := wrap(event.Text(events, dropped))
	if utf8.RuneCountInString(text) > maxEvents {
		path, err := c.p.Results.Save(v.Results, "Events", text)
		text = preview(text, maxEvents, tools.ExcerptHead, stored(path, err))
	}
	resp.Content = append(resp.Content, tools.Text{Text: text})
	if resp.Meta = maps.Clone(resp.Meta); resp.Meta == nil {
		resp.Meta = map[string]any{}
	}
	resp.Meta[event.Meta] = events
}
