package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"mcp-toolset/internal/assembly"
	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/record/metrics"
	"mcp-toolset/internal/record/peers"
	"mcp-toolset/internal/record/worklist"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
	"mcp-toolset/tools/builtin"
)

// app is a server built from the command line.
type app struct {
	*assembly.Assembly
	log     *slog.Logger
	logFile io.Closer
	figures *metrics.Source
	mode    policy.Mode
}

// deferral returns how tools are offered to a client that does not defer tools by itself.
func (a *app) deferral() tools.Deferral {
	return a.Registry.View(a.Server.Profile).Resolve(a.Registry.Deferral(), a.Server.Defers)
}

func (a *app) close() error { return errors.Join(a.Assembly.Close(), a.logFile.Close()) }

// build makes a server from the flags and the environment. Its only side effect is to open files,
// and to empty that of --output if c.runs is true.
func (c *common) build(host *Host, positional []string, drain time.Duration) (*app, error) {
	roots, err := c.workspaceDirs(host, positional)
	if err != nil {
		return nil, err
	}
	return c.buildFor(host, roots, drain)
}

// buildFor is build for given roots.
func (c *common) buildFor(host *Host, roots []string, drain time.Duration) (*app, error) {
	log, logFile, err := c.logger(host)
	if err != nil {
		return nil, err
	}
	plan, a, err := c.assemble(host, roots, drain, log)
	if err != nil {
		return nil, errors.Join(err, logFile.Close())
	}
	if a.Feed != nil {
		a.Feed.Describe = func(e pipeline.Explanation) string {
			var b bytes.Buffer
			describe(&b, e, screen{})
			return b.String()
		}
	}
	return &app{Assembly: a, log: log, logFile: logFile, mode: a.Mode, figures: &metrics.Source{Scheduler: a.Scheduler, Repeats: plan.Repeats, Now: time.Now, Servers: plan.LanguageServers}}, nil
}

// assemble makes a plan for roots, and the server of it.
func (c *common) assemble(host *Host, roots []string, drain time.Duration, log *slog.Logger) (*assembly.Plan, *assembly.Assembly, error) {
	features, err := parseFeatures(c.features, tools.Features(builtin.List(builtin.Options{})))
	if err != nil {
		return nil, nil, err
	}
	shell, err := c.findShell()
	if err != nil {
		return nil, nil, err
	}
	plan, err := c.planOf(host, roots, log)
	if err != nil {
		return nil, nil, err
	}
	plan.Drain, plan.Switches, plan.Shell = drain, features, shell
	if err := c.chooseProfile(plan); err != nil {
		return nil, nil, err
	}
	a, err := plan.Build(c.context())
	return plan, a, err
}

// chooseProfile sets the profiles of a plan. With --profile there is only this one, since another
// would offer more.
func (c *common) chooseProfile(plan *assembly.Plan) (err error) {
	list, issues := plan.FindProfiles()
	for _, issue := range issues {
		if !issue.Loaded {
			plan.Log.Warn("an agent file cannot be used: " + issue.String())
		}
	}
	if c.profile == "" {
		plan.Profiles = list
		return nil
	}
	if plan.Profile, err = assembly.PickProfile(list, c.profile); err != nil {
		return usageError{err}
	}
	return nil
}

// plan finds the settings of a server with these flags.
func (c *common) plan(host *Host, positional []string, log *slog.Logger) (*assembly.Plan, error) {
	roots, err := c.workspaceDirs(host, positional)
	if err != nil {
		return nil, err
	}
	return c.planOf(host, roots, log)
}

// planOf is plan for given roots.
func (c *common) planOf(host *Host, roots []string, log *slog.Logger) (*assembly.Plan, error) {
	o, err := c.options(host, log)
	if err != nil {
		return nil, err
	}
	if c.taskList != "" && !worklist.ValidName(c.taskList) {
		return nil, usagef("--task-list is %q; use %s", c.taskList, worklist.NameRule)
	}
	if c.sessionName != "" && !peers.ValidName(c.sessionName) {
		return nil, usagef("--session-name is %q; use %s", c.sessionName, peers.NameRule)
	}
	o.Roots = roots
	for i, dir := range o.Roots {
		o.Roots[i] = workspace.Expand(dir, host.Dir, host.Home)
	}
	o.Flags = c.configuration(host, o.Roots)
	plan := assembly.NewPlan(o)
	return plan, plan.Prepare()
}

// options returns the options that the flags set, except the roots.
func (c *common) options(host *Host, log *slog.Logger) (assembly.Options, error) {
	expand := func(path string) string { return workspace.Expand(path, host.Dir, host.Home) }
	o := assembly.Options{
		Carry:       c.carry,
		Environment: host.environment(), Version: version(), Log: log, Settings: expand(c.settings), Model: c.model,
		Mode: policy.Mode(c.mode), Preset: c.preset, Deferral: tools.Deferral(c.deferral), Sandbox: command.Mode(c.sandbox), Foreground: c.foreground,
		MaxConcurrency: c.maxConcurrency, Ordered: c.ordered, Channel: c.channel, Structured: c.structured, Approvals: c.approvals, Untried: c.untried, Runs: c.runs, Remote: c.remote,
		SessionName: c.sessionName, TaskList: c.taskList, RepeatReads: c.readDedup == "off", NoIndex: c.searchIndex == "off", Watch: c.searchWatch == "on",
	}
	for _, dir := range c.skills {
		o.Skills = append(o.Skills, expand(dir))
	}
	if c.trace != "" {
		o.Trace = expand(c.trace)
	}
	switch c.cascade {
	case "all":
		o.Cascade = pipeline.CascadeAll
	case "off":
		o.Cascade = pipeline.CascadeOff
	}
	for _, file := range c.closed {
		if file != "" {
			o.Closed = append(o.Closed, expand(file))
		}
	}
	if in := c.inherited; in != nil {
		o.Base, o.Own, o.Limits = []string{in.Base}, in.Own, in.Limits
	}
	var err error
	if o.Output, err = c.finalOutput(expand); err != nil {
		return o, err
	}
	if file := o.Output.File; file != "" {
		o.Closed = append(o.Closed, file, file+".new") // state.Replace writes the latter first
	}
	o.Audit, err = c.audit.config(host)
	return o, err
}

// findShell returns the absolute path of the shell that a flag names, or "".
func (c *common) findShell() (string, error) {
	if c.shell == "" {
		return "", nil
	}
	path, err := exec.LookPath(c.shell)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", usagef("--shell is %q: %v", c.shell, err)
	}
	return path, nil
}

// context returns the context of the command, which ends when the process is asked to stop.
func (c *common) context() context.Context {
	if c.ctx == nil {
		return context.Background()
	}
	return c.ctx
}

// parseFeatures returns the switches of the command line. A feature that no tool has is an error.
func parseFeatures(flags, known []string) (map[string]bool, error) {
	out := map[string]bool{}
	for _, f := range flags {
		name, value, _ := strings.Cut(f, "=")
		if name == "" || value != "on" && value != "off" {
			return nil, usagef("--feature is %q; use NAME=on or NAME=off", f)
		}
		if err := assembly.CheckFeature(name, known); err != nil {
			return nil, usageError{err}
		}
		out[name] = value == "on"
	}
	return out, nil
}

// digest returns the SHA-256 of the tools/list result in hexadecimal.
func (a *app) digest(ctx context.Context) (string, error) {
	list, err := a.Server.List(ctx)
	if err != nil {
		return "", err
	}
	return digest(list), nil
}

func digest(list []byte) string { return fmt.Sprintf("%x", sha256.Sum256(list)) }
