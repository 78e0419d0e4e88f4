// Package assembly puts a server together: tools, rules, roots, scheduler,
// pipeline, transports. The command line and the test servers use it, so that a
// test server differs from the shipped one only in its tools.
package assembly

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"mcp-toolset/concurrency"
	"mcp-toolset/console/feed"
	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/consent/classifier"
	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/internal/event"
	"mcp-toolset/internal/event/trigger"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/file/snapshot"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/internal/record/journal"
	"mcp-toolset/internal/record/results"
	"mcp-toolset/internal/record/undo"
	"mcp-toolset/internal/settings"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
	"mcp-toolset/server"
	"mcp-toolset/session"
	"mcp-toolset/skills"
	"mcp-toolset/tools"
	"mcp-toolset/web/registry"
	"mcp-toolset/web/site"
)

// Config holds the parts and settings of a server. Tools, Roots, State and Log
// are required.
type Config struct {
	Version    string
	Tools      []*tools.Tool
	Settings   *settings.Settings // nil means no rules
	Follow     *Follow            // takes over changes of Settings; nil: they never change
	Mode       policy.Mode        // "" means the mode of Settings
	Features   map[string]bool    // features switched on or off
	Deferral   tools.Deferral     // how tools that are not always loaded are offered; "" means DeferHints
	Defers     bool               // clients defer tools by themselves, whatever the client's name is
	Upstream   Upstream           // upstream servers; may be nil
	Skills     *skills.Live       // served as prompts and resources; may be nil
	Profile    *session.Profile   // of sessions that name none; nil: all tools
	Profiles   []*session.Profile // those that HTTP serves at /mcp/NAME
	Readable   []string           // folders outside of the roots that every session may read, canonical
	Roots      []string           // workspace folders, absolute; Settings may add more
	State      string             // state folder, absolute; it need not exist
	Closed     []string           // additional files and folders that no tool may access, absolute
	Base, Own  []string           // folders that no tool may access, and those in them that it may, canonical
	Guarded    []string           // files and folders that no tool may change or replace, absolute
	AddTo      string             // settings file to which texts ask the user to add a rule; "" means that of Settings, if there is one
	Home       string             // the user's home folder; "" if there is none
	Notice     string             // text added to the first result of each session; may be ""
	Secrets    policy.Secrets     // files that may hold credentials; may be nil
	Hosts      []registry.Host    // hosts that commands may reach without a rule
	Scheduler  concurrency.Config
	Cascade    pipeline.Cascade // what the failure of a command cancels
	Ordered    bool             // answer over stdio in the order of calls
	Channel    bool             // send events over stdio as messages of a channel
	Structured bool
	Drain      time.Duration
	Resume     func(session.View) *session.Move    // as in server.Config
	Used       func(session.View)                  // called when a session is initialized or makes a call; may be nil
	Gone       func(session.View)                  // called when a session has ended; may be nil
	Private    func(session.View) pipeline.Private // see pipeline.Config; may be nil
	Pending    func() bool                         // reports whether the server will fire a schedule; may be nil
	Changing   func(path string)                   // called when a tool is about to change a file; may be nil
	Journal    *journal.Journal                    // calls of sessions; may be nil
	Events     *event.Registry                     // events of sessions, which answers deliver; may be nil
	Triggers   *trigger.Registry                   // webhooks of sessions; may be nil
	Undo       func(undo.Options) *undo.Store      // opens the store of changes, with roots, state folder and log set; nil: changes are not recorded
	Snapshots  *snapshot.Cache                     // contents of files, shared with the tools; may be nil
	Later      func(func())                        // calls its argument whenever more tools may be offered; may be nil
	HookEnv    []string                            // environment of hooks, as NAME=value
	Audit      *audit.Log                          // nil means no audit log
	// Judge asks a model of the settings for the classifier; nil without models.
	Judge func(context.Context, string, classifier.Prompt) (string, error)
	// Serves is as in pipeline.Config. It may be nil.
	Serves    func(context.Context, session.View, uint16) (served, networked bool)
	Summaries pipeline.Summaries // results that a model summarizes
	Sandbox   bool               // run commands in a sandbox if the system has one
	Approvals bool               // the user at this machine can be asked about calls
	Sessions  int                // limit of the sessions of one principal; 0: the usual one
	Stored    int64              // limit of stored results, in bytes; 0: the usual one
	Remote    bool               // clients reach the server over HTTP
	Console   feed.Parts         // further parts of the console
	Log       *slog.Logger
	Closers   []io.Closer // used by the tools; closed with the server
}

// Upstream connects upstream servers (upstream.Manager).
type Upstream interface {
	Begin(tell func([]tools.Server))
	Wake(ctx context.Context, most time.Duration)
	WakeListed(ctx context.Context, all bool, most time.Duration)
	Await(ctx context.Context, tool string)
	Close() error
}

// Assembly is a server with its parts.
type Assembly struct {
	Server    *server.Server
	Registry  *tools.Registry
	Scheduler *concurrency.Scheduler
	State     string            // canonical path of the state folder
	Triggers  *trigger.Registry // as in Config
	Mode      policy.Mode
	Feed      *feed.Local // for the console; nil if the server serves no clients
	ring      *feed.Ring
	follower  *follower // nil: the settings of the start hold
	tasks     *task.Registry
	pending   func() bool
	runners   map[bool]*hook.Runner // by whether their failures refuse calls
	approvals *approval.Store
	pipeline  *pipeline.Pipeline
	log       *slog.Logger
	closers   []io.Closer
	wake      func(context.Context, time.Duration) // nil if there are no upstream servers
}

// New puts a server together. Its only side effect is to open folders, which
// Close closes. It logs a warning for each rule without effect.
func New(c Config) (*Assembly, error) {
	a := &Assembly{log: c.Log, Triggers: c.Triggers, closers: slices.Clone(c.Closers), tasks: c.Console.Tasks, pending: c.Pending}
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
	a.closers = slices.Insert(a.closers, 0, io.Closer(roots)) // closed last
	// Links are resolved so that a folder is recognized under any path.
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
	policyOf := func(c Config) *policy.Policy {
		all := slices.Concat(closed, c.Base)
		for _, path := range c.Closed { // those of a reload were not resolved above
			if canonical, err := workspace.Canonical(path); err == nil && !slices.Contains(all, path) {
				all = append(all, path, canonical)
			}
		}
		return policy.New(policy.Config{
			Mode: c.mode(), Rules: c.Settings.Rules(), AddTo: cmp.Or(c.AddTo, c.Settings.Source()), Guarded: c.Guarded, Roots: roots.Paths(), Closed: all, Opened: c.Own, Home: c.Home, Secrets: c.Secrets, Programs: programs{c.Home}, Hosts: patterns(c.Hosts), Destructive: c.Settings.Undo().Destructive, KnownTools: names(c.Tools), KnownServers: c.Settings.UpstreamPrefixes(),
		})
	}
	rules := policyOf(c)
	a.Mode = rules.Mode()
	var deciding atomic.Pointer[pipeline.Pipeline] // nil while the tools are registered
	for _, w := range slices.Concat(c.Settings.Warnings(), rules.Warnings()) {
		c.Log.Warn(w)
	}
	a.Registry, err = tools.NewRegistry(c.Tools, tools.Gates{Features: c.Features, Deferral: c.Deferral, Later: c.Follow != nil, Denied: func(t *tools.Tool) (string, bool) {
		now := rules
		if p := deciding.Load(); p != nil {
			now = p.Policy()
		}
		rule, where, denied := now.DeniedTool(t.Name, t.Aliases)
		return fmt.Sprintf("denied by rule %s in %s", rule, where), denied
	}})
	if err != nil {
		return err
	}
	if c.Later != nil {
		c.Later(a.Registry.Refresh)
	}
	store := results.New(filepath.Join(a.State, "results"), cmp.Or(c.Stored, results.Quota), time.Now)
	a.closers = append(a.closers, store)
	a.observe(&c)
	a.Scheduler = concurrency.New(c.Scheduler)
	config := pipeline.Config{
		Shared: concurrency.NewGroup(a.Scheduler), Cascade: c.Cascade,
		Registry: a.Registry, Rules: pipeline.Rules{Policy: rules}, Reload: func() { a.follower.check() }, Roots: roots, Results: store, Home: c.Home, Changing: c.Changing, Private: c.Private, Serves: c.Serves, Notice: c.Notice,
		Snapshots: c.Snapshots, Events: c.Events, Journal: c.Journal, Log: c.Log,
		Applies: applies(c.Skills), Readable: c.Readable, Summaries: c.Summaries,
	}
	a.judges(c, roots.Paths(), &config)
	a.follow(c, policyOf)
	if c.Undo != nil && c.Settings.Undo().Enabled {
		config.Undo = c.Undo(undo.Options{
			State: a.State, Roots: roots, Skip: closed, Quota: c.Settings.Undo().Quota, Instance: config.Instance, Log: c.Log,
		})
		a.closers = slices.Insert(a.closers, 1, io.Closer(config.Undo)) // after the commands have ended
	}
	var wakeListed func(context.Context, bool, time.Duration)
	if c.Upstream != nil {
		a.wake, wakeListed = c.Upstream.Wake, c.Upstream.WakeListed
		config.Await = c.Upstream.Await
	}
	a.pipeline = pipeline.New(config)
	deciding.Store(a.pipeline)
	if c.Upstream != nil {
		c.Upstream.Begin(a.setServers)
	}
	if a.follower != nil && c.Approvals {
		go a.follower.watch()
	}
	a.describe(c, roots.Paths(), &config)
	a.Server, err = server.New(server.Config{
		Version: c.Version, Registry: a.Registry, Roots: roots, Sessions: c.Sessions, Results: store, Log: c.Log,
		Scheduler: a.Scheduler, Ordered: c.Ordered, Channel: c.Channel, Structured: c.Structured, Drain: c.Drain, SessionUsed: a.used(c), Resume: c.Resume, SessionEnded: a.gone(c, config.Approvals),
		Pipeline: a.pipeline, WakeListed: wakeListed, Defers: c.Defers, Skills: c.Skills, Profile: c.Profile, Profiles: c.Profiles,
		Conditions: server.Conditions{Sandbox: c.Sandbox, Plan: a.Mode == policy.ModePlan, Asks: c.Approvals && a.Mode != policy.ModeDontAsk},
	})
	return err
}

// mode returns the permission mode, or "" for the default one.
func (c *Config) mode() policy.Mode {
	if c.Mode != "" {
		return c.Mode
	}
	return policy.Mode(c.Settings.Mode())
}

// setServers registers the present state of the upstream servers.
func (a *Assembly) setServers(list []tools.Server) {
	for _, err := range a.Registry.SetServers(list) {
		a.log.Warn("a tool of another server is left out", "error", err.Error())
	}
}

// Running returns the number of background tasks that run.
func (a *Assembly) Running() (n int) {
	for _, t := range a.tasks.All() {
		if t.Status().State == task.Running {
			n++
		}
	}
	return n
}

// Busy reports whether the server works without a request: a background task runs, or a schedule
// will fire.
func (a *Assembly) Busy() bool { return a.Running() > 0 || a.pending != nil && a.pending() }

// Explain returns what would happen to a call from a newly connected client,
// without running it. It logs a panic of a tool.
func (a *Assembly) Explain(ctx context.Context, tool string, input json.RawMessage) pipeline.Explanation {
	s := session.New(session.Config{Roots: a.Server.Roots.Paths(), Profile: a.Server.Profile})
	return a.pipeline.Explain(ctx, pipeline.Request{Tool: tool, Arguments: input, Session: s, Log: a.log})
}

// Wake connects the upstream servers without a known listing, and waits for the
// attempts to end, but no longer than most.
func (a *Assembly) Wake(ctx context.Context, most time.Duration) {
	if a.wake != nil {
		a.wake(ctx, most)
	}
}

// Close closes what New opened, in reverse order.
func (a *Assembly) Close() error {
	var errs []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		errs = append(errs, a.closers[i].Close())
	}
	return errors.Join(errs...)
}

// patterns returns the patterns of hosts.
func patterns(hosts []registry.Host) (out []site.Pattern) {
	for _, h := range hosts {
		out = append(out, h.Pattern)
	}
	return out
}

// names returns the names that rules may use, including former names.
func names(list []*tools.Tool) []string {
	var out []string
	for _, t := range list {
		out = append(append(out, t.Name), t.Aliases...)
	}
	return out
}
