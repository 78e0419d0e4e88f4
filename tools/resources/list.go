package resources

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// maxDescription is the limit of a description in a line, in characters.
const maxDescription = 200

// ListInput holds the arguments of ListMcpResources.
type ListInput struct {
	Server string `json:"server,omitempty" jsonschema:"List those of this server (default: of all)"`
}

// ListOutput holds the resources found and the problems of servers.
type ListOutput struct {
	Resources []Resource `json:"resources" jsonschema:"The resources by server and URI"`
	Problems  []Problem  `json:"problems,omitempty" jsonschema:"Servers of which not all is listed, and why"`

	text string
}

//go:embed list.md
var listPrompt string

func newList(source Source) *tools.Tool {
	const name = "ListMcpResources"
	return tools.MustBuild(tools.Def[ListInput, ListInput, ListOutput]{
		Name:       name,
		Title:      "List resources of other servers",
		Aliases:    []string{"ListMcpResourcesTool"},
		Prompt:     listPrompt,
		SearchHint: "list resources data files of other MCP servers",
		Description: func(in ListInput) string {
			if in.Server == "" {
				return "List the resources of all other servers"
			}
			return "List the resources of the server " + in.Server
		},
		Loading:           tools.LoadDeferred,
		IsReadOnly:        tools.Always[ListInput](),
		IsConcurrencySafe: tools.Always[ListInput](),
		IsIdempotent:      tools.Always[ListInput](),
		IsOpenWorld:       tools.Always[ListInput](),
		Matcher: func(in ListInput) func(policy.Behavior, string) bool {
			return func(b policy.Behavior, pattern string) bool { return listMatches(source, in, b, pattern) }
		},
		Prepare: func(_ *tools.Env, in ListInput) (ListInput, error) {
			if in.Server == "" {
				return in, nil
			}
			return in, checkServer(source, in.Server)
		},
		Check: func(_ *tools.Env, in ListInput) *policy.Decision {
			if in.Server != "" {
				return check(source, name, in.Server)
			}
			var opinion *policy.Decision
			for _, server := range source.Servers() {
				if _, denied := source.Denied(server); denied {
					continue // a denied server is left out
				}
				if d := ask(source, name, server); d != nil && (opinion == nil || d.Layer == policy.LayerRule && opinion.Layer != policy.LayerRule) {
					opinion = d // an ask decision of a rule takes precedence
				}
			}
			return opinion
		},
		Call: func(ctx context.Context, _ *tools.Env, in ListInput) (tools.Result[ListOutput], error) {
			return list(ctx, source, in.Server)
		},
		Render: func(o ListOutput) []tools.Content { return []tools.Content{tools.Text{Text: o.text}} },
	})
}

// listMatches reports whether a rule covers a call. A call for all servers is covered by a
// deny or ask rule that covers any of them, and by an allow rule that covers all of them.
func listMatches(source Source, in ListInput, b policy.Behavior, pattern string) bool {
	if in.Server != "" {
		return matches(b, pattern, in.Server)
	}
	covered := func(server string) bool { return matches(b, pattern, server) }
	if b != policy.Allow {
		return slices.ContainsFunc(source.Servers(), covered)
	}
	return !slices.ContainsFunc(source.Servers(), func(s string) bool { return !covered(s) })
}

// list queries the servers in parallel, except those that are denied.
func list(ctx context.Context, source Source, server string) (tools.Result[ListOutput], error) {
	servers := source.Servers()
	if server != "" {
		servers = []string{server}
	}
	found, problems := make([][]Resource, len(servers)), make([][]Problem, len(servers))
	var asking sync.WaitGroup
	for i, name := range servers {
		if why, denied := source.Denied(name); denied {
			problems[i] = []Problem{{name, why}}
			continue
		}
		asking.Go(func() { found[i], problems[i] = source.Resources(ctx, name) })
	}
	asking.Wait()
	if ctx.Err() != nil {
		return tools.Result[ListOutput]{}, context.Cause(ctx)
	}
	out := ListOutput{Resources: append([]Resource{}, slices.Concat(found...)...), Problems: slices.Concat(problems...)}
	slices.SortStableFunc(out.Resources, func(a, b Resource) int {
		return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.URI, b.URI))
	})
	slices.SortStableFunc(out.Problems, func(a, b Problem) int { return strings.Compare(a.Server, b.Server) })
	out.text = out.words(len(servers))
	return tools.Result[ListOutput]{Data: out}, nil
}

// words returns the lines of the answer. No text of a server can contain a line break.
func (o *ListOutput) words(asked int) string {
	var b strings.Builder
	for _, r := range o.Resources {
		b.WriteString(r.line() + "\n")
	}
	for _, p := range o.Problems {
		fmt.Fprintf(&b, "[server %s: %s]\n", plain.Line(p.Server), plain.Line(p.Why))
	}
	switch {
	case asked == 0:
		b.WriteString("[there are no other MCP servers; the user can add some to the settings, under mcpServers]\n")
	case len(o.Resources) == 0 && len(o.Problems) < asked:
		b.WriteString("[there are no resources]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// line describes a resource in one line.
func (r *Resource) line() string {
	text := plain.Text(r.Server) + " " + plain.Text(r.URI)
	var facts []string
	for _, fact := range []string{cmp.Or(r.Title, r.Name), r.MIMEType} {
		if fact != "" {
			facts = append(facts, short(fact))
		}
	}
	if r.Size > 0 {
		facts = append(facts, fmt.Sprintf("%d bytes", r.Size))
	}
	if len(facts) > 0 {
		text += " (" + strings.Join(facts, ", ") + ")"
	}
	if r.Description != "" {
		text += ": " + short(r.Description)
	}
	return text
}

// short returns a text of a server in one line, truncated to maxDescription.
func short(text string) string {
	runes := []rune(plain.Text(strings.Join(strings.Fields(text), " ")))
	if len(runes) > maxDescription {
		return string(runes[:maxDescription-1]) + "…"
	}
	return string(runes)
}
