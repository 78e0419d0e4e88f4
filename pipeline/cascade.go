package pipeline

import (
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// Cascade selects which calls of a burst a failed command cancels. The burst
// consists of the calls of its lane that arrived while it was waiting or
// running.
type Cascade uint8

const (
	CascadeCommands Cascade = iota // other commands
	CascadeAll                     // all calls
	CascadeOff                     // nothing
)

// BatchFailed is the cancellation cause of a call if a command of its burst
// failed.
type BatchFailed struct{ Command string }

func (b *BatchFailed) Error() string {
	return "an earlier command of this batch failed: " + plain.Line(b.Command)
}

// cascade cancels the burst of a command that failed. A refused, invalid or
// cancelled command does not count as failed.
func (c *call) cascade(resp *tools.Response) {
	if resp == nil || !resp.Failed || !c.tool.Cascades || c.p.Cascade == CascadeOff {
		return
	}
	c.Ticket.CancelBurst(func(kind string) bool {
		if c.p.Cascade == CascadeAll {
			return true
		}
		t, err := c.p.Registry.Lookup(kind)
		return err == nil && t.Cascades
	}, &BatchFailed{c.prepared.Summary})
}
