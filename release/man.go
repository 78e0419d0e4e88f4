package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcp-toolset/internal/cli"
)

// completions writes a completion script for each shell, under the names that packages use.
func completions(dir string) error {
	root := cli.Root()
	for file, generate := range map[string]func(*bytes.Buffer) error{
		"mcp-toolset.bash": func(b *bytes.Buffer) error { return root.GenBashCompletionV2(b, true) },
		"mcp-toolset.zsh":  func(b *bytes.Buffer) error { return root.GenZshCompletion(b) },
		"mcp-toolset.fish": func(b *bytes.Buffer) error { return root.GenFishCompletion(b, true) },
		"mcp-toolset.ps1":  func(b *bytes.Buffer) error { return root.GenPowerShellCompletionWithDesc(b) },
	} {
		var out bytes.Buffer
		if err := generate(&out); err != nil {
			return err
		}
		if err := write(filepath.Join(dir, file), out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manPages writes a page for the program and each command.
//
// Cobra's generator of man pages would add two modules to go.mod, which convert Markdown to roff.
func manPages(dir string) error {
	var pages func(cmd *cobra.Command) error
	pages = func(cmd *cobra.Command) error {
		if cmd.Hidden {
			return nil
		}
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		if err := write(filepath.Join(dir, name), manPage(cmd), 0o644); err != nil {
			return err
		}
		for _, below := range cmd.Commands() {
			if err := pages(below); err != nil {
				return err
			}
		}
		return nil
	}
	return pages(cli.Root())
}

// manPage returns the page of a command in the macros of package man.
func manPage(cmd *cobra.Command) []byte {
	var out bytes.Buffer
	page := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	cmd.InitDefaultHelpFlag()
	fmt.Fprintf(&out, ".TH %s 1 \"\" mcp-toolset \"mcp-toolset\"\n", roff(strings.ToUpper(page)))
	fmt.Fprintf(&out, ".SH NAME\n%s \\- %s\n", roff(page), roff(cmd.Short))
	fmt.Fprintf(&out, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	if cmd.Long != "" {
		fmt.Fprintf(&out, ".SH DESCRIPTION\n%s\n", paragraphs(cmd.Long))
	}
	flags := func(title string, set *pflag.FlagSet) {
		if !set.HasAvailableFlags() {
			return
		}
		fmt.Fprintf(&out, ".SH %s\n", title)
		set.VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			value, usage := pflag.UnquoteUsage(f)
			name := "--" + f.Name
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			fmt.Fprintf(&out, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(name+" "+value)), roff(usage))
		})
	}
	flags("OPTIONS", cmd.NonInheritedFlags())
	flags("OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if cmd.Example != "" {
		fmt.Fprintf(&out, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	var also []string
	if cmd.HasParent() {
		also = append(also, strings.ReplaceAll(cmd.Parent().CommandPath(), " ", "-"))
	}
	for _, below := range cmd.Commands() {
		if !below.Hidden {
			also = append(also, strings.ReplaceAll(below.CommandPath(), " ", "-"))
		}
	}
	if len(also) > 0 {
		fmt.Fprintln(&out, ".SH SEE ALSO")
		for i, name := range also {
			comma := ","
			if i == len(also)-1 {
				comma = ""
			}
			fmt.Fprintf(&out, ".BR %s (1)%s\n", roff(name), comma)
		}
	}
	return out.Bytes()
}

// paragraphs returns a text with the paragraphs of roff, and indented lines as they are.
func paragraphs(text string) string {
	var out []string
	for i, part := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			out = append(out, ".PP")
		}
		if strings.Contains(part, "\n ") || strings.HasPrefix(part, " ") {
			part = ".nf\n" + roff(part) + "\n.fi"
		} else {
			part = roff(part)
		}
		out = append(out, part)
	}
	return strings.Join(out, "\n")
}

// roff escapes text: backslashes, hyphens, and control characters at the start of a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
