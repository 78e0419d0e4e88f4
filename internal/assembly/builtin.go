package assembly

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/event/trigger"
	"mcp-toolset/internal/exec/agent"
	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/publish"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/exec/worktree"
	"mcp-toolset/internal/file/document"
	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/file/snapshot"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/host"
	"mcp-toolset/internal/record/journal"
	"mcp-toolset/internal/record/peers"
	"mcp-toolset/internal/record/schedule"
	"mcp-toolset/internal/record/undo"
	"mcp-toolset/internal/record/worklist"
	"mcp-toolset/internal/search"
	"mcp-toolset/internal/settings"
	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/lsp"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	agenttool "mcp-toolset/tools/agent"
	"mcp-toolset/tools/bash"
	"mcp-toolset/tools/builtin"
	"mcp-toolset/tools/config"
	"mcp-toolset/tools/cron"
	"mcp-toolset/tools/file"
	"mcp-toolset/tools/glob"
	"mcp-toolset/tools/grep"
	lsptools "mcp-toolset/tools/lsp"
	"mcp-toolset/tools/message"
	"mcp-toolset/tools/monitor"
	"mcp-toolset/tools/plan"
	publishtool "mcp-toolset/tools/publish"
	"mcp-toolset/tools/read"
	"mcp-toolset/tools/repl"
	"mcp-toolset/tools/skill"
	"mcp-toolset/tools/sleep"
	tasktools "mcp-toolset/tools/task"
	triggertool "mcp-toolset/tools/trigger"
	undotool "mcp-toolset/tools/undo"
	"mcp-toolset/tools/webfetch"
	"mcp-toolset/tools/websearch"
	"mcp-toolset/tools/work"
	worktreetools "mcp-toolset/tools/worktree"
	"mcp-toolset/toolsearch"
	"mcp-toolset/upstream"
	"mcp-toolset/web/fetch"
)

// Build makes the built-in tools with the services that they use, and puts the server
// together. Prepare must have succeeded. The context limits the attempts of the
// sandbox.
func (p *Plan) Build(ctx context.Context) (*Assembly, error) {
	var a *Assembly // set before the first call of a tool
	catalogue := func(s *session.Profile) *tools.Catalogue { return a.Registry.View(s) }
	access := func(v session.View) tools.CommandAccess { return a.pipeline.ProgramAccess(v) }
	if err := p.addTools(ctx, catalogue, access, func() *Assembly { return a }); err != nil {
		return nil, err
	}
	var err error
	if a, err = New(p.Config); err == nil {
		p.followSkills(a)
		a.closers = append(a.closers, p.running) // before all that their calls use, such as the audit log
	}
	return a, err
}

// addTools makes the tools and their services. catalogue returns the tools of the server, and
// access that of programs that it runs, and built the server; all are known once it is put together.
func (p *Plan) addTools(ctx context.Context, catalogue func(*session.Profile) *tools.Catalogue, access func(session.View) tools.CommandAccess, built func() *Assembly) error {
	p.findSkills() // commands may read their files
	searcher := p.searcher()
	p.Closers = append(p.Closers, searcher)
	commands, err := p.startCommands(ctx)
	if err != nil {
		return err
	}
	p.Closers = append(p.Closers, commands)
	p.Later = commands.OnTried
	run := p.bash(ctx, commands)
	p.Events, p.Journal = event.New(), journal.New()
	tasktools.Announce(run.Tasks, p.Events)
	ports := publish.New(publish.Options{
		Named: func(port uint16) bool { return p.found().Merged.Sandbox().Publish.Names(port) }, Record: p.published, Events: p.Events,
		Asks: func() bool { return !p.options.Remote && p.found().Merged.Sandbox().Publish.Ask },
	})
	run.Tasks.OnAdd, run.Ports = ports.Watch, ports.Notes
	p.Closers = append(p.Closers, ports)
	p.Serves = func(ctx context.Context, v session.View, port uint16) (served, networked bool) {
		return commands.Serves(ctx, bash.OwnerOf(v), port)
	}
	locks := filelock.New(filepath.Join(p.State, "locks"))
	sessions := peers.New(p.options.SessionName, p.Events)
	lists := p.work(run.Tasks, sessions, locks)
	p.Console = p.consoleParts(run.Tasks, lists)
	searches, previews := new(websearch.Searches), new(lsptools.Previews)
	pages := fetch.New(fetch.Options{Folder: filepath.Join(p.State, "pages"), UserAgent: "mcp-toolset/" + p.Version, Getenv: p.options.Getenv})
	models := p.startModels(locks)
	p.Judge, p.Summaries = models.judge(), p.summaries(models)
	p.Triggers = trigger.New(p.State, locks, p.Events)
	schedules := schedule.New(p.State, locks, p.Events, p.Log)
	worktrees := p.worktrees()
	worktrees.Undisturbed = commands.Undisturbed
	agents := p.agents(models, run, sessions, worktrees, access, built)
	p.Closers = append(p.Closers, p.Triggers, schedules, pages, worktrees)
	carry := p.options.Carry
	if carry != nil {
		p.Resume = func(v session.View) *session.Move { return worktrees.Resume(v, carry) }
	}
	p.Used = func(v session.View) {
		sessions.Use(v)
		if v.Agent != "" {
			return // events of the project are for clients
		}
		p.Triggers.Use(v)
		schedules.Use(v)
	}
	p.options.Output.Locks = locks
	p.Gone = func(v session.View) {
		// The last events of a session are those of the end of its tasks.
		sessions.End(v.Owner())
		agents.Forget(v.Owner())
		p.Triggers.Forget(v.Owner())
		ports.Forget(v.Owner())
		schedules.End(v.Owner())
		bash.EndSession(run, v, func() { p.Events.Forget(v.Owner()) })
		p.Journal.Forget(v.Owner())
		lists.Own.Forget(v.Owner())
		searches.Forget(v.Owner())
		previews.Forget(v.Owner())
		models.forget(v.Owner())
		p.Skills.Forget(v.Owner())
		worktrees.Forget(v.Owner())
		if carry != nil && v.Agent == "" {
			carry.Store(v)
		}
	}
	p.Changing = commands.Changing
	p.Private = func(v session.View) pipeline.Private { return commands.Private(bash.OwnerOf(v)) }
	watches := new(monitor.Running)
	p.Closers = append(p.Closers, watches) // before the commands, which store the output
	servers := p.languageServers(commands, access)
	p.servers = servers
	p.Closers = append(p.Closers, servers)
	others, err := p.Upstreams(func(*upstream.Server) bool { return true })
	if err != nil {
		return err
	}
	find := toolsearch.Options{Catalogue: catalogue, Listed: p.Deferral == tools.DeferLegacyList}
	find.Leaves = func(v session.View, t *tools.Tool) bool { return built().Registry.Leaves(t, host.Of(v.Client).Has) }
	if p.Skills != nil {
		find.Skills = func(words []string, most int) (out []toolsearch.Skill) {
			for _, k := range p.Skills.Now().Find(words, most) {
				out = append(out, toolsearch.Skill{Name: k.Name, Description: k.Description})
			}
			return out
		}
	}
	p.Follow.Taken = func(f *settings.Found) (replaced []*tools.Tool) {
		was := p.live.Swap(f).Merged
		others.follow(f.Merged)
		p.Skills.Deny(p.DeniedSkill(f.Merged))
		p.Skills.Now() // replaces the tool Skill
		p.followModels(models, was, f.Merged)
		if w := f.Merged.WebSearch(); !reflect.DeepEqual(w, was.WebSearch()) && p.Settings.FollowsSearch(f.Merged) {
			replaced = append(replaced, websearch.New(p.WebSearch(f.Merged, searches, others.Await)))
		}
		return replaced
	}
	if len(others.servers) > 0 {
		p.Upstream, find.Wake = others, others.Wake
	}
	p.Snapshots = snapshot.New(snapshot.Total)
	p.running = agents
	changes := new(atomic.Pointer[undo.Store])
	p.Undo = func(o undo.Options) *undo.Store {
		changes.Store(undo.New(o))
		return changes.Load()
	}
	p.Tools = p.tools(services{searcher, run, lists, others, find, locks, watches, schedules, searches, pages, servers, previews, worktrees, models, changes, agents, ports, built})
	p.Features = p.switches(tools.Features(p.Tools))
	return nil
}

// services holds what the tools use.
type services struct {
	searcher  *search.Searcher
	run       bash.Options
	lists     work.Options
	servers   *Upstreams
	find      toolsearch.Options
	locks     *filelock.Locks
	watches   *monitor.Running
	schedules *schedule.Registry
	searches  *websearch.Searches
	pages     *fetch.Client
	languages *lsp.Manager
	previews  *lsptools.Previews
	worktrees *worktree.Registry
	models    languageModels
	changes   *atomic.Pointer[undo.Store] // nil until the server is put together
	agents    *agent.Registry             // nil without any type
	ports     *publish.Publisher
	built     func() *Assembly
}

// tools makes the tools according to the options and the environment.
func (p *Plan) tools(s services) []*tools.Tool {
	documents := document.NewReader(document.Config{Cache: filepath.Join(p.State, "cache"), Log: p.Log})
	change := file.Options{Guard: file.Guard(p.Settings.EditGuard()), Locks: s.locks, Snapshots: p.Snapshots}
	noted, learn := change, (func(*tools.Env, string))(nil)
	if wait := p.Settings.Diagnostics(); wait > 0 {
		noted.Notify, learn = lsptools.Notifier(s.languages, p.Events, wait), lsptools.Learner(s.languages)
	}
	agents := agenttool.Options{Agents: s.agents, Tasks: s.run.Tasks, Foreground: p.options.Foreground, Plan: p.mode() == policy.ModePlan, Bash: s.run}
	return builtin.List(builtin.Options{
		Agent: agents,
		Fetch: webfetch.Options{Client: s.pages, Documents: documents, Model: s.models.small, Local: func(ctx context.Context, v session.View, port uint16) (net.Conn, error) {
			return s.run.Commands.Dial(ctx, bash.OwnerOf(v), port)
		}},
		Publish:   publishtool.Options{Ports: s.ports, Tasks: s.run.Tasks},
		Resources: s.servers, Search: s.find, Bash: s.run, Tasks: tasktools.Options{Tasks: s.run.Tasks, MaxOutput: s.run.MaxOutput, Events: p.Events, Ports: s.ports.Notes},
		Undo:  undotool.Options{Store: s.changes.Load},
		Sleep: sleep.Options{Events: p.Events}, Skill: skill.Options{Skills: p.Skills}, Plan: plan.Options{Mode: p.mode()}, Brief: p.brief(s), Work: s.lists,
		Output: p.options.Output, Config: config.Options{Current: p.configuration},
		Message: message.Options{Peers: s.lists.Peers, Continue: agents.Continue}, Trigger: triggertool.Options{Triggers: p.Triggers}, Cron: cron.Options{Schedules: s.schedules},
		WebSearch: p.WebSearch(p.Settings, s.searches, s.servers.Await),
		Worktree:  worktreetools.Options{Worktrees: s.worktrees, Left: s.languages.EndIn},
		REPL:      repl.Options{Bash: s.run, Documents: documents, Trusted: func(root string) bool { return slices.Contains(p.found().Trusted, root) }},
		Monitor:   monitor.Options{Bash: s.run, Events: p.Events, Running: s.watches},
		Change:    noted, LSP: lsptools.Options{Servers: s.languages, Change: change, Previews: s.previews, Learn: learn},
		Glob: glob.Options{Searcher: s.searcher}, Grep: grep.Options{Searcher: s.searcher}, Read: read.Options{
			MaxTokens: p.options.Int("CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS", 0),
			OnShort:   func() { p.repeats.Add(1) },
			Repeat:    p.options.RepeatReads,
			Reminder:  p.Settings.Reminder(p.options.Model),
			Documents: documents,
			OnRead:    learn,
			Snapshots: p.Snapshots,
		}})
}

// work returns the options of the tools for work lists.
func (p *Plan) work(background *task.Registry, sessions *peers.Registry, locks *filelock.Locks) work.Options {
	o := work.Options{
		Own: new(worklist.Memory), Name: p.options.SessionName, Peers: sessions,
		Server: strings.ToLower(rand.Text()[:6]), Tasks: background,
	}
	if name := cmp.Or(p.options.TaskList, p.Settings.TaskList()); name != "" {
		o.Shared = worklist.NewShared(p.State, name, locks)
	}
	return o
}

// bash returns the options with which Bash runs commands.
func (p *Plan) bash(ctx context.Context, commands *command.Commands) bash.Options {
	o := bash.Options{
		Commands: commands, Tasks: task.New(time.Now), Foreground: p.options.Foreground,
		MaxOutput: p.options.Int("BASH_MAX_OUTPUT_LENGTH", 0), Getenv: p.options.Getenv,
		Default: milliseconds(p.options.Int("BASH_DEFAULT_TIMEOUT_MS", 0)), Most: milliseconds(p.options.Int("BASH_MAX_TIMEOUT_MS", 0)),
	}
	o.Tasks.Each = p.options.Limits.Tasks
	if !p.options.Untried {
		o.ReadOnly = func() error { return commands.StoredReadOnly(ctx) }
	}
	return o
}

// startCommands makes the runner for the commands of Bash. It fails if the sandbox is
// required and not complete.
func (p *Plan) startCommands(ctx context.Context) (*command.Commands, error) {
	commands, err := p.Commands()
	if err != nil {
		return nil, err
	}
	if !p.options.Untried {
		commands.Begin(p.options.Approvals)
	}
	if err := commands.Required(ctx); err != nil {
		return nil, errors.Join(err, commands.Close())
	}
	return commands, nil
}

// Commands makes the runner for the commands of Bash and starts nothing.
func (p *Plan) Commands() (*command.Commands, error) {
	box := p.Settings.Sandbox()
	scrub, pass := p.Settings.Env()
	if w := p.Settings.WebSearch(); w != nil && w.KeyEnv != "" {
		scrub = append(slices.Clone(scrub), w.KeyEnv)
	}
	for _, key := range p.modelKeys() {
		if key.Env != "" {
			scrub = append(slices.Clone(scrub), key.Env)
		}
	}
	closed, protected := p.Found.FromCommands(p.Closed, p.State)
	return command.New(command.Config{
		Shell: p.Shell, Sandbox: p.options.Sandbox, AllowRead: slices.Concat(box.AllowRead, p.Readable), AllowWrite: box.AllowWrite, NoCaches: !box.Caches, Network: command.NetworkMode(box.Network),
		Roots: p.allRoots(), Closed: closed, Protected: protected, Worktrees: p.worktreeFolder(), Names: policy.Protected(), Home: p.Home, State: p.State, Environ: p.options.Environ(), Scrub: scrub, Pass: pass, Log: p.Log,
		Each: p.options.Limits.Commands, Quota: p.options.Limits.quota(),
	})
}

// worktrees returns the git worktrees of sessions, whose records are in the state folder.
func (p *Plan) worktrees() *worktree.Registry {
	return &worktree.Registry{
		State: p.State, Folder: p.worktreeFolder(), Closed: append(slices.Clone(p.Closed), p.State), Locks: filelock.New(filepath.Join(p.State, "locks")),
	}
}

// worktreeFolder returns the folder that holds the git worktrees of sessions.
func (p *Plan) worktreeFolder() string {
	folder := worktree.FolderFor(p.State)
	if set := p.Settings.WorktreeFolder(); set != "" && len(p.Roots) > 0 {
		folder = workspace.Expand(set, p.Roots[0], p.Home)
	}
	if canonical, err := workspace.Canonical(folder); err == nil {
		return canonical
	}
	return folder
}

// searcher makes the searcher for Grep and Glob.
func (p *Plan) searcher() *search.Searcher {
	o := search.Options{Home: p.Home, Getenv: p.options.Getenv, Watch: p.options.Watch}
	if p.options.NoIndex {
		o.Index = -1
	}
	return search.New(o)
}

// switches returns the features of the settings, overridden by those of the options. It
// warns about a feature of the settings that no tool has.
func (p *Plan) switches(known []string) map[string]bool {
	out := map[string]bool{}
	for name, on := range p.Settings.Features() {
		if err := CheckFeature(name, known); err != nil {
			p.Log.Warn(err.Error())
		}
		out[name] = on
	}
	maps.Copy(out, p.Switches)
	return out
}

// CheckFeature returns an error if a feature is not among the known ones.
func CheckFeature(name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	if near := nearest.Names(name, known, 1); len(near) == 1 {
		return fmt.Errorf("there is no feature %q; did you mean %s?", name, near[0])
	}
	switch len(known) {
	case 0:
		return fmt.Errorf("there is no feature %q; no tool has one", name)
	case 1:
		return fmt.Errorf("there is no feature %q; the only one is %s", name, known[0])
	}
	return fmt.Errorf("there is no feature %q; there are %s", name, strings.Join(known, ", "))
}
