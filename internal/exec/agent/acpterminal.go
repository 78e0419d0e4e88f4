package agent

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"

	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/fault"
)

// CreateTerminal starts a command with a call of Bash, as a background task.
func (h *host) CreateTerminal(ctx context.Context, p acp.CreateTerminalRequest) (out acp.CreateTerminalResponse, err error) {
	ctx, done, err := h.enter(ctx)
	if err != nil {
		return out, err
	}
	defer done(&err)
	command := p.Command // without arguments, programs give a text for the shell
	if len(p.Args) > 0 {
		words := []any{p.Command}
		for _, a := range p.Args {
			words = append(words, a)
		}
		command = quoteWords(words)
	}
	for _, v := range slices.Backward(p.Env) {
		if quoteWord(v.Name) != v.Name || strings.ContainsAny(v.Name, "-./:,@+") {
			return out, problem("a variable has an invalid name")
		}
		command = v.Name + "=" + quoteWord(v.Value) + " " + command
	}
	if p.Cwd != nil && *p.Cwd != "" && *p.Cwd != h.r.a.session.View().Dir {
		command = "cd " + quoteWord(*p.Cwd) + " && " + command
	}
	resp, err := h.call(ctx, "Bash", map[string]any{"command": command, "run_in_background": true}, false)
	if err != nil {
		return out, err
	}
	tasks := h.r.a.r.Tasks
	if resp.Did == nil || resp.Did.Task == "" {
		return out, problem("the command did not start")
	}
	t, ok := tasks.Get(h.r.a.owner, resp.Did.Task)
	if !ok {
		return out, problem("the command is not there any more")
	}
	tasks.Seen(t)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.quiet[t.Source()] = true // it may have ended before it was seen
	c := console{t, maxTerminalOutput}
	if p.OutputByteLimit != nil {
		c.most = max(0, min(c.most, *p.OutputByteLimit))
	}
	h.terminals[t.ID] = c
	out.TerminalId = t.ID
	return out, nil
}

// console is a terminal of a program: a command of which it gets the end of the output.
type console struct {
	*task.Task
	most int // bytes
}

// terminal returns a terminal of the program.
func (h *host) terminal(id string) (console, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t, ok := h.terminals[id]; ok {
		return t, nil
	}
	return console{}, problem("there is no such terminal")
}

// TerminalOutput returns the output of a command so far.
func (h *host) TerminalOutput(_ context.Context, p acp.TerminalOutputRequest) (out acp.TerminalOutputResponse, err error) {
	t, err := h.terminal(p.TerminalId)
	if err != nil {
		return out, err
	}
	v, err := t.Output().View(t.most)
	if err != nil {
		return out, problem(oneLine(err))
	}
	out.Output = v.Head
	if v.Tail != "" {
		out.Output, out.Truncated = v.Tail, true
	}
	if over := len(out.Output) - t.most; over > 0 {
		out.Output, out.Truncated = strings.ToValidUTF8(out.Output[over:], ""), true
	}
	select {
	case <-t.Done():
		code, signal := exitOf(t.Task)
		out.ExitStatus = &acp.TerminalExitStatus{ExitCode: code, Signal: signal}
	default:
	}
	return out, nil
}

// exitOf returns how a command has ended: its exit code, or why it has none.
func exitOf(t *task.Task) (code *int, signal *string) {
	s := t.Status()
	if s.Exited {
		return &s.Code, nil
	}
	return nil, &s.Detail
}

// WaitForTerminalExit waits for the end of a command.
func (h *host) WaitForTerminalExit(ctx context.Context, p acp.WaitForTerminalExitRequest) (out acp.WaitForTerminalExitResponse, err error) {
	ctx, done, err := h.enter(ctx)
	if err != nil {
		return out, err
	}
	defer done(&err)
	t, err := h.terminal(p.TerminalId)
	if err != nil {
		return out, err
	}
	select {
	case <-t.Done():
		out.ExitCode, out.Signal = exitOf(t.Task)
		return out, nil
	case <-ctx.Done():
		return out, acp.NewRequestCancelled(nil)
	}
}

// KillTerminal ends a command.
func (h *host) KillTerminal(_ context.Context, p acp.KillTerminalRequest) (out acp.KillTerminalResponse, err error) {
	t, err := h.terminal(p.TerminalId)
	if err == nil {
		err = stopTask(t.Task)
	}
	return out, err
}

// ReleaseTerminal ends a command, which the program does not name any more.
func (h *host) ReleaseTerminal(_ context.Context, p acp.ReleaseTerminalRequest) (out acp.ReleaseTerminalResponse, err error) {
	t, err := h.terminal(p.TerminalId)
	if err == nil {
		err = stopTask(t.Task)
	}
	h.mu.Lock()
	delete(h.terminals, p.TerminalId)
	h.mu.Unlock()
	return out, err
}

func stopTask(t *task.Task) error {
	if err := t.Stop("its agent"); err != nil {
		var f *fault.Fault
		if errors.As(err, &f) {
			return problem(f.Fact)
		}
		return problem(oneLine(err))
	}
	return nil
}
