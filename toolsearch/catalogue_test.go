package toolsearch_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/tools"
	"mcp-toolset/tools/bash"
	"mcp-toolset/tools/builtin"
	"mcp-toolset/toolsearch"
)

// upstream returns servers with tools like those of real servers.
func upstream(t testing.TB) []tools.Server {
	t.Helper()
	data, err := os.ReadFile("testdata/catalogue.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string][]struct {
		Name, Title, Description string
		InputSchema              json.RawMessage
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	var servers []tools.Server
	for server, defs := range all {
		s := tools.Server{Name: server, State: tools.Ready}
		for _, d := range defs {
			s.Tools = append(s.Tools, foreign(t, server, d.Name, tools.Foreign{Title: d.Title, Prompt: d.Description, InputSchema: d.InputSchema}))
		}
		servers = append(servers, s)
	}
	return servers
}

// foreign returns a deferred tool of a server.
func foreign(t testing.TB, server, name string, f tools.Foreign) *tools.Tool {
	t.Helper()
	f.Server, f.Name, f.Loading = server, "mcp__"+server+"__"+name, tools.LoadDeferred
	if f.InputSchema == nil {
		f.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	tool, err := tools.BuildForeign(f)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// registry returns a registry of the built-in tools and those of servers.
func registry(t testing.TB, servers ...tools.Server) *tools.Registry {
	t.Helper()
	shell, err := command.New(command.Config{Shell: "/bin/bash", Sandbox: command.Off, State: t.TempDir()}) // without a shell Bash is not offered
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shell.Close() })
	return registryOf(t, builtin.List(builtin.Options{Bash: bash.Options{Commands: shell}}), servers...)
}

// registryOf returns a registry of the tools of a list, of this package and of servers.
func registryOf(t testing.TB, own []*tools.Tool, servers ...tools.Server) *tools.Registry {
	t.Helper()
	own = slices.DeleteFunc(own, func(t *tools.Tool) bool { return t.Finder })
	r, err := tools.NewRegistry(append(own, toolsearch.New(toolsearch.Options{}), toolsearch.CallTool()), tools.Gates{Deferral: tools.DeferDispatch})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range r.SetServers(servers) {
		t.Error(err)
	}
	return r
}

// searching returns ToolSearch for the tools of a registry.
func searching(r *tools.Registry) *tools.Tool {
	return toolsearch.New(toolsearch.Options{Catalogue: r.View})
}

// count returns a tool of our own whose definition is fixed.
func count() []*tools.Tool {
	type input struct {
		Text string `json:"text" jsonschema:"What to count in"`
	}
	type output struct{}
	return []*tools.Tool{tools.MustBuild(tools.Def[input, input, output]{
		Name: "WordCount", Aliases: []string{"Tally"}, Prompt: "Counts the words of \"a text\". They are what is between blanks.",
		SearchHint: "how many words there are",
		Call:       func(context.Context, *tools.Env, input) (r tools.Result[output], err error) { return r, nil },
	})}
}

// args returns the arguments of a search.
func args(query string, most int) string {
	raw, err := json.Marshal(toolsearch.Input{Query: query, MaxResults: most})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// structured decodes the structured output of a response.
func structured(t testing.TB, r *tools.Response, into any) {
	t.Helper()
	raw, err := r.Structured()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}
