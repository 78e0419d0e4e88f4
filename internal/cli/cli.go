// Package cli implements the command line: commands, flags and exit codes. Package
// assembly makes the servers.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcp-toolset/internal/assembly"
	_ "mcp-toolset/internal/exec/helper" // runs before most packages are initialized
	"mcp-toolset/internal/file/document"
	"mcp-toolset/internal/record/lossy"
	"mcp-toolset/internal/text/nearest"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1 // the command failed, or the result of the call is an error
	exitUsage = 2 // the command line is wrong
)

// Host holds what the process gets from its environment.
type Host struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Environ  func() []string
	Unsetenv func(string)
	Home     string // "" if there is none
	Dir      string // working directory, "" if unknown
}

// OS returns the environment of this process.
func OS() *Host {
	home, _ := os.UserHomeDir()
	dir, _ := os.Getwd()
	return &Host{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Environ: os.Environ,
		Unsetenv: func(k string) { _ = os.Unsetenv(k) }, Home: home, Dir: dir,
	}
}

func (h *Host) environment() assembly.Environment {
	return assembly.Environment{Getenv: h.Getenv, Environ: h.Environ, Home: h.Home, Dir: h.Dir}
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// failedResult ends a command with exitError and no message.
type failedResult struct{}

func (failedResult) Error() string { return "the result is an error" }

// Main runs a command line and returns the exit code.
func Main(args []string, host *Host) int {
	// The server starts this process for documents. Package helper handles the others.
	if len(args) > 0 && args[0] == document.Arg {
		return document.Serve(args[1:], os.Stdin, host.Out)
	}
	// The client of a stdio server may vanish at any time. A write must then fail, so that the
	// server ends in order and is not killed by the signal.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot(host)
	root.SetArgs(args)
	root.SetIn(host.In)
	root.SetOut(host.Out)
	root.SetErr(host.Err)
	status := exitStatus(host, root.ExecuteContext(ctx))
	if log, ok := host.Err.(*lossy.Writer); ok {
		log.Flush(flushTime)
	}
	return status
}

// flushTime is the timeout for writing the end of a server's log.
const flushTime = 250 * time.Millisecond

// detach puts a queue before standard error, so that a server never waits for a reader that has
// stopped.
func (h *Host) detach() { h.Err = lossy.New(h.Err) }

// exitStatus prints the error and returns the exit code.
func exitStatus(host *Host, err error) int {
	var usage usageError
	var code exitCode
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, failedResult{}):
		return exitError
	case errors.As(err, &usage):
		complain(host.Err, err.Error())
		return exitUsage
	default:
		complain(host.Err, err.Error())
		return exitError
	}
}

// complain prints errors, each of which may have several lines.
func complain(w io.Writer, errs ...string) {
	for _, err := range errs {
		for line := range strings.SplitSeq(err, "\n") {
			fmt.Fprintf(w, "mcp-toolset: %s\n", line)
		}
	}
}

// Root returns the tree of commands, for programs that describe it.
func Root() *cobra.Command { return newRoot(OS()) }

func newRoot(host *Host) *cobra.Command {
	root := group(&cobra.Command{
		Use:           "mcp-toolset",
		Short:         "The toolset of a coding agent, as an MCP server",
		Long:          "mcp-toolset gives any model host the tools of a coding agent over the Model Context Protocol.",
		Example:       "  mcp-toolset stdio ~/src/app\n  mcp-toolset call Read '{\"file_path\":\"README.md\"}'",
		SilenceErrors: true,
		SilenceUsage:  true,
	}, stdioCommand(host), httpCommand(host), workspaceCommand(host), callCommand(host), toolsCommand(host), installCommand(host), uninstallCommand(host), doctorCommand(host), policyCommand(host), skillsCommand(host), worktreesCommand(host), traceCommand(host), trustCommand(host),
		approvalsCommand(host), approveCommand(host), denyCommand(host), answerCommand(host), undoCommand(host), consoleCommand(host), upstreamCommand(host, openUpstreams), versionCommand(host))
	// Cobra's own version flag needs a template, and text/template makes the linker retain every
	// exported method: 5 MB, and several milliseconds at each start.
	root.Flags().BoolP("version", "v", false, "version for mcp-toolset")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		text := ""
		if v, _ := cmd.Flags().GetBool("version"); v {
			text = fmt.Sprintf("mcp-toolset %s\n", about())
		} else {
			text = welcomeText(host)
		}
		_, err := fmt.Fprint(host.Out, text)
		return err
	}
	root.SetFlagErrorFunc(flagError)
	setHelp(root, host)
	root.SetHelpCommand(helpCommand())
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			group(cmd)
			cmd.Short = "Print a completion script for a shell"
			for _, shell := range cmd.Commands() {
				shell.Args = noArgs
			}
		}
	}
	return root
}

// group makes cmd a command that only holds subcommands.
func group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(below...)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(cmd, args[0])
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// noArgs rejects arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef("%s takes no arguments; leave out %q", strings.TrimPrefix(cmd.CommandPath(), "mcp-toolset "), args[0])
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND ...]",
		Short: "Describe a command",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if parent, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, sub := range parent.Commands() {
					names = append(names, sub.Name()+"\t"+sub.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			at := cmd.Root()
			for _, name := range args {
				i := slices.IndexFunc(at.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
				if i < 0 {
					return unknownCommand(at, name)
				}
				at = at.Commands()[i]
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		},
	}
}

// unknownCommand returns an error that suggests the nearest command.
func unknownCommand(parent *cobra.Command, name string) error {
	var names []string
	for _, c := range parent.Commands() {
		names = append(names, c.Name())
	}
	if near := nearest.Names(name, names, 1); len(near) == 1 {
		return usagef("unknown command %q; did you mean %s?", name, near[0])
	}
	return usagef("unknown command %q; see %s --help", name, parent.CommandPath())
}

// flagError words the error of a flag. For an unknown flag it suggests the nearest one.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var valueless *pflag.ValueRequiredError
	switch {
	case errors.As(err, &invalid):
		return valueError(invalid)
	case errors.As(err, &valueless):
		return usagef("--%s needs a value", valueless.GetFlag().Name)
	}
	if !errors.As(err, &unknown) {
		return usageError{err}
	}
	name := unknown.GetSpecifiedName()
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := nearest.Names(name, names, 1); len(near) == 1 && len(name) > 1 {
		return usagef("unknown flag --%s; did you mean --%s?", name, near[0])
	}
	return usagef("unknown flag %s; see %s --help", map[bool]string{true: "-", false: "--"}[len(name) == 1]+name, cmd.CommandPath())
}
