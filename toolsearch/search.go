// Package toolsearch provides the tools for tools that are not listed: ToolSearch finds
// them, and CallTool calls them.
//
// ToolSearch ranks by words in names, hints, titles, descriptions and inputs, weighted by
// rarity; ties by name. The index is made once for a list of tools. A call of CallTool
// becomes the call that it names before rules, hooks, schedule and audit see it.
package toolsearch

import (
	"context"
	_ "embed"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// Input holds the arguments of ToolSearch.
type Input struct {
	Query      string `json:"query" minLength:"1" jsonschema:"Words, or select:NAME,NAME"`
	MaxResults int    `json:"max_results,omitempty" minimum:"1" maximum:"50" default:"5" jsonschema:"Maximum number of tools: 5 by default, at most 50"`
}

// Output holds the tools that a search found.
type Output struct {
	Tools  []Hit    `json:"tools" jsonschema:"The tools found, the best first"`
	More   []string `json:"more,omitempty" jsonschema:"Further tools found, for which there was no room"`
	Skills []Skill  `json:"skills,omitempty" jsonschema:"Skills found, which the tool Skill loads"`
	Notes  []string `json:"notes,omitempty" jsonschema:"What was not found, and which servers are not connected"`

	text string
}

// Hit describes a tool that was found.
type Hit struct {
	Name        string `json:"name" jsonschema:"What to call it by"`
	Server      string `json:"server,omitempty" jsonschema:"The server that has it, if it is another"`
	Description string `json:"description" jsonschema:"What it does, in the words of its server"`
	InputSchema string `json:"input_schema,omitempty" jsonschema:"The JSON Schema of its arguments, as JSON text"`
	Notice      string `json:"notice,omitempty" jsonschema:"What to know before it is used"`

	short bool // the input schema is left out because other tools match better
}

const (
	// timeoutWithoutHits is the time that a search without hits waits for servers that are being
	// connected. It is short, since a model can search again.
	timeoutWithoutHits = 3 * time.Second
	// timeoutWithHits is the time that a search with hits waits for servers that are being
	// connected. Most are ready by then, and one of them may have the intended tool.
	timeoutWithHits = time.Second
)

// Options holds the services of ToolSearch. A call requires Catalogue.
type Options struct {
	// Catalogue returns the current tools of a profile.
	Catalogue func(*session.Profile) *tools.Catalogue

	// Listed reports that a found tool is added to the client's list, which can then call it by
	// its name.
	Listed bool

	// Leaves reports that a tool is left out for the client of a session, which has one like it. Then
	// only its name finds it. nil: no tool is.
	Leaves func(session.View, *tools.Tool) bool

	// Skills returns the skills that best match some words, at most most. nil: there are none.
	Skills func(words []string, most int) []Skill

	// Wake starts connecting the upstream servers that are not connected, in the
	// background. It waits at most the given time for the servers that are being connected.
	// nil: there are no upstream servers.
	Wake func(ctx context.Context, most time.Duration)
}

// Skill describes a skill that was found, which the tool Skill loads.
type Skill struct {
	Name        string `json:"name" jsonschema:"Its name"`
	Description string `json:"description" jsonschema:"When to use it"`
}

// skillTool is the name of the tool that loads skills.
const skillTool = "Skill"

//go:embed prompt.md
var prompt string

// New returns the tool ToolSearch.
func New(o Options) *tools.Tool {
	var indexes cache
	return tools.MustBuild(tools.Def[Input, prepared, Output]{
		Name:              "ToolSearch",
		Title:             "Find tools",
		Prompt:            prompt,
		SearchHint:        "find tools that are not listed",
		Description:       func(in prepared) string { return "Find tools: " + in.Query },
		Summary:           func(_ prepared, r tools.Result[Output]) string { return r.Data.summary() },
		Loading:           tools.LoadAlways,
		Finder:            true,
		IsReadOnly:        tools.Always[prepared](),
		IsConcurrencySafe: tools.Always[prepared](),
		IsIdempotent:      tools.Always[prepared](),
		Prepare:           prepare,
		Call: func(ctx context.Context, env *tools.Env, in prepared) (tools.Result[Output], error) {
			return run(ctx, env, in, o, &indexes)
		},
		Render: func(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.text}} },
	})
}

// summary returns how much was found, in one line.
func (o Output) summary() string {
	text := tools.Count(len(o.Tools)+len(o.More), "tool")
	if len(o.Skills) > 0 {
		text += " and " + tools.Count(len(o.Skills), "skill")
	}
	return text
}

// prepared is the input of a call with its parsed query.
type prepared struct {
	Input
	query query
}

func prepare(_ *tools.Env, in Input) (prepared, error) {
	q := parse(in.Query)
	switch {
	case q.selects && len(q.names) == 0:
		return prepared{}, fault.New("select: names no tool", "Put names behind it, separated by commas, or search by words.")
	case !q.selects && len(q.words)+len(q.required) == 0:
		return prepared{}, fault.New("the query has no words", "Say in a few words what the tool should do.")
	}
	return prepared{in, q}, nil
}

// found holds the result of a search in a catalogue.
type found struct {
	query     query
	catalogue *tools.Catalogue
	hits      []*tools.Tool
	skills    []Skill
	missing   []string // requested names that were not found
	byName    bool     // clients can call a tool by its name once it is found
}

func run(ctx context.Context, env *tools.Env, in prepared, o Options, indexes *cache) (tools.Result[Output], error) {
	if o.Wake != nil {
		o.Wake(ctx, 0)
	}
	f := find(o.Catalogue(env.Session.Profile), in, indexes)
	if o.Wake != nil && (f.isIncomplete() || !f.query.selects) && slices.ContainsFunc(f.catalogue.Servers(), mayHaveMore) {
		wait := timeoutWithHits
		if f.isIncomplete() {
			wait = timeoutWithoutHits
		}
		env.Waiting()
		o.Wake(ctx, wait)
		if err := ctx.Err(); err != nil {
			return tools.Result[Output]{}, err
		}
		f = find(o.Catalogue(env.Session.Profile), in, indexes)
	}
	if _, err := f.catalogue.Lookup(skillTool); err == nil && o.Skills != nil && !in.query.selects {
		f.skills = o.Skills(slices.Concat(in.query.words, in.query.required), in.MaxResults)
	}
	f.byName = o.Listed
	if o.Leaves != nil && !f.query.selects {
		f.hits = slices.DeleteFunc(f.hits, func(t *tools.Tool) bool { return o.Leaves(env.Session, t) })
	}
	return f.answer(), nil
}

// isIncomplete reports whether the search has no hits or a requested name is missing.
func (f *found) isIncomplete() bool { return len(f.hits) == 0 || len(f.missing) > 0 }

// mayHaveMore reports whether waiting may bring tools of a server.
func mayHaveMore(s tools.Server) bool {
	return s.State == tools.Pending || s.State == tools.Idle && len(s.Tools) == 0
}

// find searches a catalogue.
func find(c *tools.Catalogue, in prepared, indexes *cache) *found {
	f := &found{query: in.query, catalogue: c}
	ix := indexes.get(c.Tools())
	for _, name := range f.query.names {
		switch t := ix.names[name]; {
		case t == nil:
			f.missing = append(f.missing, name)
		case !slices.Contains(f.hits, t):
			f.hits = append(f.hits, t)
		}
	}
	if f.query.selects {
		return f
	}
	f.hits = ix.rank(f.query, in.MaxResults)
	if t := ix.names[f.query.text]; t != nil {
		f.hits = slices.DeleteFunc(f.hits, func(h *tools.Tool) bool { return h == t })
		f.hits = slices.Insert(f.hits, 0, t)
		f.hits = f.hits[:min(len(f.hits), in.MaxResults)]
	}
	return f
}

// servers returns the names of the servers that have tools, sorted.
func (f *found) servers() []string {
	var names []string
	for _, s := range f.catalogue.Servers() {
		if len(s.Tools) > 0 {
			names = append(names, s.Name)
		}
	}
	slices.SortFunc(names, strings.Compare)
	return names
}
