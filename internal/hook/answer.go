package hook

import (
	"bytes"
	"context"
	"fmt"

	"mcp-toolset/internal/plain"
	"mcp-toolset/policy"
)

// blocks is the exit code by which a hook objects, with its standard error as
// the reason.
const blocks = 2

// maxSaid is how much is looked at of what a failed hook printed, in bytes, of
// which one line is shown.
const maxSaid = 4 << 10

// answer is what came of one hook: what it said, or why it said nothing.
type answer struct {
	hook      policy.Hook
	output    output
	failure   string // in words that follow the command; "": it did not fail
	cancelled bool   // the call ended before the hook; it has not failed
}

// ask runs one hook and reads its answer.
func (r *Runner) ask(ctx context.Context, event policy.Event, h policy.Hook, dir string, line []byte) answer {
	a := answer{hook: h}
	e := r.execute(ctx, h, dir, line)
	switch {
	case e.err != nil:
		a.failure = "could not be started: " + e.err.Error()
	case e.cancelled:
		a.cancelled = true
	case e.late:
		a.failure = fmt.Sprintf("did not end within %v", h.Timeout)
	case e.code == 0:
		a.output, a.failure = r.read(event, h, e.stdout)
	case e.code == blocks:
		a.output.object(event, string(e.stderr.bytes()))
	default:
		a.failure = "ended with " + e.state
		if said := bytes.TrimSpace(e.stderr.bytes()); len(said) > 0 {
			a.failure += ": " + string(said[:min(len(said), maxSaid)])
		}
	}
	return a
}

// read reads what a hook printed that ended well.
func (r *Runner) read(event policy.Event, h policy.Hook, stdout *capture) (output, string) {
	text := bytes.TrimSpace(stdout.bytes())
	if !bytes.HasPrefix(text, []byte("{")) {
		if len(text) > 0 {
			r.log.Debug("a hook printed what is not JSON", "hook", short(h.Command), "event", string(event), "output", plain.Line(string(text[:min(len(text), maxSaid)])))
		}
		return output{}, ""
	}
	if stdout.wasCut() {
		return output{}, fmt.Sprintf("printed more JSON than the %d bytes that are read", maxOutput)
	}
	out, err := parseOutput(event, text)
	if err != nil {
		return output{}, "printed JSON that cannot be used: " + err.Error()
	}
	for _, key := range out.ignored {
		r.log.Warn("a hook said something that has no effect here", "hook", short(h.Command), "event", string(event), "key", plain.Line(key))
	}
	if out.message != "" {
		r.log.Info("a hook has a message", "hook", short(h.Command), "event", string(event), "message", plain.Line(out.message))
	}
	return out, ""
}
