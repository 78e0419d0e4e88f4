package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/nearest"
	"mcp-toolset/internal/results"
	"mcp-toolset/internal/state"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
	"mcp-toolset/server"
	"mcp-toolset/tools"
	"mcp-toolset/tools/builtin"
)

// app is a server put together from the command line.
type app struct {
	server   *server.Server
	registry *tools.Registry
	log      *slog.Logger
	state    string // state folder; may not exist
	closers  []io.Closer
}

func (a *app) close() error {
	var errs []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		errs = append(errs, a.closers[i].Close())
	}
	return errors.Join(errs...)
}

// build puts a server together. It has no side effect but opening files.
func (c *common) build(host *Host, positional []string, drain time.Duration) (*app, error) {
	a := &app{}
	if err := c.assemble(a, host, positional, drain); err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

func (c *common) assemble(a *app, host *Host, positional []string, drain time.Duration) error {
	log, closer, err := c.logger(host)
	if err != nil {
		return err
	}
	a.log, a.closers = log, append(a.closers, closer)
	if c.maxConcurrency < 1 {
		return usagef("--max-concurrency is %d; the least is 1", c.maxConcurrency)
	}
	settings, err := c.loadSettings()
	if err != nil {
		return err
	}
	roots, err := c.openRoots(host, positional, settings)
	if err != nil {
		return err
	}
	a.closers = append(a.closers, roots)
	if a.state, err = stateDir(host); err != nil {
		return err
	}
	list := builtin.List(builtin.Options{ReadMaxTokens: envInt(host, "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS", 0)})
	rules := policy.New(policy.Config{
		Settings: settings, Roots: roots.Paths(), Closed: []string{a.state}, Home: host.Home, KnownTools: names(list),
	})
	for _, w := range rules.Warnings() {
		log.Warn(w)
	}
	if a.registry, err = c.registry(list, settings, rules, log); err != nil {
		return err
	}
	store := results.New(filepath.Join(a.state, "results"), results.Quota, time.Now)
	a.closers = append(a.closers, store)
	a.server, err = server.New(server.Config{
		Version: version(), Registry: a.registry, Roots: roots, Results: store, Log: log,
		Scheduler:  concurrency.New(concurrency.Limits{PerLane: c.maxConcurrency}),
		Structured: c.structured, Drain: drain,
		Pipeline: pipeline.New(pipeline.Config{
			Registry: a.registry, Policy: rules, Roots: roots, Results: store, Home: host.Home,
		}),
	})
	return err
}

func (c *common) loadSettings() (*policy.Settings, error) {
	if c.settings == "" {
		return nil, nil
	}
	return policy.LoadSettings(c.settings)
}

func (c *common) openRoots(host *Host, positional []string, settings *policy.Settings) (*workspace.Roots, error) {
	dirs, err := c.workspaceDirs(host, positional)
	if err != nil {
		return nil, err
	}
	for i := range dirs {
		dirs[i] = workspace.Expand(dirs[i], host.Dir, host.Home)
	}
	if settings != nil {
		dirs = append(dirs, settings.AdditionalDirectories()...)
	}
	return workspace.OpenRoots(dirs)
}

// stateDir is the state folder with symlinks resolved, so that it is
// recognised however a path to it is spelled.
func stateDir(host *Host) (string, error) {
	dir, err := state.Dir(host.Getenv, host.Home)
	if err != nil {
		return "", err
	}
	if dir, err = workspace.Canonical(dir); err != nil {
		return "", fmt.Errorf("resolving the state folder: %w", err)
	}
	return dir, nil
}

// registry gates the list by features and by the rules that deny whole tools.
func (c *common) registry(list []*tools.Tool, settings *policy.Settings, rules *policy.Policy, log *slog.Logger) (*tools.Registry, error) {
	var set map[string]bool
	if settings != nil {
		set = settings.Features()
	}
	features, err := c.featureSwitches(set)
	if err != nil {
		return nil, err
	}
	known := tools.Features(list)
	for name := range features {
		if err := checkFeature(name, known); err != nil {
			if _, inSettings := set[name]; !inSettings {
				return nil, usageError{err}
			}
			log.Warn(err.Error())
		}
	}
	return tools.NewRegistry(list, tools.Gates{Features: features, Denied: func(t *tools.Tool) (string, bool) {
		rule, source, denied := rules.DeniedTool(t.Name, t.Aliases)
		return fmt.Sprintf("denied by rule %s in %s", rule, source), denied
	}})
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

func names(list []*tools.Tool) []string {
	var out []string
	for _, t := range list {
		out = append(out, t.Name)
	}
	return out
}
