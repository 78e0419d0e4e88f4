// Package websearch provides the tool WebSearch, which asks the search provider of the settings,
// or a tool of an upstream server.
package websearch

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
	"mcp-toolset/web/search"
)

// Unconfigured describes how the user configures the tool, in one line.
const Unconfigured = `no search provider is configured; the user can add "webSearch": {"provider": "searxng", "url": "http://127.0.0.1:8080"} to the settings, which needs no key, or name brave, exa, tavily or mcp there`

// Options holds the provider of searches. At most one of Provider and Upstream is set; without
// both, the tool is absent.
type Options struct {
	Name     string          // name of the provider
	Provider search.Provider // nil: none
	Upstream string          // the name of an upstream tool, as models call it, that searches; "": none
	// Await connects the server of the upstream tool. Upstream requires it.
	Await    func(ctx context.Context, tool string)
	Problem  string    // why the provider of the settings cannot be used, in one line; "" if it can
	Searches *Searches // a call requires it
}

// Input holds the arguments of WebSearch.
type Input struct {
	Query   string   `json:"query" minLength:"2" maxLength:"400" jsonschema:"What to search for"`
	Allowed []string `json:"allowed_domains,omitempty" maxItems:"20" jsonschema:"Only results from these domains, at most 20"`
	Blocked []string `json:"blocked_domains,omitempty" maxItems:"20" jsonschema:"No results from these domains, at most 20"`
}

// Output holds the results of a search.
type Output struct {
	Provider string   `json:"provider" jsonschema:"The provider that searched"`
	Results  []Result `json:"results" jsonschema:"What was found, the best first"`
	Text     string   `json:"text,omitempty" jsonschema:"The answer of a provider that is a tool of another MCP server"`

	notice string // instead of a search
	query  string
	found  search.Results
	lists  bool // whether domains were given
}

// Result is a page that was found.
type Result struct {
	Title   string `json:"title" jsonschema:"Its title"`
	URL     string `json:"url" jsonschema:"Its URL"`
	Snippet string `json:"snippet,omitempty" jsonschema:"A part of its text"`
	Date    string `json:"date,omitempty" jsonschema:"When it was published, if the provider knows that"`
}

//go:embed prompt.md
var prompt string

// New returns the tool WebSearch.
func New(o Options) *tools.Tool {
	d := tools.Def[Input, prepared, Output]{
		Name:        "WebSearch",
		Title:       "Search the web",
		Prompt:      prompt,
		SearchHint:  "search the web internet for pages",
		Loading:     tools.LoadDeferred,
		Description: func(in prepared) string { return "Search the web for " + plain.Quote(in.Query) },
		Summary: func(in prepared, r tools.Result[Output]) string {
			if r.Data.notice != "" || r.Data.Text != "" {
				return ""
			}
			return tools.Count(len(r.Data.Results), "result") + " for " + plain.Quote(in.Query)
		},
		IsReadOnly:   tools.Always[prepared](),
		IsIdempotent: tools.Always[prepared](),
		IsOpenWorld:  tools.Always[prepared](),
		IsEnabled: func() error {
			switch {
			case o.Problem != "":
				return errors.New(o.Problem)
			case o.Provider == nil && o.Upstream == "":
				return errors.New(Unconfigured)
			}
			return nil
		},
		Prepare: o.prepare,
		// Rules on the tool have no pattern. One that has covers all calls, or allows none.
		Matcher:         func(prepared) func(policy.Behavior, string) bool { return matches },
		ClassifierInput: func(in prepared) string { return in.Query },
		Call:            o.call,
		Render:          func(out Output) []tools.Content { return []tools.Content{tools.Text{Text: out.text()}} },
	}
	if o.Upstream == "" { // the upstream tool may not be safe
		d.IsConcurrencySafe = tools.Always[prepared]()
	}
	return tools.MustBuild(d)
}

func matches(b policy.Behavior, _ string) bool { return b != policy.Allow }

// prepared is the input with its domains parsed.
type prepared struct {
	Input
	query search.Query
}

func (o Options) prepare(_ *tools.Env, in Input) (prepared, error) {
	p := prepared{Input: in}
	p.Query = strings.Join(strings.Fields(in.Query), " ")
	switch {
	case utf8.RuneCountInString(p.Query) < 2:
		return p, fault.New("query has no words", "Give what to search for.")
	case len(in.Allowed) > 0 && len(in.Blocked) > 0:
		return p, fault.New("allowed_domains and blocked_domains are both given", "Give one of them.")
	case len(in.Allowed)+len(in.Blocked) > 0 && o.Upstream != "":
		return p, fault.New("the provider is a tool of another MCP server, whose results cannot be limited to domains", "Leave the domains out; name the sites in the query.")
	}
	p.query.Text = p.Query
	var err error
	if p.query.Allowed, err = domains("allowed_domains", in.Allowed); err != nil {
		return p, err
	}
	p.query.Blocked, err = domains("blocked_domains", in.Blocked)
	return p, err
}

func domains(property string, texts []string) ([]search.Domain, error) {
	var out []search.Domain
	for _, text := range texts {
		d, err := search.ParseDomain(text)
		if f, ok := errors.AsType[*fault.Fault](err); ok {
			return nil, fault.New(property+": "+f.Fact, f.Next)
		}
		out = append(out, d)
	}
	return out, nil
}

// call searches, unless the session has no searches left.
func (o Options) call(ctx context.Context, env *tools.Env, in prepared) (tools.Result[Output], error) {
	out := Output{Provider: o.Name, Results: []Result{}, query: in.Query, lists: len(in.Allowed)+len(in.Blocked) > 0}
	if o.Upstream != "" {
		return o.callUpstream(ctx, env, in, out)
	}
	key := fmt.Sprintf("%q %q %q", in.Query, in.query.Allowed, in.query.Blocked)
	found, left, err := o.Searches.do(ctx, env.Session.Owner(), key, func(ctx context.Context) (search.Results, error) {
		return o.Provider.Search(ctx, in.query)
	})
	if err != nil {
		return tools.Result[Output]{}, err
	}
	if !left {
		out.notice = spent
	}
	out.found = found
	for _, r := range found.Results {
		out.Results = append(out.Results, Result(r))
	}
	return tools.Result[Output]{Data: out}, nil
}
