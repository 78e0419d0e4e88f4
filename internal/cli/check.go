package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"mcp-toolset/internal/assembly"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/settings"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
	"mcp-toolset/tools/builtin"
)

// exitCode ends a command with an exit code and no message.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func checkCommand(host *Host) *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use:   "check [flags] [FILE...]",
		Short: "Check settings and count their rules",
		Long: "Without FILE, lists the settings that hold for a server with these flags, the most authoritative first, and their errors:\n" +
			"unknown keys, rules that are malformed, that have no effect or are on tools or servers there are not. With FILE..., does so for each by itself.\n" +
			"Without FILE, also names running servers that hold other settings than their files have now.\n" +
			"A misspelled key or tool name is an error, which stops a server; in the file of a project without trust it is a warning.\n\n" +
			"Exit status: 0 if nothing is wrong, 1 if there are warnings, 2 if settings cannot be used, or for a wrong command line.",
		Example: "  mcp-toolset policy check\n  mcp-toolset policy check .mcp-toolset/settings.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			k := checker{out: host.Out, tools: builtin.List(builtin.Options{}), home: host.Home}
			if len(args) == 0 {
				return k.all(cmd.Context(), &c, host)
			}
			return k.files(args, host)
		},
	}
	c.add(cmd, host, inWorkspace)
	return cmd
}

// checker prints the problems of settings.
type checker struct {
	out     io.Writer
	tools   []*tools.Tool
	home    string
	servers []string // upstream servers by prefix; nil if unknown
	err     error    // from printing
	warns   int
}

func (k *checker) print(format string, args ...any) {
	if k.err == nil {
		_, k.err = fmt.Fprintf(k.out, format, args...)
	}
}

// all checks the settings that a server would use.
func (k *checker) all(ctx context.Context, c *common, host *Host) error {
	log := slog.New(slog.DiscardHandler)
	plan, err := c.plan(host, nil, log)
	wide, tooWide := errors.AsType[*wideError](err)
	if tooWide { // the settings outside of projects can be checked all the same
		plan, err = c.planOf(host, nil, log)
	}
	if err != nil {
		k.running(ctx, host, nil)
		return usageError{err}
	}
	for _, l := range plan.Found.Layers {
		k.print("%-13s %s  (%s)\n", l.Name, plain.Text(l.Path), l.Standing())
	}
	if tooWide {
		k.print("%-13s none: %s is %s; name a folder with --root DIR\n", settings.Project, wide.from, wide.what)
	}
	k.print("%-13s %s\n", "rules", ruleCounts(plan.Settings))
	k.servers = plan.Settings.UpstreamPrefixes()
	k.judge(plan.Settings, plan.CanonicalRoots(), plan.Found.Warnings, nil)
	k.running(ctx, host, plan.Found)
	return k.result(false)
}

// running prints a warning for each running server that holds other settings than its files have.
func (k *checker) running(ctx context.Context, host *Host, found *settings.Found) {
	_, others := runningServers(ctx, host, found)
	for _, text := range others {
		k.print("warning: %s\n", text)
	}
	k.warns += len(others)
}

// files checks each file separately.
func (k *checker) files(paths []string, host *Host) error {
	broken := false
	for _, path := range paths {
		file := workspace.Expand(path, host.Dir, host.Home)
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			broken = true
			complain(host.Err, fmt.Sprintf("%s is a folder; for its settings use mcp-toolset policy check --root %s", plain.Line(path), plain.Line(path)))
			continue
		}
		s, err := settings.Load(file)
		if err != nil {
			broken = true
			complain(host.Err, err.Error())
			continue
		}
		faults := s.Faults(assembly.ToolNames())
		complain(host.Err, faults...)
		broken = broken || len(faults) > 0
		if warns := k.warns; k.judge(s, nil, nil, faults) == warns && len(faults) == 0 {
			k.fine(s, path, len(paths) > 1)
		}
	}
	return k.result(broken)
}

// fine prints the number of rules of a file without problems.
func (k *checker) fine(s *settings.Settings, path string, named bool) {
	if named {
		k.print("%s: ", plain.Text(path))
	}
	k.print("ok: %s\n", ruleCounts(s))
}

func ruleCounts(s *settings.Settings) string {
	rules := s.Rules()
	return fmt.Sprintf("%d deny, %d ask, %d allow", rules.Count(policy.Deny), rules.Count(policy.Ask), rules.Count(policy.Allow))
}

// judge prints the warnings about settings, except those in said. It returns the number of warnings
// so far.
func (k *checker) judge(s *settings.Settings, roots, more, said []string) int {
	rules := policy.New(policy.Config{Rules: s.Rules(), Roots: roots, Home: k.home, KnownTools: assembly.ToolNames(), KnownServers: k.servers})
	all := slices.Concat(more, s.Warnings(), rules.Warnings())
	all = slices.DeleteFunc(all, func(w string) bool { return slices.Contains(said, w) })
	known := tools.Features(k.tools)
	for _, name := range slices.Sorted(maps.Keys(s.Features())) {
		if err := assembly.CheckFeature(name, known); err != nil {
			all = append(all, fmt.Sprintf("%s: %v", s.FeatureAt(name), err))
		}
	}
	for _, w := range all {
		k.print("warning: %s\n", w)
	}
	k.warns += len(all)
	return k.warns
}

// result returns the error with which the command ends.
func (k *checker) result(broken bool) error {
	switch {
	case k.err != nil:
		return fmt.Errorf("printing the errors: %w", k.err)
	case broken:
		return exitCode(exitUsage)
	case k.warns > 0:
		return exitCode(exitError)
	}
	return nil
}
