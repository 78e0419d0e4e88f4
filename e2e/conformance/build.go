// The fixture's server, put together as the shipped one is by its command line
// (internal/cli/build.go): no settings, one root, all tools on.

package main

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/results"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
	"mcp-toolset/server"
	"mcp-toolset/tools"
)

const (
	perLane = 10          // concurrent calls of one client
	drain   = time.Second // no tool here runs for longer
)

type fixture struct {
	server  *server.Server
	closers []io.Closer
}

func (f *fixture) close() error {
	var errs []error
	for i := len(f.closers) - 1; i >= 0; i-- {
		errs = append(errs, f.closers[i].Close())
	}
	return errors.Join(errs...)
}

// build puts the server together. All it writes goes below dir, its log to w.
func build(dir string, w io.Writer) (f *fixture, err error) {
	f = &fixture{}
	defer func() {
		if err != nil {
			_ = f.close()
		}
	}()
	root, state := filepath.Join(dir, "root"), filepath.Join(dir, "state")
	for _, d := range []string{root, state} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, err
		}
	}
	roots, err := workspace.OpenRoots([]string{root})
	if err != nil {
		return nil, err
	}
	f.closers = append(f.closers, roots)
	if state, err = workspace.Canonical(state); err != nil {
		return nil, err
	}
	list := fixtureTools()
	var names []string
	for _, t := range list {
		names = append(names, t.Name)
	}
	rules := policy.New(policy.Config{Roots: roots.Paths(), Closed: []string{state}, KnownTools: names})
	registry, err := tools.NewRegistry(list, tools.Gates{})
	if err != nil {
		return nil, err
	}
	store := results.New(filepath.Join(state, "results"), results.Quota, time.Now)
	f.closers = append(f.closers, store)
	f.server, err = server.New(server.Config{
		Version: "0.0.0-conformance", Registry: registry, Roots: roots, Results: store,
		Log:       slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Scheduler: concurrency.New(concurrency.Limits{PerLane: perLane}), Drain: drain,
		Pipeline: pipeline.New(pipeline.Config{Registry: registry, Policy: rules, Roots: roots, Results: store}),
	})
	return f, err
}
