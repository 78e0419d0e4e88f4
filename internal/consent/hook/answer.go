package hook

import (
	"bytes"
	"context"
	"fmt"

	"mcp-toolset/internal/text/plain"
)

// blocks is the exit code with which a hook objects. Its standard error is then
// the reason.
const blocks = 2

// maxFailedOutput is the limit of a failed hook's output that is used, in bytes. One
// line of it is shown.
const maxFailedOutput = 4 << 10

// answer is the outcome of one hook: its output, or the reason why it has none.
type answer struct {
	hook      Hook
	output    output
	failure   string // a phrase that follows the command; "" if the hook did not fail
	cancelled bool   // the call ended before the hook, which is no failure
}

// ask runs one hook and reads its answer.
func (r *Runner) ask(ctx context.Context, event Event, h Hook, dir string, line []byte) answer {
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
			a.failure += ": " + string(said[:min(len(said), maxFailedOutput)])
		}
	}
	return a
}

// read parses the standard output of a hook that succeeded. The string it
// returns is the failure, or "".
func (r *Runner) read(event Event, h Hook, stdout *capture) (output, string) {
	text := bytes.TrimSpace(stdout.bytes())
	if !bytes.HasPrefix(text, []byte("{")) {
		if len(text) > 0 {
			r.log.Debug("the output of a hook is not JSON", "hook", short(h.Command), "event", string(event), "output", plain.Line(string(text[:min(len(text), maxFailedOutput)])))
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
		r.log.Warn("a hook returned a key that has no effect here", "hook", short(h.Command), "event", string(event), "key", plain.Line(key))
	}
	if out.message != "" {
		r.log.Info("a hook has a message", "hook", short(h.Command), "event", string(event), "message", plain.Line(out.message))
	}
	return out, ""
}
