package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/assembly"
	"mcp-toolset/internal/command"
	"mcp-toolset/internal/document"
	"mcp-toolset/internal/metrics"
	"mcp-toolset/internal/nearest"
	"mcp-toolset/internal/sandbox"
	"mcp-toolset/internal/search"
	"mcp-toolset/internal/settings"
	"mcp-toolset/internal/state"
	"mcp-toolset/internal/task"
	"mcp-toolset/internal/trace"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/bash"
	"mcp-toolset/tools/builtin"
	"mcp-toolset/tools/file"
	"mcp-toolset/tools/glob"
	"mcp-toolset/tools/grep"
	"mcp-toolset/tools/read"
	tasktools "mcp-toolset/tools/task"
	"mcp-toolset/upstream"
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
	return a.Registry.Catalogue().Resolve(a.Registry.Deferral(), a.Server.Defers)
}

func (a *app) close() error { return errors.Join(a.Assembly.Close(), a.logFile.Close()) }

// build makes a server from the flags and the environment. Its only side effect is to open files.
func (c *common) build(host *Host, positional []string, drain time.Duration) (*app, error) {
	log, logFile, err := c.logger(host)
	if err != nil {
		return nil, err
	}
	config, err := c.config(host, positional, log)
	if err != nil {
		return nil, errors.Join(err, logFile.Close())
	}
	config.Drain = drain
	a, err := assembly.New(config)
	if err != nil {
		return nil, errors.Join(err, logFile.Close())
	}
	return &app{Assembly: a, log: log, logFile: logFile, mode: a.Mode, figures: &metrics.Source{Scheduler: a.Scheduler, Repeats: c.repeats.Load, Now: time.Now}}, nil
}

// tracer opens the trace and connects it to the scheduler.
func (c *common) tracer(host *Host, config *assembly.Config) error {
	if c.trace == "" {
		return nil
	}
	path := workspace.Expand(c.trace, host.Dir, host.Home)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("opening the trace: %w", err)
	}
	w := trace.New(f, time.Now(), func(err error) { config.Log.Warn("the trace ends here", "error", err.Error()) })
	config.Scheduler.Observe = w.Observe
	config.Closers = append(config.Closers, w)
	config.Closed = append(config.Closed, path)
	return nil
}

// place returns the configuration of a server without its tools: settings, folders and limits.
func (c *common) place(host *Host, positional []string, log *slog.Logger) (assembly.Config, error) {
	config := assembly.Config{
		Version: version(), Home: host.Home, Structured: c.structured, Log: log,
		Scheduler: concurrency.Config{PerLane: c.maxConcurrency, Now: time.Now}, Ordered: c.ordered,
		Sandbox: command.Mode(c.sandbox) != command.Off, Defers: host.Getenv("CLAUDE_CODE_SESSION_ID") != "",
	}
	switch c.cascade {
	case "all":
		config.Cascade = pipeline.CascadeAll
	case "off":
		config.Cascade = pipeline.CascadeOff
	}
	config.Mode, config.Deferral = policy.Mode(c.mode), tools.Deferral(c.deferral)
	var err error
	if config.Roots, err = c.workspaceDirs(host, positional); err != nil {
		return config, err
	}
	for _, file := range c.closed {
		if file != "" {
			config.Closed = append(config.Closed, workspace.Expand(file, host.Dir, host.Home))
		}
	}
	for i, dir := range config.Roots {
		config.Roots[i] = workspace.Expand(dir, host.Dir, host.Home)
	}
	if config.State, err = state.Dir(host.Getenv, host.Home); err != nil {
		return config, err
	}
	config.Approvals, config.HookEnv = c.approvals, hookEnvironment(host)
	if err := c.findSettings(host, &config); err != nil {
		return config, err
	}
	config.Secrets = secrets{sandbox.NewHome(host.Home, allRoots(config))}
	if err := c.tracer(host, &config); err != nil {
		return config, err
	}
	return config, c.audit.open(host, &config)
}

// hookEnvironment returns the environment of the server without the server's own variables.
func hookEnvironment(host *Host) []string {
	return slices.DeleteFunc(slices.Clone(host.Environ()), func(v string) bool { return strings.HasPrefix(v, "MCP_TOOLSET_") })
}

// config returns the configuration of a server.
func (c *common) config(host *Host, positional []string, log *slog.Logger) (assembly.Config, error) {
	config, err := c.place(host, positional, log)
	if err != nil {
		return config, err
	}
	searcher, err := c.searcher(host)
	if err != nil {
		return config, err
	}
	config.Closers = append(config.Closers, searcher)
	commands, err := c.commands(host, config)
	if err != nil {
		return config, err
	}
	config.Closers = append(config.Closers, commands)
	config.Later = commands.OnTried
	run := c.bash(host, commands)
	config.Gone = func(v session.View) { bash.Gone(run, v) }
	config.Changing = commands.Changing
	others, err := c.upstreams(host, config, func(*upstream.Server) bool { return true })
	if err != nil {
		return config, err
	}
	if len(others.servers) > 0 {
		config.Upstream = others
	}
	if config.Tools, err = c.tools(host, config, searcher, run, others); err != nil {
		return config, err
	}
	config.Features, err = c.featureSwitches(config.Settings, tools.Features(config.Tools), log)
	return config, err
}

// tools makes the tools according to the flags and the environment.
func (c *common) tools(host *Host, config assembly.Config, searcher *search.Searcher, run bash.Options, servers *others) ([]*tools.Tool, error) {
	return builtin.List(builtin.Options{
		Resources: servers, Bash: run, Tasks: tasktools.Options{Tasks: run.Tasks, MaxOutput: run.MaxOutput},
		EditGuard: file.Guard(config.Settings.EditGuard()), Glob: glob.Options{Searcher: searcher}, Grep: grep.Options{Searcher: searcher}, Read: read.Options{
			MaxTokens: envInt(host, "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS", 0),
			OnShort:   func() { c.repeats.Add(1) },
			Repeat:    c.readDedup == "off",
			Reminder:  config.Settings.Reminder(c.model),
			Documents: document.NewReader(document.Config{Cache: filepath.Join(config.State, "cache"), Log: config.Log}),
		}}), nil
}

// bash returns the options with which Bash runs commands.
func (c *common) bash(host *Host, commands *command.Commands) bash.Options {
	return bash.Options{
		Commands: commands, Tasks: task.New(time.Now), Foreground: c.foreground,
		MaxOutput: envInt(host, "BASH_MAX_OUTPUT_LENGTH", 0),
		Default:   milliseconds(envInt(host, "BASH_DEFAULT_TIMEOUT_MS", 0)), Most: milliseconds(envInt(host, "BASH_MAX_TIMEOUT_MS", 0)),
		ReadOnly: func() error { return commands.ReadOnlyKnown(c.context()) },
	}
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// commands makes the runner for the commands of Bash. It fails if the sandbox is required and not
// complete.
func (c *common) commands(host *Host, config assembly.Config) (*command.Commands, error) {
	commands, err := c.newCommands(host, config)
	if err != nil {
		return nil, err
	}
	commands.Begin()
	if err := commands.Required(c.context()); err != nil {
		return nil, errors.Join(err, commands.Close())
	}
	return commands, nil
}

func (c *common) newCommands(host *Host, config assembly.Config) (*command.Commands, error) {
	shell := c.shell
	if shell != "" {
		path, err := exec.LookPath(shell)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			return nil, usagef("--shell is %q: %v", c.shell, err)
		}
		shell = path
	}
	box := config.Settings.Sandbox()
	scrub, pass := config.Settings.Env()
	closed, protected := c.found.FromCommands(config.Closed, config.State)
	return command.New(command.Config{
		Shell: shell, Sandbox: command.Mode(c.sandbox), AllowRead: box.AllowRead, AllowWrite: box.AllowWrite, NoCaches: !box.Caches, Offline: !box.Network,
		Roots: allRoots(config), Closed: closed, Protected: protected, Names: policy.Protected(), Home: host.Home, State: config.State, Environ: host.Environ(), Scrub: scrub, Pass: pass, Log: config.Log,
	})
}

// context returns the context of the command, which ends when the process is asked to stop.
func (c *common) context() context.Context {
	if c.ctx == nil {
		return context.Background()
	}
	return c.ctx
}

// searcher makes the searcher for Grep and Glob.
func (c *common) searcher(host *Host) (*search.Searcher, error) {
	o := search.Options{Home: host.Home, Getenv: host.Getenv}
	if c.searchIndex == "off" {
		o.Index = -1
	}
	o.Watch = c.searchWatch == "on"
	return search.New(o), nil
}

// featureSwitches returns the features of the settings, overridden by those of the command line. A
// feature that no tool has is an error on the command line and a warning in the settings.
func (c *common) featureSwitches(from *settings.Settings, known []string, log *slog.Logger) (map[string]bool, error) {
	out := map[string]bool{}
	for name, on := range from.Features() {
		if err := checkFeature(name, known); err != nil {
			log.Warn(err.Error())
		}
		out[name] = on
	}
	for _, f := range c.features {
		name, value, _ := strings.Cut(f, "=")
		if name == "" || value != "on" && value != "off" {
			return nil, usagef("--feature is %q; use NAME=on or NAME=off", f)
		}
		if err := checkFeature(name, known); err != nil {
			return nil, usageError{err}
		}
		out[name] = value == "on"
	}
	return out, nil
}

func checkFeature(name string, known []string) error {
	for _, k := range known {
		if k == name {
			return nil
		}
	}
	if near := nearest.Names(name, known, 1); len(near) == 1 {
		return fmt.Errorf("there is no feature %q; did you mean %s?", name, near[0])
	}
	if len(known) == 0 {
		return fmt.Errorf("there is no feature %q; no tool has one", name)
	}
	return fmt.Errorf("there is no feature %q; there are %s", name, strings.Join(known, ", "))
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
