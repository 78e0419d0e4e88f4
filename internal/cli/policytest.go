package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/pipeline"
)

func testCommand(host *Host) *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use:   "test [flags] FILE | -",
		Short: "Compare decisions with a table",
		Long: "Decides on the calls of a table, as policy explain does, and prints each that is decided otherwise than expected. Nothing is run:\n" +
			"no tool, no hook and no classifier. A line of the table is empty, a comment that begins with #, or\n" +
			"  {\"tool\": NAME, \"input\": {...}, \"expect\": \"allow\", \"ask\" or \"deny\"}\n" +
			"with, if you like: \"layer\" (the layer that decides: rule, path, mode, read-only, default, tool, sandbox, input), \"rule\" (the text of the rule\n" +
			"that is to decide, \"\" for none) and \"why\" (shown if it is not so). A call that is not valid is as expected only with the layer input.\n" +
			"The table may have 10 MiB, a line 1 MiB. Paths in calls begin at the first root.\n\n" +
			"Exit status: 0 if all is as expected, 1 if not, 2 if the table is malformed (then nothing is decided), or for a wrong command line.",
		Example: "  mcp-toolset policy test --settings team.json decisions.jsonl",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("test takes a table: mcp-toolset policy test FILE")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			name, rows, err := loadTable(cmd.Context(), host, args[0])
			if err != nil {
				return err
			}
			a, err := c.quiet(cmd).build(host, nil, callDrain)
			if err != nil {
				return err
			}
			defer a.close()
			x := tableTest{explainer: explainer{explain: a.Explain, out: host.Out, screen: screenOf(host, host.Out)}, name: name, status: screenOf(host, host.Err)}
			return x.run(cmd.Context(), rows)
		},
	}
	c.add(cmd, host, inWorkspace, inPermissions, inSandbox, inDebug)
	return cmd
}

// loadTable reads a table from a file or, for "-", from standard input. It prints the malformed
// lines, up to maxWrong.
func loadTable(ctx context.Context, host *Host, file string) (name string, rows []expectation, err error) {
	name, in := "standard input", host.In
	if file != "-" {
		f, err := os.Open(workspace.Expand(file, host.Dir, host.Home))
		if err != nil {
			return "", nil, usageError{fmt.Errorf("reading the table: %w", err)}
		}
		defer f.Close()
		name, in = plain.Line(file), f
	}
	rows, wrong, err := readTable(ctx, in)
	switch {
	case ctx.Err() != nil:
		return "", nil, context.Cause(ctx)
	case err != nil:
		return "", nil, usageError{fmt.Errorf("reading the table %s: %w", name, err)}
	}
	for i, w := range wrong {
		if i == maxWrong {
			fmt.Fprintf(host.Err, "mcp-toolset: and %d further lines of %s\n", len(wrong)-maxWrong, name)
			break
		}
		fmt.Fprintf(host.Err, "mcp-toolset: %s:%d: %v\n", name, w.line, w.err)
	}
	if len(wrong) > 0 {
		return "", nil, exitCode(exitUsage)
	}
	return name, rows, nil
}

// tableTest decides on the rows of a table.
type tableTest struct {
	explainer
	name   string
	status screen // for progress
}

// run prints each row that differs from its expectation, and their number.
func (x *tableTest) run(ctx context.Context, rows []expectation) error {
	failed := 0
	for i, row := range rows {
		done := x.status.progress("%d of %d", i+1, len(rows))
		e := x.explain(ctx, row.tool, row.input)
		done()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if row.met(e) {
			continue
		}
		failed++
		if err := x.say(x.report(row, e)); err != nil {
			return err
		}
	}
	summary := fmt.Sprintf("%s: all %d as expected\n", x.name, len(rows))
	if failed > 0 {
		summary = fmt.Sprintf("%s: %d of %d not as expected\n", x.name, failed, len(rows))
	}
	if err := x.say(summary); err != nil {
		return err
	}
	if failed > 0 {
		return exitCode(exitError)
	}
	return nil
}

func (x *tableTest) say(text string) error {
	if _, err := io.WriteString(x.out, text); err != nil {
		return fmt.Errorf("printing decisions: %w", err)
	}
	return nil
}

// report describes a row that differs from its expectation.
func (x *tableTest) report(row expectation, e pipeline.Explanation) string {
	text := fmt.Sprintf("%s:%d: %s: expected %s, found %s\n", x.name, row.line, plain.Line(row.tool), row.wanted(), found(e))
	for _, r := range []struct{ name, value string }{{"reason", e.Decision.Reason}, {"why", row.why}} {
		if r.value != "" {
			text += fmt.Sprintf("  %-7s %s\n", r.name, plain.Line(r.value))
		}
	}
	return text
}

// found describes the decision on a call.
func found(e pipeline.Explanation) string {
	d := e.Decision
	text := fmt.Sprintf("%s by the layer %s", d.Behavior, d.Layer)
	switch {
	case e.Error != "":
		return "a call that is not valid, " + text
	case d.Location() != "":
		return fmt.Sprintf("%s by the rule %s of %s", d.Behavior, plain.Line(d.Rule), d.Location())
	}
	return text
}
