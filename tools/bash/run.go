package bash

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// call holds the state of one call.
type call struct {
	o           Options
	env         *tools.Env
	tool        string // tool name for texts
	command     string
	description string
	timeout     int // milliseconds; 0: the default
	background  bool
	readOnly    bool // of BashReadOnly
	unsandboxed bool // run outside the sandbox
	stdin       bool // open standard input
	tty         bool // a terminal
	judged      *judged
}

const (
	// grace is the time between the request to end and the kill of a command.
	grace = 500 * time.Millisecond
	// tick is the interval of progress reports to the client.
	tick = time.Second
)

func (c *call) run(ctx context.Context) (tools.Result[Output], error) {
	starting, end := tools.Outlast(ctx) // it may run already when the client gives up
	j, err := c.start(starting)
	end()
	if err != nil {
		return tools.Result[Output]{}, err
	}
	if c.background {
		return c.inBackground(j)
	}
	how, err := c.wait(ctx, j)
	if err != nil {
		return tools.Result[Output]{}, err
	}
	if how == moved {
		return c.moved(context.WithoutCancel(ctx), j) // the client may have given up
	}
	return c.ended(j)
}

// start starts the command.
func (c *call) start(ctx context.Context) (*job, error) {
	if c.judged == nil {
		return nil, errNoJudgement
	}
	spec, err := c.spec(ctx)
	if err != nil {
		return nil, err
	}
	j := &job{tool: c.tool, command: c.command, answers: c.judged.Analysis, grace: grace, left: c.unsandboxed}
	var answers <-chan []byte
	if c.tty {
		if j.screen, answers, err = c.terminal(ctx); err != nil {
			return nil, err
		}
		spec.Terminal = j.screen
	}
	if c.stdin || c.tty {
		if spec.Input, j.input, err = os.Pipe(); err != nil {
			return nil, c.startError(ctx, fmt.Errorf("making a pipe: %w", err))
		}
	}
	if j.Running, err = c.o.Commands.Start(ctx, spec); err != nil {
		_ = j.CloseInput()
		return nil, c.startError(ctx, err)
	}
	if c.tty {
		go j.reply(answers)
	}
	return j, nil
}

// spec returns the specification with which the command starts.
func (c *call) spec(ctx context.Context) (command.Spec, error) {
	s := command.Spec{
		Script: c.command, Dir: c.env.Session.Dir, Owner: OwnerOf(c.env.Session), User: c.env.Session.Principal, Workspace: WorkspaceOf(c.env.Session), Name: strings.ToLower(c.tool),
		ReadOnly: c.readOnly, Grace: grace,
	}
	if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
		return s, c.noFolder(err)
	}
	kept, err := c.env.Commands.RestrictedPaths(ctx)
	if err != nil {
		return s, err
	}
	s.Hide, s.Protect, s.Names = kept.Hidden, kept.Unchanged, kept.Names
	for _, g := range kept.Grants {
		s.Grants = append(s.Grants, command.Grant{Path: g.Path, Change: g.Access == policy.Edit, Create: g.Create, List: g.List})
	}
	if s.Uncontained = c.unsandboxed || !c.readOnly && !c.tty && c.judged.signals(); s.Uncontained {
		return s, nil
	}
	views := c.judged.views() && !c.unsandboxed
	if s.ReadOnly = s.ReadOnly || views; !c.judged.readOnly() || c.readOnly || views || !c.judged.ReadOnly {
		s.Proxy = c.serve
		if !c.readOnly {
			s.Git = c.judged.gitPlan
		}
		return s, nil
	}
	s.Script, s.Env, s.ReadOnly, s.Judged = c.judged.Script, c.judged.Env, true, true
	if len(c.judged.GitDirs) > 0 {
		s.Env, err = c.gitEnv(ctx, s)
	}
	return s, err
}

// WorkspaceOf returns the folders of a session that works in a git worktree, or nil.
func WorkspaceOf(v session.View) *command.Workspace {
	w := v.Worktree
	if w == nil {
		return nil
	}
	return &command.Workspace{Roots: v.Roots, Folder: w.Folder, Main: w.Main, Common: w.Common, Own: w.Own}
}

// EndSession ends the tasks of a session that has ended and deletes their output and the
// session's temporary folder. It does not wait. It calls ended once the tasks have ended.
func EndSession(o Options, v session.View, ended func()) {
	go func() {
		o.Tasks.Forget(v.Owner(), "the end of the session")
		ended()
		o.Commands.Forget(OwnerOf(v))
	}()
}

// OwnerOf returns the owner of the temporary folder that a command uses: its session.
func OwnerOf(v session.View) string {
	o := v.Owner()
	return o.Principal + "/" + o.Session
}

// noFolder returns the error for a working directory that does not exist any more. It
// moves the session back to its first root.
func (c *call) noFolder(err error) error {
	v := c.env.Session
	why := "is not a folder any more"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		why = "does not exist any more"
	case err != nil:
		why = "cannot be entered: " + plain.Line(errors.Unwrap(err).Error())
	}
	fact := plain.Line(v.Dir) + ", the working directory, " + why
	if v.Worktree != nil && v.Roots[0] == v.Dir {
		return &tools.Fault{Fact: fact, Next: "Call ExitWorktree with the action keep."}
	}
	if len(v.Roots) == 0 || v.Roots[0] == v.Dir {
		return &tools.Fault{Fact: fact, Next: "Create it again, or ask the user to start the server with another root."}
	}
	return &tools.Recorded{Effect: session.Effect{Dir: v.Roots[0]}, Err: &tools.Fault{
		Fact: fact, Next: "The working directory is " + plain.Line(v.Roots[0]) + " now; run the command again if that suits it.",
	}}
}

// startError returns the error for a command that could not be started.
func (c *call) startError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var many *tools.Fault
	if errors.As(err, &many) {
		return many
	}
	if f := fault.Descriptors("the command could not be started", err); f != nil {
		return f
	}
	if strings.Contains(err.Error(), "the state folder") {
		return &tools.Fault{
			Fact: "output cannot be stored: " + plain.Line(err.Error()),
			Next: "Ask the user to set MCP_TOOLSET_STATE_DIR to a folder that the server may write to, outside of the workspace.",
		}
	}
	if c.readOnly {
		return &tools.Fault{Fact: "the command could not be started: " + plain.Line(err.Error()), Next: "Use Bash, or ask the user to run mcp-toolset doctor."}
	}
	return &tools.Fault{Fact: "the command could not be started: " + plain.Line(err.Error()), Next: "Try again, or ask the user to run mcp-toolset doctor."}
}

// gitConfigTime is the timeout for git to list its settings.
const gitConfigTime = 10 * time.Second

// gitEnv returns an environment in which git runs no program that a repository names.
// It lists the filters of the repositories first, in the same sandbox as the command.
func (c *call) gitEnv(callCtx context.Context, s command.Spec) ([]string, error) {
	ctx, cancel := context.WithTimeout(callCtx, gitConfigTime)
	defer cancel()
	var probes []string
	for _, dir := range c.judged.GitDirs {
		s.Dir, s.Script, s.Name = dir, shellsafe.GitProbe, "git-config"
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue // git reports that itself
		}
		running, err := c.o.Commands.Start(ctx, s)
		if err != nil {
			return nil, c.startError(callCtx, err)
		}
		select {
		case <-running.Done():
		case <-ctx.Done():
			_ = running.End(command.Cancelled, 0)
		}
		result := running.Result()
		text, whole, err := running.Output.Content(1 << 20)
		_ = running.Output.Remove()
		switch {
		case callCtx.Err() != nil:
			return nil, context.Cause(callCtx)
		case result.EndReason != command.ByItself, result.Lost != nil, result.Signal != 0:
			return nil, &tools.Fault{Fact: "git did not list its settings, by which it may run programs", Next: "Try again; if that fails too, ask the user to check them with git config --list."}
		case err != nil:
			return nil, fmt.Errorf("reading the settings of git: %w", err)
		case !whole:
			return nil, &tools.Fault{Fact: "git has more settings here than can be looked through", Next: "Ask the user to check them with git config --list."}
		}
		probes = append(probes, string(text))
	}
	env, refuse := shellsafe.GitEnv(c.judged.Env, probes, c.env.Session.Roots)
	if refuse != "" {
		next := "Ask the user to look at the repository's settings with git config --list."
		if strings.Contains(refuse, "outside of the roots") {
			next = "Ask the user to add that folder as a root if it belongs to the repository."
		}
		return nil, &tools.Fault{Fact: plain.Line(refuse), Next: next}
	}
	return env, nil
}

// waitEnd describes the end of a wait.
type waitEnd int

const (
	done waitEnd = iota
	moved
)

// wait waits until a command ends or has to move to the background. If ctx ends, it
// discards the command and returns the cause, unless the client only gave up waiting.
func (c *call) wait(ctx context.Context, j *job) (waitEnd, error) {
	timeout := c.o.Default
	if c.timeout > 0 {
		timeout = time.Duration(c.timeout) * time.Millisecond
	}
	begun := time.Now()
	foreground := c.env.Foreground(c.o.Foreground)
	after := time.NewTimer(min(timeout, foreground))
	defer after.Stop()
	life := time.NewTicker(tick)
	defer life.Stop()
	for {
		select {
		case <-j.Done():
			return done, nil
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), tools.ErrGaveUp) {
				if shellsafe.LeadingSleep(c.command) {
					j.limitTo(max(0, timeout-time.Since(begun)), timeout)
				}
				return moved, nil
			}
			j.discard(command.Cancelled)
			return done, context.Cause(ctx)
		case <-life.C:
			// Progress is the time that has passed, since a command may print nothing
			// for a long time.
			c.env.Progress(tools.Progress{Done: time.Since(begun).Seconds(), Message: alive(j)})
		case <-after.C:
			switch {
			case !shellsafe.LeadingSleep(c.command):
			case timeout > foreground: // the timeout ends it in the background
				j.limitTo(timeout-foreground, timeout)
			default:
				j.limit = timeout
				if j.End(command.Timeout, grace) == nil {
					return done, nil
				}
			}
			return moved, nil
		}
	}
}

// alive returns the status of a running command for the user: its last line of output.
func alive(j *job) string {
	if line := plain.Line(j.Running.Output.LastLine()); line != "" {
		return line
	}
	if printed, _ := j.Running.Output.Bytes(); printed > 0 {
		return "running"
	}
	return "no output yet"
}
