package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcp-toolset/internal/exec/worktree"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/settings"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// common holds the flags of every command that builds a server.
type common struct {
	carry          *worktree.Carry // between the servers of one client
	roots          []string
	settings       string
	mode           string
	preset         string
	maxConcurrency int
	structured     bool
	logLevel       string
	logFile        string
	features       []string
	model          string
	readDedup      string
	searchIndex    string
	searchWatch    string
	sandbox        string
	shell          string
	foreground     time.Duration
	taskList       string
	skills         []string
	profile        string
	sessionName    string
	outputSchema   string
	output         string
	cascade        string
	ordered        bool
	channel        bool
	deferral       string
	remote         bool // whether clients reach the server over HTTP
	trace          string
	audit          auditFlags
	approvals      bool            // whether the server lives long enough to ask the user
	runs           bool            // whether calls run
	untried        bool            // whether the sandbox is not tried in advance
	inherited      *inherited      // of the process of a workspace; nil: this is none
	closed         []string        // files of the server that no tool may access; "" is ignored
	flags          *pflag.FlagSet  // of the command; nil before it begins
	rootsFrom      string          // where the roots are named
	ctx            context.Context // of the command; nil before it begins
}

var onOff = []string{"on", "off"}

// add defines the flags. The command's help shows those of the given sections, or all if none is
// given. The other flags are accepted too, so that every command takes the flags of a server.
func (c *common) add(cmd *cobra.Command, host *Host, shown ...string) {
	cmd.PreRun = func(cmd *cobra.Command, _ []string) { c.ctx, c.flags = cmd.Context(), cmd.Flags() }
	in := func(title string) flagSection { return flagSection{cmd, title} }
	c.addWorkspace(in(inWorkspace), host)
	in(inPermissions).choice(&c.mode, "mode", "", policy.Modes, "how to decide calls that no rule covers: `MODE` is "+oneOf(policy.Modes)+" (default: that of the settings)")
	in(inPermissions).choice(&c.preset, "preset", "", settings.Presets(), "allow the commands of everyday work that `NAME` lists: dev allows build, test, lint, format and package commands of common stacks, everyday git and changes of files in the workspace; rules of files take precedence")
	c.addCommands(in(inSandbox), in(inCalls), host)
	in(inSearch).choice(&c.searchIndex, "search-index", "on", onOff, "keep an index in memory, which makes repeated searches fast: `on|off`")
	in(inSearch).choice(&c.searchWatch, "search-watch", "off", onOff,
		"rely on change notifications of the system instead of checking every file: `on|off`; writes through memory mappings are not notified")
	c.addOutput(in(inOutput), host)
	in(inDebug).choice(&c.logLevel, "log-level", "info", logLevels, "what to log: `LEVEL` is "+oneOf(logLevels))
	in(inDebug).text(&c.logFile, "log-file", "", "append the log to `FILE` instead of standard error")
	if len(shown) > 0 {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			section := f.Annotations[sectionKey]
			f.Hidden = f.Hidden || len(section) > 0 && !slices.Contains(shown, section[0])
		})
	}
}

func (c *common) addWorkspace(in flagSection, host *Host) {
	in.list(&c.roots, "root", "workspace folder `DIR`; may be repeated (default: CLAUDE_PROJECT_DIR, else the working directory)")
	complete(in.cmd, "root", nil, cobra.ShellCompDirectiveFilterDirs)
	in.text(&c.settings, "settings", "", "settings `FILE` with permission rules, which takes precedence over those of the project and the user")
	in.list(&c.skills, "skills", "folder `DIR` with skills, besides those of the user and of trusted projects; may be repeated")
	complete(in.cmd, "skills", nil, cobra.ShellCompDirectiveFilterDirs)
	in.text(&c.profile, "profile", "", "offer only the tools of the profile `NAME`: explore (only reads), plan (all, in plan mode), full, one of the settings (profiles), or an agent file (.claude/agents); over HTTP, /mcp/NAME serves each")
	in.text(&c.model, "model", host.Getenv("ANTHROPIC_MODEL"), "the `MODEL` that is served, for the setting reminder.exempt")
}

func (c *common) addCommands(sandbox, calls flagSection, host *Host) {
	sandbox.choice(&c.sandbox, "sandbox", "auto", []string{"auto", "on", "off"},
		"contain commands: `MODE` is auto (as far as this system can), on (completely, or do not start) or off")
	sandbox.text(&c.shell, "shell", "", "run commands with this `SHELL` (default: bash, else sh)")
	calls.number(&c.maxConcurrency, "max-concurrency", envInt(host, "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY", 10), 1,
		"run at most `N` calls of one client at the same time")
	calls.duration(&c.foreground, "foreground-limit", 110*time.Second,
		"move commands to the background after this `TIME`, before the client gives up on the call; after 50s at most if the client asks for no progress")
	calls.text(&c.taskList, "task-list", "", "let all clients, and other servers of this user, work on one list of tasks of this `NAME`; without it each session has its own")
	calls.choice(&c.cascade, "cascade", "bash", []string{"bash", "all", "off"},
		"which calls sent together a failing command cancels: `SCOPE` is bash (other commands), all or off")
}

func (c *common) addOutput(in flagSection, host *Host) {
	in.choice(&c.deferral, "deferral", string(tools.DeferAuto), tools.Deferrals,
		"how to offer tools that need not be loaded from the start: `HOW` is auto (hints for Claude Code, dispatch for other clients once the list exceeds 4,000 tokens), "+
			"hints (listed, marked for clients that defer), dispatch (found by ToolSearch, called by CallTool), "+
			"legacy-list (as dispatch; found tools join the list of an old client) or off (listed)")
	in.on(&c.structured, "structured", "also send structuredContent and outputSchema, for programs")
	in.text(&c.outputSchema, "output-schema", "", "offer the tool SyntheticOutput, with which the model returns its final result in the form of the JSON schema in `FILE`")
	in.text(&c.output, "output", "", "write the last result of SyntheticOutput to `FILE`, which is empty until then; needs --output-schema")
	in.choice(&c.readDedup, "read-dedup", "on", onOff, "answer a repeated Read of an unchanged file with one line: `on|off`")
	in.list(&c.features, "feature", "switch a feature: `NAME=on|off`; may be repeated. The features are plan, schedules, skills, todo (the work list) and worktrees: off leaves out their tools, on lists them also for clients that have their own")
}

// complete defines the shell completion of a flag. Other flags take files or free text, which a
// shell completes by itself.
func complete(cmd *cobra.Command, flag string, values []string, d cobra.ShellCompDirective) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, d)); err != nil {
		panic(err) // the flag is not defined, or is completed twice
	}
}

// completeDirs completes positional folders.
func completeDirs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// envInt returns a positive number from the environment, or def.
func envInt(host *Host, name string, def int) int { return host.environment().Int(name, def) }

var logLevels = []string{"debug", "info", "warn", "error"}

// logger opens the log.
func (c *common) logger(host *Host) (*slog.Logger, io.Closer, error) {
	var level slog.Level
	if c.logLevel != "" {
		if err := level.UnmarshalText([]byte(c.logLevel)); err != nil {
			return nil, nil, fmt.Errorf("setting the log level: %w", err)
		}
	}
	var out io.Writer = host.Err
	var closer io.Closer = io.NopCloser(nil)
	if c.logFile != "" {
		f, err := os.OpenFile(c.logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, nil, fmt.Errorf("opening the log: %w", err)
		}
		out, closer = f, f
	}
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level}))
	if c.inherited != nil {
		log = log.With("workspace", c.inherited.Name)
	}
	return log, closer, nil
}

// workspaceDirs returns the roots: the named folders, or without any the folder that the client or
// the shell implies. It rejects an implied folder that is too wide.
func (c *common) workspaceDirs(host *Host, positional []string) ([]string, error) {
	dirs := append(slices.Clone(c.roots), positional...)
	if slices.Contains(dirs, "") {
		return nil, usagef("a workspace folder has an empty name")
	}
	if len(dirs) > 0 {
		c.rootsFrom = fromCommandLine
		return dirs, nil
	}
	from, implied := "CLAUDE_PROJECT_DIR", host.Getenv("CLAUDE_PROJECT_DIR")
	if implied == "" {
		from, implied = "the working directory", host.Dir
	}
	if implied == "" {
		return nil, errors.New("the working directory is not known; name a folder with --root DIR")
	}
	if what := tooWide(workspace.Expand(implied, host.Dir, host.Home), host.Home); what != "" {
		return nil, &wideError{from, what}
	}
	c.rootsFrom = strings.Replace(from, "CLAUDE", "environment, CLAUDE", 1)
	return []string{implied}, nil
}

// fromCommandLine is the source of roots that the command line names.
const fromCommandLine = "command line"

// wideError reports that no folder is named and the implied one is too wide.
type wideError struct{ from, what string }

func (e *wideError) Error() string {
	return fmt.Sprintf("%s is %s, which is too much to serve without being named; name a folder with --root DIR", e.from, e.what)
}

// tooWide describes a folder that is served only if it is named: the root of the file system, the
// home folder, or a folder that contains homes. For other folders it returns "".
func tooWide(dir, home string) string {
	as := func(path string) string {
		if canonical, err := workspace.Canonical(path); err == nil {
			return canonical
		}
		return filepath.Clean(path)
	}
	dir, shown := as(dir), plain.Line(dir)
	if filepath.Dir(dir) == dir {
		return shown
	}
	for _, homes := range []string{"/home", "/Users"} {
		if dir == as(homes) {
			return shown + ", the folder of the homes"
		}
	}
	switch home = as(home); {
	case !filepath.IsAbs(home):
	case dir == home:
		return "the home folder " + shown
	case workspace.Within(dir, home):
		return shown + " with the home folder in it"
	}
	return ""
}
