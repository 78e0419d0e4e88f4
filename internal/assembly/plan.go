package assembly

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/exec/agent"
	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/sandbox"
	"mcp-toolset/internal/exec/spool"
	"mcp-toolset/internal/exec/worktree"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/record/trace"
	"mcp-toolset/internal/settings"
	"mcp-toolset/lsp"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
	"mcp-toolset/tools/builtin"
	"mcp-toolset/tools/config"
	"mcp-toolset/tools/output"
	"mcp-toolset/web/registry"
)

// Environment holds what a server gets from its process.
type Environment struct {
	Getenv  func(string) string
	Environ func() []string
	Home    string // home folder; "" if there is none
	Dir     string // working directory; "" if unknown
}

// Int returns a positive number from the environment, or def.
func (e Environment) Int(name string, def int) int {
	if n, err := strconv.Atoi(e.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return def
}

// connectTimeout is the timeout for connecting to an upstream server. MCP_TIMEOUT
// overrides it, in milliseconds, as in Claude Code.
const connectTimeout = 30 * time.Second

// ConnectTimeout returns the timeout for connecting to an upstream server.
func (e Environment) ConnectTimeout() time.Duration {
	return milliseconds(e.Int("MCP_TIMEOUT", int(connectTimeout/time.Millisecond)))
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// Limits are limits of one principal. 0 means the usual limit, or none.
type Limits struct {
	Sessions int   `json:"sessions,omitempty"`
	Commands int   `json:"commands,omitempty"` // that run
	Tasks    int   `json:"tasks,omitempty"`    // that run
	Output   int64 `json:"output,omitempty"`   // bytes of stored output, and of stored results, of all principals
}

// quota returns the limits of stored output; zero for the usual ones.
func (l Limits) quota() (q spool.Quota) {
	if l.Output > 0 {
		q = spool.Quota{Task: min(l.Output, spool.DefaultQuota.Task), All: l.Output}
	}
	return q
}

// Options holds the options of a server with the built-in tools that the command line
// sets. Paths are absolute.
type Options struct {
	Environment
	Version  string
	Log      *slog.Logger
	Roots    []string    // workspace folders
	Settings string      // settings file; "" if none is named
	Mode     policy.Mode // "" means that of the settings
	Preset   string      // one of settings.Presets; "": none
	Model    string      // name of the model that is served; may be ""
	Closed   []string    // files that no tool may access
	Base     []string    // folders with the workspaces of others, which no tool may access; canonical
	Own      []string    // folders in Base that are of this workspace; canonical
	Limits   Limits      // of one principal each

	MaxConcurrency int // of the calls of one client
	Cascade        pipeline.Cascade
	Deferral       tools.Deferral
	Ordered        bool // answer over stdio in the order of calls
	Channel        bool // send events over stdio as messages of a channel
	Structured     bool
	Remote         bool // clients reach the server over HTTP
	Runs           bool // calls run, so that the file of the final result is created or emptied
	Approvals      bool // this serves clients: the user can be asked, and trials are stored
	// Untried means that the sandbox is not tried in advance, so that BashReadOnly is
	// offered whether or not it works. A command tries the sandbox in any case.
	Untried bool

	Sandbox     command.Mode
	SessionName string           // name of the session, or of the first; "" means the name of the client and a number
	Skills      []string         // further folders of skills
	Carry       *worktree.Carry  // the session that the server continues; nil: none
	TaskList    string           // name of the shared work list; "" means that of the settings
	Flags       []config.Setting // flags and environment variables, for the tool Config
	Output      output.Options   // schema and file of the final result
	Foreground  time.Duration    // time after which commands move to the background
	RepeatReads bool             // return the whole content for a repeated Read of an unchanged file
	NoIndex     bool             // keep no index of searched files in memory
	Watch       bool             // rely on change notifications in searches
	Trace       string           // file for the stages of each call; "" means none
	Audit       audit.Config     // no audit log if its Path is ""; Log and Now are set by Prepare
}

// Plan is a server with the built-in tools before it is put together: folders, settings
// and limits. NewPlan makes it, Prepare finds its settings, and Build makes the server.
type Plan struct {
	Config                   // without tools
	Found    *settings.Found // set by FindSettings
	Shell    string          // shell of commands, absolute; "" means the default
	Switches map[string]bool // features switched on or off, overriding the settings
	options  Options
	live     atomic.Pointer[settings.Found] // Found, or the settings that have replaced it
	repeats  atomic.Uint64
	servers  *lsp.Manager    // language servers; set by Build
	running  *agent.Registry // agents; nil without any type; set by Build
	files    *agentFiles     // nil until agentFiles is called
}

// NewPlan returns a plan. It has no side effects.
func NewPlan(o Options) *Plan {
	return &Plan{options: o, Config: Config{
		Version: o.Version, Home: o.Home, Structured: o.Structured, Log: o.Log, Roots: o.Roots, Closed: slices.Clone(o.Closed), Base: o.Base, Own: o.Own,
		Scheduler: concurrency.Config{PerLane: o.MaxConcurrency, Now: time.Now}, Ordered: o.Ordered, Channel: o.Channel,
		Sandbox: o.Sandbox != command.Off, Defers: o.Getenv("CLAUDE_CODE_SESSION_ID") != "",
		Sessions: o.Limits.Sessions, Stored: o.Limits.Output, Cascade: o.Cascade, Mode: o.Mode, Deferral: o.Deferral, Approvals: o.Approvals, Remote: o.Remote,
	}}
}

// Prepare finds the state folder and the settings, and opens the trace and the audit
// log.
func (p *Plan) Prepare() (err error) {
	if p.State, err = state.Dir(p.options.Getenv, p.Home); err != nil {
		return err
	}
	p.HookEnv = hookEnvironment(p.options.Environ())
	if err := p.FindSettings(); err != nil {
		return err
	}
	p.Secrets = secrets{sandbox.NewHome(p.Home, append(p.allRoots(), p.worktreeFolder()))}
	p.Hosts = p.Registries()
	if err := p.openTrace(); err != nil {
		return err
	}
	if err := p.emptyOutput(); err != nil {
		return err
	}
	return p.openAudit()
}

// Registries returns the hosts that commands may reach without a rule. Files that commands can
// write name none.
func (p *Plan) Registries() []registry.Host {
	writable := append(p.allRoots(), canonicalRoots(p.Settings.Sandbox().AllowWrite)...)
	s := registry.System{Home: p.Home, Getenv: p.options.Getenv, Skip: func(path string) bool {
		canonical, err := workspace.Canonical(path)
		return err != nil || slices.ContainsFunc(writable, func(folder string) bool { return workspace.Within(folder, canonical) })
	}}
	return append(registry.Known(), s.Configured()...)
}

// emptyOutput creates the file of the final result, because the sandbox can only close a file
// that exists. It empties one that exists, so that the result of an earlier run is not taken for
// that of this one.
func (p *Plan) emptyOutput() error {
	path := p.options.Output.File
	if path == "" || !p.options.Runs {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("emptying the file of the final result: %w", err)
	}
	return nil
}

// hookEnvironment returns an environment without the variables of the server itself.
func hookEnvironment(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(v, "MCP_TOOLSET_") })
}

// FindSettings finds the settings that apply to the roots. The plan must have its roots
// and the state folder.
func (p *Plan) FindSettings() error {
	options := settings.Options{
		Explicit: p.options.Settings, Home: p.Home, Dir: p.options.Dir, Getenv: p.options.Getenv,
		Roots: p.CanonicalRoots(), State: p.State, Tools: ToolNames(), Preset: p.options.Preset,
	}
	found, err := settings.Find(options)
	if err != nil {
		return err
	}
	for _, w := range found.Warnings {
		p.Log.Warn(w)
	}
	p.Found = found
	p.live.Store(found)
	p.Follow = &Follow{
		Start: found, State: p.State, Keys: p.keyFiles, Taken: func(f *settings.Found) []*tools.Tool { p.live.Store(f); return nil },
		Projects: withFiles,
		Find:     func() (*settings.Found, error) { return settings.Find(options) },
	}
	p.Settings, p.AddTo, p.Notice = found.Merged, found.AddTo, found.Notice
	p.Guarded = append(p.Guarded, found.Files...)
	p.Closed = append(p.Closed, found.Closed...)
	p.Closed = append(p.Closed, p.keyFiles(p.Settings)...)
	return nil
}

// found returns the settings that hold now.
func (p *Plan) found() *settings.Found {
	if found := p.live.Load(); found != nil {
		return found
	}
	return p.Found
}

// keyFiles returns the files with the keys of services that settings name.
func (p *Plan) keyFiles(s *settings.Settings) (files []string) {
	if w := s.WebSearch(); w != nil && w.KeyFile != "" {
		files = append(files, w.KeyFile)
	}
	for _, key := range p.modelKeysOf(s) {
		if key.File != "" {
			files = append(files, key.File)
		}
	}
	return files
}

// openTrace opens the trace and connects it to the scheduler.
func (p *Plan) openTrace() error {
	path := p.options.Trace
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("opening the trace: %w", err)
	}
	w := trace.New(f, time.Now(), func(err error) { p.Log.Warn("the trace ends here", "error", err.Error()) })
	p.Scheduler.Observe = w.Observe
	p.Closers = append(p.Closers, w)
	p.Closed = append(p.Closed, path)
	return nil
}

// openAudit opens the audit log and denies tools access to its files.
func (p *Plan) openAudit() error {
	c := p.options.Audit
	if c.Path == "" {
		return nil
	}
	c.Log, c.Now = p.Log, time.Now
	log, err := audit.Open(c)
	if err != nil {
		return err
	}
	p.Audit = log
	p.Closed = append(p.Closed, c.Path, c.Path+".lock")
	for i := range c.MaxFiles {
		p.Closed = append(p.Closed, fmt.Sprintf("%s.%d", c.Path, i+1))
	}
	return nil
}

// Repeats returns the number of repeated reads that were answered in short.
func (p *Plan) Repeats() uint64 { return p.repeats.Load() }

// CanonicalRoots returns the canonical paths of the roots, without those of the
// settings.
func (p *Plan) CanonicalRoots() []string { return canonicalRoots(p.Roots) }

// allRoots returns the canonical paths of the roots, including those of the settings.
func (p *Plan) allRoots() []string {
	return canonicalRoots(slices.Concat(p.Roots, p.Settings.AdditionalDirectories()))
}

// canonicalRoots returns the canonical paths of folders, without duplicates. It omits a
// folder that cannot be resolved; opening the roots rejects that.
func canonicalRoots(dirs []string) []string {
	var out []string
	for _, dir := range dirs {
		if canonical, err := workspace.Canonical(dir); err == nil && !slices.Contains(out, canonical) {
			out = append(out, canonical)
		}
	}
	return out
}

// ToolNames returns the names of all built-in tools that rules may use, including former
// names.
func ToolNames() []string { return names(builtin.List(builtin.Options{})) }
