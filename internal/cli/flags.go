package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/settings"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// common are the flags of every command that builds a server.
type common struct {
	roots          []string
	settings       string
	mode           string
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
	cascade        string
	ordered        bool
	deferral       string
	remote         bool // the server is reached over HTTP
	trace          string
	audit          auditFlags
	approvals      bool          // the server lives long enough for persons to be asked
	repeats        atomic.Uint64 // repeated reads answered in short
	closed         []string      // files of the server's own that no tool may touch; "" is none
	found          *settings.Found
}

func (c *common) add(cmd *cobra.Command, host *Host) {
	f := cmd.Flags()
	f.StringArrayVar(&c.roots, "root", nil, "workspace `DIR`; may be given several times (default: CLAUDE_PROJECT_DIR, else the working directory)")
	f.StringVar(&c.settings, "settings", "", "settings `FILE` with permission rules and features, over those of the project and the user")
	f.StringVar(&c.mode, "mode", "", "how calls are decided that no rule covers: `MODE` is "+strings.Join(policy.Modes, ", ")+" (default: that of the settings)")
	complete(cmd, "mode", policy.Modes, cobra.ShellCompDirectiveNoFileComp)
	f.IntVar(&c.maxConcurrency, "max-concurrency", envInt(host, "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY", 10),
		"how many calls of one client that can run beside others do so at once")
	f.BoolVar(&c.structured, "structured", false, "send structuredContent and outputSchema too, for programs")
	f.StringVar(&c.logLevel, "log-level", "info", "what to log: debug, info, warn or error")
	f.StringVar(&c.logFile, "log-file", "", "append the log to `FILE` instead of standard error")
	f.StringArrayVar(&c.features, "feature", nil, "switch a feature: `NAME=on` or NAME=off; may be given several times")
	f.StringVar(&c.model, "model", host.Getenv("ANTHROPIC_MODEL"), "the `MODEL` that is served, for settings that depend on it")
	f.StringVar(&c.readDedup, "read-dedup", "on", "answer a repeated Read of an unchanged file in short: on or off")
	f.StringVar(&c.searchIndex, "search-index", "on", "keep an index in memory that makes repeated searches fast: on or off")
	f.StringVar(&c.searchWatch, "search-watch", "off", "trust what the system tells of changes instead of looking at every file: on or off; it is not told of stores through memory mappings")
	f.StringVar(&c.sandbox, "sandbox", "auto", "contain commands: auto (as far as this system can), on (wholly, or do not start) or off")
	f.StringVar(&c.shell, "shell", "", "run commands with this `SHELL` (default: bash, else sh)")
	f.DurationVar(&c.foreground, "foreground-limit", 110*time.Second, "move commands to the background after this time, before the client gives up on the call")
	f.StringVar(&c.cascade, "cascade", "bash", "what a failing command cancels of the calls sent with it: bash (other commands), all or off")
	f.StringVar(&c.deferral, "deferral", string(tools.DeferAuto), "how tools are offered that need not be loaded from the start: `HOW` is auto (hints for Claude Code, dispatch for other clients once the list exceeds 4,000 tokens), hints (listed, marked for clients that defer), dispatch (found by ToolSearch, called by CallTool), legacy-list (as dispatch, and found tools join the list of an old client) or off (listed)")
	complete(cmd, "deferral", tools.Deferrals, cobra.ShellCompDirectiveNoFileComp)
	complete(cmd, "cascade", []string{"bash", "all", "off"}, cobra.ShellCompDirectiveNoFileComp)
	complete(cmd, "sandbox", []string{"auto", "on", "off"}, cobra.ShellCompDirectiveNoFileComp)
	complete(cmd, "search-watch", []string{"on", "off"}, cobra.ShellCompDirectiveNoFileComp)
	complete(cmd, "search-index", []string{"on", "off"}, cobra.ShellCompDirectiveNoFileComp)
	complete(cmd, "read-dedup", []string{"on", "off"}, cobra.ShellCompDirectiveNoFileComp)
	complete(cmd, "root", nil, cobra.ShellCompDirectiveFilterDirs)
	complete(cmd, "log-level", []string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp)
}

// complete tells the shell what a flag takes. Flags not named here take files
// or free text, which is what a shell offers by itself.
func complete(cmd *cobra.Command, flag string, values []string, d cobra.ShellCompDirective) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, d)); err != nil {
		panic(err) // the flag is not defined, or completed twice
	}
}

// completeDirs completes positional folders.
func completeDirs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// envInt is a positive number of the environment, or the default.
func envInt(host *Host, name string, def int) int {
	if n, err := strconv.Atoi(host.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return def
}

// logger opens the log.
func (c *common) logger(host *Host) (*slog.Logger, io.Closer, error) {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	level, ok := levels[strings.ToLower(c.logLevel)]
	if !ok {
		return nil, nil, usagef("--log-level is %q; use debug, info, warn or error", c.logLevel)
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
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level})), closer, nil
}

// workspaceDirs are the folders to serve: named ones, else what the client or
// the shell implies.
func (c *common) workspaceDirs(host *Host, positional []string) ([]string, error) {
	dirs := append(slices.Clone(c.roots), positional...)
	if slices.Contains(dirs, "") {
		return nil, usagef("a workspace folder has an empty name")
	}
	if len(dirs) > 0 {
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
		return nil, fmt.Errorf("%s is %s, which is too much to serve without being named; name a folder with --root DIR", from, what)
	}
	return []string{implied}, nil
}

// tooWide describes a folder that is served only if it is named: the root of the
// file system, the home folder or a folder that holds homes. It returns "" for any
// other.
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
