package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcp-toolset/internal/assembly"
	"mcp-toolset/tools/builtin"
)

// callDrain is the timeout for the server to finish a call after its answer.
const callDrain = time.Second

func callCommand(host *Host) *cobra.Command {
	var c common
	var asJSON, explain bool
	cmd := &cobra.Command{
		Use:   "call [flags] TOOL [JSON | -]",
		Short: "Run one call as a client would and print its result",
		Long: "Runs one call through the same server as any client and prints its content; with --json the whole result.\n" +
			"The arguments are a JSON object, - reads it from standard input, nothing means {}.\n" +
			"With --explain it first prints the decision on the call to standard error, as policy explain does, without hooks and classifiers.\n\n" +
			"Exit status: 0 for a result, 1 for an error result, 2 for a wrong command line.",
		Example: `  mcp-toolset call Read '{"file_path":"README.md"}'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usagef("call takes a tool and its arguments: mcp-toolset call TOOL [JSON | -]")
			}
			return nil
		},
		ValidArgsFunction: completeTool,
		RunE: func(cmd *cobra.Command, args []string) error {
			input, err := arguments(host.In, args, 0)
			if err != nil {
				return err
			}
			c.untried, c.runs = !needsTrial(args[0]), true
			a, err := c.quiet(cmd).build(host, nil, callDrain)
			if err != nil {
				return err
			}
			defer a.close()
			if _, err := a.Registry.View(a.Server.Profile).Lookup(args[0]); err != nil {
				return usageError{err}
			}
			if explain {
				if err := explainFirst(cmd.Context(), screenOf(host, host.Err), a, args[0], input); err != nil {
					return err
				}
			}
			client, err := a.Server.Connect(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			line := screenOf(host, host.Err).statusLine()
			if line != nil {
				client.Progress = line.show
			}
			content, result, failed, err := client.Call(cmd.Context(), args[0], input)
			line.close()
			if err != nil {
				return err
			}
			if asJSON {
				if err := screenOf(host, host.Out).printJSON(result); err != nil {
					return err
				}
			} else if err := printContent(screenOf(host, host.Out), content, isDiff(result), failed); err != nil {
				return err
			}
			if failed {
				return failedResult{}
			}
			return nil
		},
	}
	c.add(cmd, host, inWorkspace, inPermissions, inSandbox, inDebug)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the whole result as JSON")
	cmd.Flags().BoolVar(&explain, "explain", false, "say on standard error what is decided on the call and why, then run it")
	return cmd
}

// needsTrial reports whether the answer to a call depends on whether BashReadOnly is offered,
// which a trial of the sandbox decides.
func needsTrial(tool string) bool {
	return !slices.Contains(assembly.ToolNames(), tool) || slices.Contains([]string{"BashReadOnly", "CallReadOnlyTool", "CallTool", "ToolSearch"}, tool)
}

// explainFirst explains the call that runs next.
func explainFirst(ctx context.Context, out screen, a *app, tool string, input json.RawMessage) error {
	x := explainer{explain: a.Explain, out: out.out, text: true, screen: out}
	return x.print(ctx, x.explain(ctx, tool, input))
}

// completeTool completes the name of a tool as the first argument.
func completeTool(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		for _, t := range builtin.List(builtin.Options{}) {
			names = append(names, t.Name+"\t"+summary(t))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// arguments returns the arguments of a call from the command line TOOL [JSON | -]. On standard
// input they may have up to most bytes; 0 means no limit.
func arguments(in io.Reader, args []string, most int64) (json.RawMessage, error) {
	text := "{}"
	if len(args) == 2 {
		text = args[1]
	}
	if text == "-" {
		if most > 0 {
			in = io.LimitReader(in, most+1)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("reading the arguments: %w", err)
		}
		if most > 0 && int64(len(data)) > most {
			return nil, usageError{errTooLong}
		}
		text = string(data)
	}
	raw := json.RawMessage(bytes.TrimSpace([]byte(text)))
	if !json.Valid(raw) {
		example := `{"file_path":"README.md"}`
		if strings.HasPrefix(args[0], "Bash") || args[0] == "PowerShell" {
			example = `{"command":"ls"}`
		}
		return nil, usagef("the arguments are not JSON; quote them for the shell: '%s'", example)
	}
	if raw[0] != '{' {
		return nil, usagef("the arguments are JSON but not an object: use {...}")
	}
	return raw, nil
}
