package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mcp-toolset/internal/assembly"
	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/settings"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/skills"
)

func trustCommand(host *Host) *cobra.Command {
	var yes, list bool
	var remove string
	cmd := &cobra.Command{
		Use:   "trust [flags] [DIR]",
		Short: "Let all of a project's settings hold, not only what they forbid",
		Long: "Shows what the settings file of the project in DIR (default: the working directory), .mcp-toolset/settings.json, would allow,\n" +
			"and its skills and agent files, and trusts it as it is once you agree. Until then, and again when the settings file changes,\n" +
			"only its deny and ask rules hold, and no skill or agent file of it is used.\n\n" +
			"Exit status: 0 if the project is trusted or needs no trust, 1 if not, 2 for a wrong command line.",
		Example: "  mcp-toolset trust ~/src/app\n  mcp-toolset trust --list",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return usagef("trust takes one folder: mcp-toolset trust DIR")
			case (list || remove != "") && (len(args) > 0 || yes || list && remove != ""):
				return usagef("--list and --remove DIR stand alone")
			}
			return nil
		},
		ValidArgsFunction: completeDirs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := state.Dir(host.Getenv, host.Home)
			if err != nil {
				return err
			}
			trust := settings.NewTrust(dir)
			if list {
				return listTrust(host.Out, trust)
			}
			if belowServer() {
				return errors.New("this was started by a tool of the server; ask the user to run it")
			}
			if remove != "" {
				return removeTrust(cmd.Context(), host, trust, remove)
			}
			folder := host.Dir
			if len(args) == 1 {
				folder = workspace.Expand(args[0], host.Dir, host.Home)
			}
			return addTrust(cmd.Context(), host, trust, folder, yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "trust it without asking")
	cmd.Flags().BoolVar(&list, "list", false, "list the projects that are trusted")
	cmd.Flags().StringVar(&remove, "remove", "", "stop trusting `DIR`")
	complete(cmd, "remove", nil, cobra.ShellCompDirectiveFilterDirs)
	return cmd
}

// belowServer reports whether a supervisor of a server is an ancestor of this process. This is
// known on Linux only. Elsewhere commands have access to the state folder anyway, or Seatbelt closes it.
func belowServer() bool {
	pid := os.Getppid()
	for range 1000 {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			return false
		}
		if _, args, _ := strings.Cut(string(line), "\x00"); strings.HasPrefix(args, process.Arg+"\x00") {
			return true
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		// The name in parentheses may contain any characters.
		rest := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
		var status string
		if n, _ := fmt.Sscan(rest, &status, &pid); n != 2 || pid <= 0 {
			return false
		}
	}
	return false
}

func addTrust(ctx context.Context, host *Host, trust *settings.Trust, folder string, yes bool) error {
	dir, err := workspace.Canonical(folder)
	if err != nil {
		return fmt.Errorf("resolving %s: %w", plain.Line(folder), err)
	}
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist", plain.Line(dir))
	} else if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a folder", plain.Line(dir))
	}
	p, err := settings.ReadProject(dir)
	switch {
	case err != nil:
		return err
	}
	instructions := projectInstructions(dir)
	if p == nil {
		if len(instructions) == 0 {
			return fmt.Errorf("%s has no settings: there is no .mcp-toolset/settings.json in it, and no skill or agent file", plain.Line(dir))
		}
		p = settings.WithoutSettings(dir)
	}
	if faults := p.Settings.Faults(assembly.ToolNames()); len(faults) > 0 { // once trusted, they would stop the server
		return errors.New(strings.Join(faults, "\n"))
	}
	if len(p.Settings.Loosens())+len(instructions) == 0 {
		_, err := fmt.Fprintf(host.Out, "%s only denies and asks, which holds already.\n", plain.Line(p.Path))
		return err
	}
	if verdict, err := trust.Of(p); err != nil {
		return err
	} else if verdict == settings.Trusted {
		_, err := fmt.Fprintf(host.Out, "%s is trusted as it is.\n", plain.Line(dir))
		return err
	}
	if len(p.Settings.Loosens()) > 0 {
		if _, err := fmt.Fprintf(host.Out, "Besides its deny and ask rules, %s contains:\n", plain.Line(p.Path)); err != nil {
			return err
		}
	}
	for _, l := range p.Settings.Loosens() {
		if _, err := fmt.Fprintf(host.Out, "  line %-4d %s: %s\n", l.Line, plain.Text(l.Key), plain.Text(l.Value)); err != nil {
			return err
		}
	}
	if len(instructions) > 0 {
		if _, err := fmt.Fprintf(host.Out, "The project has instructions for models, which may change without another question:\n  %s\n", strings.Join(instructions, "\n  ")); err != nil {
			return err
		}
	}
	if !yes {
		if err := agree(host, "Trust it? [y/N] ", "it is not trusted"); err != nil {
			return err
		}
	}
	if err := trust.Add(ctx, p); err != nil {
		return err
	}
	_, err = fmt.Fprintf(host.Out, "%s is trusted until its settings change.\n", plain.Line(dir))
	return err
}

// mostInstructions is the limit of the skills and agent files that trust shows.
const mostInstructions = 50

// projectInstructions describes the skills and agent files of a project, in one line each.
func projectInstructions(dir string) (lines []string) {
	for _, k := range skills.Scan(assembly.ProjectSkills(dir), nil).Skills {
		lines = append(lines, fmt.Sprintf("skill %s: %s (%s)", k.Name, plain.Cut(k.Description, 120), plain.Line(k.File())))
	}
	agents, _ := skills.Agents(assembly.ProjectAgents(dir))
	for _, a := range agents {
		lines = append(lines, fmt.Sprintf("agent %s: %s (%s)", a.Name, plain.Cut(a.Description, 120), plain.Line(a.File)))
	}
	if more := len(lines) - mostInstructions; more > 0 {
		lines = append(lines[:mostInstructions], fmt.Sprintf("and %d more", more))
	}
	return lines
}

// agree asks the user at the terminal. It fails with the text no unless the answer is yes.
func agree(host *Host, question, no string) error {
	f, ok := host.In.(*os.File)
	if !ok || !isTerminal(f) {
		return errors.New("there is no terminal to ask at; look at it and run this with --yes")
	}
	fmt.Fprint(host.Out, question)
	answer, err := bufio.NewReader(io.LimitReader(host.In, 100)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New(no)
}

func listTrust(out io.Writer, trust *settings.Trust) error {
	dirs, err := trust.List()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		note := ""
		p, err := settings.ReadProject(dir)
		switch {
		case err != nil:
			note = "  (its settings cannot be read)"
		case p == nil:
			if !trust.Trusts(dir, nil) {
				note = "  (its settings are gone: not trusted now)"
			}
		default:
			if verdict, err := trust.Of(p); err != nil || verdict != settings.Trusted {
				note = "  (its settings changed: not trusted now)"
			}
		}
		if _, err := fmt.Fprintln(out, plain.Text(dir)+note); err != nil {
			return err
		}
	}
	return nil
}

func removeTrust(ctx context.Context, host *Host, trust *settings.Trust, folder string) error {
	dir := workspace.Expand(folder, host.Dir, host.Home)
	if canonical, err := workspace.Canonical(dir); err == nil {
		dir = canonical
	}
	was, err := trust.Remove(ctx, dir)
	if err != nil {
		return err
	}
	if !was {
		return fmt.Errorf("%s is not trusted; mcp-toolset trust --list names those that are", plain.Line(dir))
	}
	_, err = fmt.Fprintf(host.Out, "%s is trusted no more.\n", plain.Line(dir))
	return err
}
