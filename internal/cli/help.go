package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcp-toolset/internal/text/terminal"
)

const (
	// helpWidth is the width of help in columns. A narrower terminal reduces it.
	helpWidth = 100
	// flagColumn is the limit for a flag with its usage on the same line, in columns. The usage of
	// a longer flag begins on the next line.
	flagColumn = 28
)

// setHelp makes root and its subcommands print our help.
func setHelp(root *cobra.Command, host *Host) {
	width := helpWidth
	if w := screenOf(host, host.Out).width; w > 0 {
		width = min(width, max(w, 40))
	}
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		text := cmd.Long
		if text == "" {
			text = cmd.Short
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s", fill(text, width), usageText(cmd, width))
	})
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := fmt.Fprint(cmd.OutOrStderr(), usageText(cmd, width))
		return err
	})
}

// usageText returns the usage of a command: syntax, examples, subcommands, and flags by section.
func usageText(cmd *cobra.Command, width int) string {
	var b bytes.Buffer
	b.WriteString("Usage:\n")
	if cmd.Runnable() && !cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				entry(&b, "  "+sub.Name(), sub.NamePadding()+4, sub.Short, width)
			}
		}
	}
	writeFlags(&b, cmd, width)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n`%s COMMAND --help` describes a command.\n", cmd.CommandPath())
	}
	return b.String()
}

// writeFlags writes the flags of a command by section.
func writeFlags(b *bytes.Buffer, cmd *cobra.Command, width int) {
	flags := map[string][]*pflag.Flag{}
	hidden := false
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		section := ""
		if s := f.Annotations[sectionKey]; len(s) > 0 {
			section = s[0]
		}
		if f.Hidden {
			hidden = hidden || section != "" && f.Name != "feature"
			return
		}
		flags[section] = append(flags[section], f)
	})
	for _, title := range sections {
		list := flags[title]
		if len(list) == 0 {
			continue
		}
		if title == "" {
			title = "Flags"
		}
		fmt.Fprintf(b, "\n%s:\n", title)
		for _, f := range list {
			writeFlag(b, f, width)
		}
	}
	if hidden {
		b.WriteString("\n" + fill("It also accepts the other flags that `mcp-toolset stdio --help` lists for all servers.", width) + "\n")
	}
}

// writeFlag writes a flag with its metavariable, usage and default.
func writeFlag(b *bytes.Buffer, f *pflag.Flag, width int) {
	metavar, usage := pflag.UnquoteUsage(f)
	head := "      --" + f.Name
	if f.Shorthand != "" {
		head = fmt.Sprintf("  -%s, --%s", f.Shorthand, f.Name)
	}
	if metavar != "" {
		head += " " + metavar
	}
	if def := f.DefValue; !slices.Contains([]string{"", "false", "[]", unset}, def) {
		usage += " (default: " + def + ")"
	}
	entry(b, head, flagColumn+8, usage, width)
}

// entry writes a term and its meaning, which begins at the given column.
func entry(b *bytes.Buffer, term string, column int, meaning string, width int) {
	indent := strings.Repeat(" ", column)
	text := indentedFill(meaning, indent, width)
	if n := utf8.RuneCountInString(term); n+2 <= column {
		text = term + text[n:]
	} else {
		text = term + "\n" + text
	}
	b.WriteString(text + "\n")
}

// fill wraps a text at a width. Consecutive lines form a paragraph; an indented line is wrapped by
// itself.
func fill(text string, width int) string {
	var out, paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			out, paragraph = append(out, indentedFill(strings.Join(paragraph, " "), "", width)), nil
		}
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if line != "" && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
			paragraph = append(paragraph, line)
			continue
		}
		flush()
		body := strings.TrimLeft(line, " \t")
		out = append(out, indentedFill(body, line[:len(line)-len(body)], width))
	}
	flush()
	return strings.Join(out, "\n") + "\n"
}

// indentedFill wraps a text into indented lines of at most width columns. A longer word gets a line
// of its own.
func indentedFill(text, indent string, width int) string {
	var b strings.Builder
	used := 0
	for word := range strings.SplitSeq(text, " ") {
		n := terminal.Columns(word)
		switch {
		case used == 0:
			b.WriteString(indent)
			used = len(indent)
		case used+1+n > width:
			b.WriteString("\n" + indent)
			used = len(indent)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}
