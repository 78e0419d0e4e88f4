package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"mcp-toolset/internal/plain"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
)

func explainCommand(host *Host) *cobra.Command {
	var c common
	var asJSON, batch bool
	cmd := &cobra.Command{
		Use:   "explain [flags] TOOL [JSON | -]",
		Short: "Say what would be decided on a call, without running it",
		Long: "Says for one call, or with --batch for each line of standard input, what is decided on it and why. Nothing is run.\n" +
			"The arguments are a JSON object, - reads it from standard input, nothing means {}.\n" +
			"A line of a batch is {\"tool\": NAME, \"input\": {...}}, of 1 MiB at most; further keys are ignored.\n\n" +
			"With --json each call is answered by one line, in order, with: tool, decision (allow, ask, deny), layer (what decided: rule, path,\n" +
			"default, tool, input), rule (its text), source and line (its file and line number), read_only, concurrency_safe, commands, reason, next, and error if the call is not valid.\n\n" +
			"Exit status: 0 whatever is decided, 2 for a wrong command line.",
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
			if !cmd.Flags().Changed("log-level") {
				c.logLevel = "warn"
			}
			a, err := c.build(host, nil, callDrain)
			if err != nil {
				return err
			}
			defer a.close()
			x := explainer{explain: a.Explain, out: host.Out, text: !asJSON}
			if batch {
				return x.batch(cmd.Context(), host.In)
			}
			return x.one(cmd.Context(), args, host.In)
		},
	}
	c.add(cmd, host)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line, for programs")
	cmd.Flags().BoolVar(&batch, "batch", false, "explain each line of standard input")
	return cmd
}

// explainer explains calls and prints what it finds.
type explainer struct {
	explain func(ctx context.Context, tool string, input json.RawMessage) pipeline.Explanation
	out     io.Writer
	text    bool // for a person
	printed bool
}

// one explains the call of a command line.
func (x *explainer) one(ctx context.Context, args []string, in io.Reader) error {
	input := []byte("{}")
	if len(args) == 2 {
		input = []byte(args[1])
	}
	if string(input) == "-" {
		var err error
		if input, err = io.ReadAll(io.LimitReader(in, maxLine+1)); err != nil {
			return fmt.Errorf("reading the arguments: %w", err)
		}
	}
	e := pipeline.Explanation{Tool: plain.Line(args[0])}
	switch err := checkJSON(input); {
	case len(input) > maxLine:
		notACall(&e, errTooLong)
	case err != nil:
		notACall(&e, fmt.Errorf("the arguments are %w", err))
	default:
		e = x.explain(ctx, args[0], input)
	}
	return x.print(ctx, e)
}

// notACall denies what is not a call.
func notACall(e *pipeline.Explanation, err error) {
	e.Error = err.Error()
	e.Decision = policy.Decision{Layer: policy.LayerInput, Reason: err.Error()}
}

// checkJSON says what is wrong with a JSON value, as "not ...".
func checkJSON(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return errors.New("not JSON: nothing is there")
	}
	var raw json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	return nil
}

// explained is what a program gets of a call. Keys are added, never changed.
type explained struct {
	Tool            string   `json:"tool"`
	Decision        string   `json:"decision"`
	Layer           string   `json:"layer"`
	Rule            string   `json:"rule"`
	Source          string   `json:"source"`
	Line            int      `json:"line"`
	ReadOnly        bool     `json:"read_only"`
	ConcurrencySafe bool     `json:"concurrency_safe"`
	Commands        []string `json:"commands"`
	Reason          string   `json:"reason"`
	Next            string   `json:"next"`
	Error           string   `json:"error,omitempty"`
}

// print writes an explanation at once, so that a program can wait for it.
func (x *explainer) print(ctx context.Context, e pipeline.Explanation) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var b bytes.Buffer
	if x.text {
		if x.printed {
			b.WriteByte('\n')
		}
		describe(&b, e)
	} else {
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(explained{
			Tool: e.Tool, Decision: e.Decision.Behavior.String(), Layer: e.Decision.Layer,
			Rule: e.Decision.Rule, Source: e.Decision.Source, Line: e.Decision.Line,
			ReadOnly: e.Facts.ReadOnly, ConcurrencySafe: e.Facts.ConcurrencySafe,
			Commands: append([]string{}, e.Commands...), // never null
			Reason:   e.Decision.Reason, Next: e.Decision.Next, Error: e.Error,
		}); err != nil {
			return fmt.Errorf("printing the explanation: %w", err)
		}
	}
	x.printed = true
	if _, err := x.out.Write(b.Bytes()); err != nil {
		return fmt.Errorf("printing the explanation: %w", err)
	}
	return nil
}

// describe words an explanation for a person.
func describe(b *bytes.Buffer, e pipeline.Explanation) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "  %-17s %s\n", name, plain.Text(value))
		}
	}
	tool := e.Tool
	if tool == "" {
		tool = "no call"
	}
	fmt.Fprintf(b, "%s: %s\n", plain.Text(tool), e.Decision.Behavior)
	row("decided by", e.Decision.Layer)
	row("rule", e.Decision.Rule)
	row("of", e.Decision.Where())
	row("reason", e.Decision.Reason)
	row("next", e.Decision.Next)
	if e.Error != "" {
		return // it says what reason and next do; and there are no facts
	}
	row("read-only", yesNo(e.Facts.ReadOnly))
	row("concurrency-safe", yesNo(e.Facts.ConcurrencySafe))
	name := "commands"
	for _, command := range e.Commands {
		row(name, strings.TrimSpace(command))
		name = ""
	}
}
