package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
)

func explainCommand(host *Host) *cobra.Command {
	var c common
	var asJSON, batch bool
	cmd := &cobra.Command{
		Use:   "explain [flags] TOOL [JSON | -]",
		Short: "Show the decision on a call, without running it",
		Long: "Shows the decision on one call, or with --batch on each line of standard input, with its reason, and that on each simple command of a Bash call.\n" +
			"It runs no tool, no hook and no classifier. Their decisions are not in it; it shows the number of hooks.\n" +
			"Files that commands name, and whether commands are contained, are judged with the whole call. A > marks the commands because of which it is not allowed.\n" +
			"The arguments are a JSON object, - reads it from standard input, nothing means {}.\n" +
			"A line of a batch is {\"tool\": NAME, \"input\": {...}}, of 1 MiB at most; further keys are ignored.\n\n" +
			"With --json each call is answered by one line, in order, with: tool, decision (allow, ask, deny), layer (what decided: rule, path,\n" +
			"mode, read-only, default, tool, sandbox, input), rule (its text), source and line (its file and line number), read_only, concurrency_safe, commands,\n" +
			"parts (for each of commands: text, decision, layer, rule, source, line, reason, decides), hooks (how many PreToolUse hooks would run), reason, next,\n" +
			"and error if the call is not valid.\n\n" +
			"Exit status: 0 whatever is decided, 2 for a wrong command line or arguments that are not a JSON object.",
		Example: `  mcp-toolset policy explain Read '{"file_path":"README.md"}'
  mcp-toolset policy explain --json --batch < calls.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case batch && len(args) > 0:
				return usagef("--batch reads calls from standard input; leave out %q", args[0])
			case !batch && (len(args) < 1 || len(args) > 2):
				return usagef("explain takes a tool and its arguments: mcp-toolset policy explain TOOL [JSON | -]")
			}
			return nil
		},
		ValidArgsFunction: completeTool,
		RunE: func(cmd *cobra.Command, args []string) error {
			var input json.RawMessage
			if !batch {
				var err error
				if input, err = arguments(host.In, args, maxLine); err != nil {
					return err
				}
			}
			a, err := c.quiet(cmd).build(host, nil, callDrain)
			if err != nil {
				return err
			}
			defer a.close()
			x := explainer{explain: a.Explain, out: host.Out, text: !asJSON, screen: screenOf(host, host.Out)}
			if batch {
				return x.batch(cmd.Context(), host.In)
			}
			return x.print(cmd.Context(), a.Explain(cmd.Context(), args[0], input))
		},
	}
	c.add(cmd, host, inWorkspace, inPermissions, inSandbox, inDebug)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line, for programs")
	cmd.Flags().BoolVar(&batch, "batch", false, "explain each line of standard input")
	return cmd
}

// explainer explains calls and prints the explanations.
type explainer struct {
	explain func(ctx context.Context, tool string, input json.RawMessage) pipeline.Explanation
	out     io.Writer
	text    bool // print for the user, not for programs
	screen  screen
	printed bool
}

// notACall makes e the denial of an input that is not a call.
func notACall(e *pipeline.Explanation, err error) {
	e.Error = err.Error()
	e.Decision = policy.Decision{Layer: policy.LayerInput, Reason: err.Error()}
}

// print writes an explanation immediately, so that a program can wait for it.
func (x *explainer) print(ctx context.Context, e pipeline.Explanation) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var b bytes.Buffer
	if x.text {
		if x.printed {
			b.WriteByte('\n')
		}
		describe(&b, e, x.screen)
	} else {
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(forPrograms(e)); err != nil {
			return fmt.Errorf("printing the explanation: %w", err)
		}
	}
	x.printed = true
	if _, err := x.out.Write(b.Bytes()); err != nil {
		return fmt.Errorf("printing the explanation: %w", err)
	}
	return nil
}
