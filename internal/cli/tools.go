package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mcp-toolset/tools"
)

func toolsCommand(host *Host) *cobra.Command {
	var c common
	var format string
	var digest bool
	formats := []string{"table", "json", "anthropic", "openai"}
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "Print the tool definitions",
		Long: "Prints the tools a client gets: a table; json, the exact result of tools/list; anthropic, the tools array of the messages API;\n" +
			"openai, function tools. The output has the same bytes in every process, so a prompt cache keyed on it holds.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(formats, format) {
				return usagef("--format is %q; use %s", format, strings.Join(formats, ", "))
			}
			if !cmd.Flags().Changed("log-level") {
				c.logLevel = "warn"
			}
			a, err := c.build(host, nil, 0)
			if err != nil {
				return err
			}
			defer a.close()
			return a.printTools(cmd.Context(), host.Out, format, digest)
		},
	}
	c.add(cmd, host)
	cmd.Flags().StringVar(&format, "format", "table", "table, json, anthropic or openai")
	complete(cmd, "format", formats, cobra.ShellCompDirectiveNoFileComp)
	cmd.Flags().BoolVar(&digest, "digest", false, "print only the SHA-256 of the tools/list result")
	return cmd
}

func (a *app) printTools(ctx context.Context, w io.Writer, format string, digest bool) error {
	if digest {
		sum, err := a.digest(ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(w, sum)
		return err
	}
	switch format {
	case "json":
		list, err := a.Server.List(ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", list)
		return err
	case "anthropic":
		return printDefinitions(w, anthropicTools, a.Registry.Tools())
	case "openai":
		return printDefinitions(w, openAITools, a.Registry.Tools())
	}
	return printTable(w, a.Registry)
}

func printDefinitions[T any](w io.Writer, convert func([]*tools.Tool) ([]T, error), list []*tools.Tool) error {
	defs, err := convert(list)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(defs); err != nil {
		return fmt.Errorf("encoding the tools: %w", err)
	}
	_, err = out.WriteTo(w)
	return err
}

// anthropicTool is an entry of the messages API's tools array.
type anthropicTool struct {
	Name         string            `json:"name"`
	Description  string            `json:"description"`
	InputSchema  json.RawMessage   `json:"input_schema"`
	DeferLoading bool              `json:"defer_loading,omitempty"`
	CacheControl map[string]string `json:"cache_control,omitempty"`
}

// anthropicTools ends the cached prefix at the last tool that is loaded from
// the start.
func anthropicTools(list []*tools.Tool) ([]anthropicTool, error) {
	out, last := make([]anthropicTool, 0, len(list)), -1
	for i, t := range list {
		schema, err := t.InputSchema()
		if err != nil {
			return nil, err
		}
		out = append(out, anthropicTool{t.Name, t.Prompt, schema, t.Loading == tools.LoadDeferred, nil})
		if !out[i].DeferLoading {
			last = i
		}
	}
	if last >= 0 {
		out[last].CacheControl = map[string]string{"type": "ephemeral"}
	}
	return out, nil
}

// openAITool is a function tool.
type openAITool struct {
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

func openAITools(list []*tools.Tool) ([]openAITool, error) {
	out := make([]openAITool, 0, len(list))
	for _, t := range list {
		schema, err := t.InputSchema()
		if err != nil {
			return nil, err
		}
		out = append(out, openAITool{"function", openAIFunction{t.Name, t.Prompt, schema}})
	}
	return out, nil
}

// printTable prints the tools for a person, and what is absent and why.
func printTable(w io.Writer, r *tools.Registry) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "TOOL\tWHAT IT DOES\tREAD-ONLY\tLOADED")
	for _, t := range r.Tools() {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", t.Name, summary(t), yesNo(t.Hints.ReadOnly), t.Loading)
	}
	for _, a := range r.Absent() {
		fmt.Fprintf(tw, "%s\tabsent: %s\t\t\n", a.Name, a.Reason)
	}
	return tw.Flush()
}

// summary is the first sentence of a tool's description.
func summary(t *tools.Tool) string {
	text, _, _ := strings.Cut(strings.ReplaceAll(t.Prompt, "\n", " "), ". ")
	text, _, _ = strings.Cut(text, ": ")
	return strings.TrimSuffix(text, ".")
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
