package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

func toolsCommand(host *Host) *cobra.Command {
	var c common
	var format string
	var digest bool
	var budget int
	var wait time.Duration
	formats := []string{"table", "json", "anthropic", "openai"}
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "Print the tool definitions",
		Long: "Prints the tools a client gets: a table; json, the exact result of tools/list; anthropic, the tools array of the messages API;\n" +
			"openai, function tools. The output has the same bytes in every process, so a prompt cache keyed on it holds.\n\n" +
			"With --deferral auto these are the tools of a client that does not defer tools by itself, unless CLAUDE_CODE_SESSION_ID is set; --deferral hints prints those of one that does.\n\n" +
			"Upstream servers whose tools are not known yet are connected to, for up to --wait. The table counts about how many tokens each definition\n" +
			"takes in a model's context, at four bytes a token. With --budget, the exit status is 1 if the tools loaded from the start take more.",
		Example: "  mcp-toolset tools\n  mcp-toolset tools --format anthropic --root ~/src/app",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.quiet(cmd).build(host, nil, 0)
			if err != nil {
				return err
			}
			defer a.close()
			a.Wake(cmd.Context(), wait)
			if err := a.printTools(cmd.Context(), screenOf(host, host.Out), format, digest); err != nil || budget < 0 {
				return err
			}
			return a.within(host.Err, budget)
		},
	}
	c.add(cmd, host, inWorkspace, inPermissions, inSandbox, inOutput, inDebug)
	own := flagSection{cmd, ""}
	own.choice(&format, "format", "table", formats, "print the tools as `FORMAT`: "+oneOf(formats))
	own.number(&budget, "budget", -1, 0, "fail if the tools that are loaded from the start take more than so many `TOKENS`")
	own.duration(&wait, "wait", 15*time.Second, "wait this `TIME` for upstream servers whose tools are not known")
	own.on(&digest, "digest", "print only the SHA-256 of the tools/list result")
	return cmd
}

func (a *app) printTools(ctx context.Context, c screen, format string, digest bool) error {
	w := c.out
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
		return printDefinitions(w, func(list []*tools.Tool) ([]anthropicTool, error) { return anthropicTools(list, a.fromStart()) }, a.offered())
	case "openai":
		return printDefinitions(w, openAITools, a.offered())
	}
	return a.printTable(c)
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

// offered returns all tools. It includes the tools that find others only if the deferral needs
// them.
func (a *app) offered() []*tools.Tool {
	searches := a.deferral().Searches()
	return slices.DeleteFunc(slices.Clone(a.Registry.View(a.Server.Profile).Tools()), func(t *tools.Tool) bool { return t.Finder && !searches })
}

// anthropicTools converts tools. It ends the cached prefix at the last tool loaded from the start.
func anthropicTools(list, start []*tools.Tool) ([]anthropicTool, error) {
	out, last := make([]anthropicTool, 0, len(list)), -1
	for i, t := range list {
		schema, err := t.InputSchema()
		if err != nil {
			return nil, err
		}
		out = append(out, anthropicTool{t.Name, t.Prompt, schema, !slices.Contains(start, t), nil})
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

// within fails if the tools loaded from the start exceed the budget.
func (a *app) within(w io.Writer, budget int) error {
	total := 0
	for _, t := range a.fromStart() {
		total += t.Tokens()
	}
	if total <= budget {
		return nil
	}
	fmt.Fprintf(w, "mcp-toolset: the tools loaded from the start take %d tokens, %d more than the budget\n", total, total-budget)
	return exitCode(exitError)
}

// fromStart returns the tools that models have from the start.
func (a *app) fromStart() []*tools.Tool {
	how := a.deferral()
	list := a.Registry.ListedFor(a.Server.Profile, how, nil)
	if how == tools.DeferOff || how.Searches() {
		return list
	}
	start := a.Registry.FromStart()
	return slices.DeleteFunc(slices.Clone(list), func(t *tools.Tool) bool { return !start(t) })
}

// printTable prints the tools for the user: purpose, loading and tokens of each, the absent tools
// with the reason, and the upstream servers.
func (a *app) printTable(c screen) error {
	list := table{cut: []int{1}}
	list.row("TOOL", "WHAT IT DOES", "READ-ONLY", "LOADED", "TOKENS")
	start := map[*tools.Tool]bool{}
	first, total := 0, 0
	for _, t := range a.fromStart() {
		start[t] = true
		first += t.Tokens()
	}
	searches := a.deferral().Searches()
	for _, t := range a.Registry.View(a.Server.Profile).Tools() {
		if t.Finder && !searches {
			continue
		}
		total += t.Tokens()
		loaded := map[bool]string{true: "always", false: "deferred"}[start[t]]
		list.row(t.Name, plain.Line(summary(t)), yesNo(t.Hints.ReadOnly || t.Declared != nil && t.Declared.ReadOnlyHint()), loaded, strconv.Itoa(t.Tokens()))
	}
	for _, absent := range a.Registry.Absent() {
		list.row(absent.Name, "absent: "+absent.Reason, "", "", "")
	}
	var b bytes.Buffer
	list.write(&b, c)
	for _, s := range a.Registry.Catalogue().Servers() {
		note := ""
		if s.Note != "" {
			note = ": " + s.Note
		}
		fmt.Fprintf(&b, "server %s: %s, %d tools%s\n", s.Name, s.State, len(s.Tools), note)
	}
	fmt.Fprintf(&b, "about %d tokens in all, %d of them loaded from the start\n", total, first)
	_, err := b.WriteTo(c.out)
	return err
}

// summary returns the first sentence of a tool's description.
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
