// Package assembly puts a server together: tools, rules, roots, scheduler,
// pipeline, transports. The command line and the test servers do it here, so
// that a test server differs from the shipped one in its tools only.
package assembly

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/audit"
	"mcp-toolset/internal/filelock"
	"mcp-toolset/internal/results"
	"mcp-toolset/internal/snapshot"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
	"mcp-toolset/server"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// Config is what a server is made of. Tools, Roots, State and Log are required.
type Config struct {
	Version    string
	Tools      []*tools.Tool
	Settings   *policy.Settings // nil: no rules
	Mode       policy.Mode      // "": that of Settings
	Features   map[string]bool  // switched features
	Deferral   tools.Deferral   // how tools are offered that are not always loaded; "": DeferHints
	Defers     bool             // clients defer tools by themselves, whatever their names are
	Upstream   Upstream         // other servers; nil: none
	Roots      []string         // workspace folders, absolute; further ones may come from Settings
	State      string           // state folder, absolute; it need not exist
	Closed     []string         // further files and folders that no tool may touch, absolute
	Guarded    []string         // files and folders that no tool may change or replace, absolute
	AddTo      string           // settings file where texts ask the user to add a rule; "": that of Settings if it is one
	Home       string           // the user's home folder, "" if there is none
	Notice     string           // added to the first result of each session; "": nothing
	Secrets    policy.Secrets   // which files may hold credentials; nil: none
	Scheduler  concurrency.Config
	Cascade    pipeline.Cascade // what the failure of a command cancels
	Ordered    bool             // answers over stdio in the order of calls
	Structured bool
	Drain      time.Duration
	Gone       func(session.View) // a conversation has ended; nil: nobody is told
	Changing   func(path string)  // a tool is about to change a file; nil: nobody is told
	Later      func(func())       // calls its argument when a tool may be offered that was not; nil: never
	HookEnv    []string           // environment of hooks, as NAME=value
	Audit      *audit.Log         // nil: calls are not written down
	Sandbox    bool               // commands run in a sandbox where the system has one
	Approvals  bool               // persons at this machine can be asked about calls
	Log        *slog.Logger
	Closers    []io.Closer // what the tools use, closed with the server
}

// Upstream connects other servers (upstream.Manager).
type Upstream interface {
	Begin(tell func([]tools.Server))
	Wake(ctx context.Context, most time.Duration)
	WakeListed(all bool)
	Await(ctx context.Context, tool string)
	Close() error
}

// Assembly is a server with what it consists of.
type Assembly struct {
	Server    *server.Server
	Registry  *tools.Registry
	Scheduler *concurrency.Scheduler
	State     string // state folder with links resolved
	Mode      policy.Mode
	pipeline  *pipeline.Pipeline
	log       *slog.Logger
	closers   []io.Closer
	wake      func(context.Context, time.Duration) // nil: there are no upstream servers
}

// New puts a server together. It has no side effect but opening folders; what
// it opened, Close closes. Rules without effect are warned about in the log.
func New(c Config) (*Assembly, error) {
	a := &Assembly{log: c.Log, closers: slices.Clone(c.Closers)}
	if c.Upstream != nil {
		a.closers = append(a.closers, c.Upstream)
	}
	if err := a.assemble(c); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *Assembly) assemble(c Config) error {
	dirs := c.Roots
	if c.Settings != nil {
		dirs = append(dirs[:len(dirs):len(dirs)], c.Settings.AdditionalDirectories()...)
	}
	roots, err := workspace.OpenRoots(dirs)
	if err != nil {
		return err
	}
	a.closers = append(a.closers, roots)
	// Links are resolved so that the folder is recognised however a path to it
	// is spelled.
	workspace.TrustShares(slices.Concat(c.Closed, []string{c.State, c.Home})...)
	if a.State, err = workspace.Canonical(c.State); err != nil {
		return fmt.Errorf("resolving the state folder: %w", err)
	}
	closed := []string{a.State}
	for _, path := range c.Closed {
		canonical, err := workspace.Canonical(path)
		if err != nil {
			return fmt.Errorf("resolving %s: %w", path, err)
		}
		closed = append(closed, path, canonical)
	}
	mode := c.Mode
	if mode == "" {
		mode = policy.Mode(c.Settings.Mode())
	}
	rules := policy.New(policy.Config{
		Mode: mode, Settings: c.Settings, AddTo: c.AddTo, Guarded: c.Guarded, Roots: roots.Paths(), Closed: closed, Home: c.Home, Secrets: c.Secrets, KnownTools: names(c.Tools), KnownServers: c.Settings.UpstreamPrefixes(),
	})
	a.Mode = rules.Mode()
	for _, w := range rules.Warnings() {
		c.Log.Warn(w)
	}
	a.Registry, err = tools.NewRegistry(c.Tools, tools.Gates{Features: c.Features, Deferral: c.Deferral, Denied: func(t *tools.Tool) (string, bool) {
		rule, where, denied := rules.DeniedTool(t.Name, t.Aliases)
		return fmt.Sprintf("denied by rule %s in %s", rule, where), denied
	}})
	if err != nil {
		return err
	}
	if c.Later != nil {
		c.Later(a.Registry.Refresh)
	}
	store := results.New(filepath.Join(a.State, "results"), results.Quota, time.Now)
	a.closers = append(a.closers, store)
	a.Scheduler = concurrency.New(c.Scheduler)
	config := pipeline.Config{
		Shared: concurrency.NewGroup(a.Scheduler), Cascade: c.Cascade,
		Registry: a.Registry, Policy: rules, Roots: roots, Results: store, Home: c.Home, Changing: c.Changing, Notice: c.Notice,
		Locks: filelock.New(filepath.Join(a.State, "locks")), Snapshots: snapshot.New(snapshot.Total),
	}
	a.judges(c, roots.Paths(), &config)
	var wakeListed func(bool)
	if c.Upstream != nil {
		a.wake, wakeListed = c.Upstream.Wake, c.Upstream.WakeListed
		config.Await, config.Wake = c.Upstream.Await, c.Upstream.Wake
		c.Upstream.Begin(a.setServers)
	}
	a.pipeline = pipeline.New(config)
	a.Server, err = server.New(server.Config{
		Version: c.Version, Registry: a.Registry, Roots: roots, Results: store, Log: c.Log,
		Scheduler: a.Scheduler, Ordered: c.Ordered, Structured: c.Structured, Drain: c.Drain, Gone: a.gone(c, config.Approvals),
		Pipeline: a.pipeline, WakeListed: wakeListed, Defers: c.Defers,
		Conditions: server.Conditions{Sandbox: c.Sandbox, Plan: a.Mode == policy.ModePlan, Asks: c.Approvals && a.Mode != policy.ModeDontAsk},
	})
	return err
}

// setServers takes in what is known of upstream servers.
func (a *Assembly) setServers(list []tools.Server) {
	for _, err := range a.Registry.SetServers(list) {
		a.log.Warn("a tool of another server is left out", "error", err.Error())
	}
}

// Explain says what would become of a call of a client that has just connected,
// without running it. A panic of a tool is in the log.
func (a *Assembly) Explain(ctx context.Context, tool string, input json.RawMessage) pipeline.Explanation {
	return a.pipeline.Explain(ctx, pipeline.Request{Tool: tool, Arguments: input, Log: a.log})
}

// Wake has upstream servers connected whose tools are not known, and waits for
// that, at most for a time.
func (a *Assembly) Wake(ctx context.Context, most time.Duration) {
	if a.wake != nil {
		a.wake(ctx, most)
	}
}

// Close closes what New opened, the latest first.
func (a *Assembly) Close() error {
	var errs []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		errs = append(errs, a.closers[i].Close())
	}
	return errors.Join(errs...)
}

// names are those that rules may be on: former ones hold as well.
func names(list []*tools.Tool) []string {
	var out []string
	for _, t := range list {
		out = append(append(out, t.Name), t.Aliases...)
	}
	return out
}
