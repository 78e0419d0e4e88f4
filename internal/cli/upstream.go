package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcp-toolset/internal/assembly"
	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
	"mcp-toolset/upstream/pin"
)

// upstreams holds the upstream servers that the settings name.
type upstreams struct {
	declared []declaredUpstream // sorted by name
	// manage makes the manager of one server, or of all for "". It starts nothing before WakeAll.
	manage func(only string) (upstreamManager, error)
}

// declaredUpstream is a server as written in the settings. Variables are not expanded, since their
// values may be secret.
type declaredUpstream struct {
	Name    string
	Command []string // program and arguments; nil if the server has a URL
	URL     string
}

// upstreamManager is the part of a manager that the commands use.
type upstreamManager interface {
	Servers() []tools.Server // present states, with the known tools; a changed tool has a Notice
	WakeAll(ctx context.Context, most time.Duration)
	Close() error
}

// upstreamOpener finds the servers for a command line.
type upstreamOpener func(host *Host, c *common) (*upstreams, error)

// pinStore opens the store of pins.
func pinStore(host *Host) (*pin.Store, error) {
	dir, err := state.Dir(host.Getenv, host.Home)
	if err != nil {
		return nil, err
	}
	return assembly.Pins(dir), nil
}

func upstreamCommand(host *Host, open upstreamOpener) *cobra.Command {
	return group(&cobra.Command{
		Use:   "upstream",
		Short: "Show the other MCP servers of the settings and what changed in their tools",
		Long: "The settings can name other MCP servers, under mcpServers, whose tools are offered too. A model reads the definitions of tools,\n" +
			"so a definition that changes after you have looked at it may be an attack. These commands show what there is and what changed.",
	}, upstreamListCommand(host, open), upstreamDiffCommand(host, open), upstreamForgetCommand(host))
}

func upstreamListCommand(host *Host, open upstreamOpener) *cobra.Command {
	var c common
	var connect bool
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the other servers and how they are",
		Long: "Prints a line for each server of the settings: how it is, how many tools it has, how many of these changed since you last looked, and how it is\n" +
			"started, without the values of environment variables and headers. Nothing is started: tools are those that were listed last.\n" +
			"With --connect all servers are connected first, for which MCP_TIMEOUT milliseconds are given (default: 30000).\n\n" +
			"Exit status: 0, or with --connect 1 if a server could not be connected, 2 for a wrong command line.",
		Example: "  mcp-toolset upstream list --connect",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			found, err := open(host, c.quiet(cmd))
			if err != nil {
				return err
			}
			store, err := pinStore(host)
			if err != nil {
				return err
			}
			m, err := found.manage("")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, m.Close()) }()
			if connect {
				done := screenOf(host, host.Err).progress("connecting to %d servers ...", len(found.declared))
				m.WakeAll(cmd.Context(), upstreamTimeout(host))
				done()
				if err := cmd.Context().Err(); err != nil {
					return err
				}
			}
			servers := m.Servers()
			if err := listUpstreams(screenOf(host, host.Out), found.declared, servers, store); err != nil {
				return err
			}
			unconnected := func(s tools.Server) bool { return s.State != tools.Ready && s.State != tools.Refused }
			if connect && slices.ContainsFunc(servers, unconnected) {
				return failedResult{}
			}
			return nil
		},
	}
	c.add(cmd, host, inWorkspace, inDebug)
	cmd.Flags().BoolVar(&connect, "connect", false, "connect to all of them first")
	return cmd
}

func upstreamDiffCommand(host *Host, open upstreamOpener) *cobra.Command {
	var c common
	var accept, yes bool
	cmd := &cobra.Command{
		Use:   "diff [flags] [SERVER]",
		Short: "Show what changed in the tools of other servers since you last looked",
		Long: "Connects to SERVER (default: all of the settings) and shows each tool whose definition is another than when you last looked at it,\n" +
			"that is new, or that is gone. What a server listed when it was first connected counts as looked at, and so does what it lists once its\n" +
			"command or URL has become another. With --accept what is shown counts as looked at, once you agree.\n\n" +
			"Exit status: 0 if nothing changed or all was accepted, 1 if something changed or a server could not be connected, 2 for a wrong command line.",
		Example: "  mcp-toolset upstream diff github\n  mcp-toolset upstream diff --accept",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return usagef("upstream diff takes one server: mcp-toolset upstream diff SERVER")
			case yes && !accept:
				return usagef("--yes is for --accept")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if accept {
				if err := personOnly(host); err != nil {
					return err
				}
			}
			found, err := open(host, c.quiet(cmd))
			if err != nil {
				return err
			}
			only := ""
			if len(args) == 1 {
				if only = args[0]; !found.has(only) {
					return found.unknown(only)
				}
			}
			store, err := pinStore(host)
			if err != nil {
				return err
			}
			d := upstreamDiff{host: host, store: store, accept: accept, yes: yes}
			return d.run(cmd.Context(), found, only)
		},
	}
	c.add(cmd, host, inWorkspace, inDebug)
	cmd.Flags().BoolVar(&accept, "accept", false, "let what is shown count as looked at")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --accept: do not ask")
	return cmd
}

func upstreamForgetCommand(host *Host) *cobra.Command {
	return &cobra.Command{
		Use:   "forget SERVER",
		Short: "Drop what is remembered of another server",
		Long: "Drops the tools that SERVER listed last and what you have seen of them; SERVER need not be in the settings any more.\n" +
			"What it lists when it is connected next counts as looked at.",
		Example: "  mcp-toolset upstream forget github",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return usagef("upstream forget takes one server: mcp-toolset upstream forget SERVER")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := personOnly(host); err != nil {
				return err
			}
			store, err := pinStore(host)
			if err != nil {
				return err
			}
			return forgetUpstream(host, store, args[0])
		},
	}
}

// personOnly fails if this process is a command of a tool.
func personOnly(host *Host) error {
	if belowServer() || host.Getenv(command.Marker) != "" {
		return errors.New("this was started by a tool of the server; ask the user to run it")
	}
	return nil
}

// quiet sets the flags of a command whose output the user reads: the default log level is warn.
func (c *common) quiet(cmd *cobra.Command) *common {
	if !cmd.Flags().Changed("log-level") {
		c.logLevel = "warn"
	}
	return c
}

func upstreamTimeout(host *Host) time.Duration {
	return host.environment().ConnectTimeout()
}

func (u *upstreams) has(name string) bool { return slices.Contains(u.names(), name) }

func (u *upstreams) names() []string {
	names := make([]string, len(u.declared))
	for i, d := range u.declared {
		names[i] = d.Name
	}
	return names
}

// unknown returns an error that names the servers that exist.
func (u *upstreams) unknown(name string) error {
	names := u.names()
	if near := nearest.Names(name, names, 1); len(near) == 1 {
		return usagef("the settings have no server %q; did you mean %s?", name, plain.Line(near[0]))
	}
	if len(names) == 0 {
		return usagef("the settings have no server %q; %s", name, noUpstreams)
	}
	return usagef("the settings have no server %q; there are %s", name, plain.Line(strings.Join(names, ", ")))
}

func forgetUpstream(host *Host, store *pin.Store, name string) error {
	err := store.Forget(name)
	if errors.Is(err, pin.ErrUnknown) {
		names, _ := store.Servers() // names that cannot be read are not offered
		if near := nearest.Names(name, names, 1); len(near) == 1 {
			return fmt.Errorf("nothing is remembered of a server %q; did you mean %s?", name, plain.Line(near[0]))
		}
		return fmt.Errorf("nothing is remembered of a server %q; `mcp-toolset upstream list` names those that there are", name)
	}
	if err != nil {
		return shownError(err)
	}
	_, err = fmt.Fprintf(host.Out, "Nothing is remembered of the server %s any more.\n", plain.Line(name))
	return err
}
