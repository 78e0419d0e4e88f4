package resources

import (
	"context"
	_ "embed"

	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// ReadInput holds the arguments of ReadMcpResource.
type ReadInput struct {
	Server string `json:"server" minLength:"1" jsonschema:"The server that has it"`
	URI    string `json:"uri" minLength:"1" jsonschema:"Its URI"`
}

// ReadOutput describes the resource that was read. Its content is in the blocks of the
// result.
type ReadOutput struct {
	Server string `json:"server" jsonschema:"The server"`
	URI    string `json:"uri" jsonschema:"The URI"`
	Parts  int    `json:"parts" jsonschema:"How many parts the content has"`
}

//go:embed read.md
var readPrompt string

func newRead(source Source) *tools.Tool {
	const name = "ReadMcpResource"
	return tools.MustBuild(tools.Def[ReadInput, ReadInput, ReadOutput]{
		Name:        name,
		Title:       "Read a resource of another server",
		Aliases:     []string{"ReadMcpResourceTool"},
		Prompt:      readPrompt,
		SearchHint:  "read resource data file of an MCP server by URI",
		Description: func(in ReadInput) string { return "Read " + in.URI + " of the server " + in.Server },
		Loading:     tools.LoadDeferred,
		Remote:      true,
		// MCP defines reading a resource as read-only. Rules on the server decide whether
		// its effects are acceptable.
		IsReadOnly:        tools.Always[ReadInput](),
		IsConcurrencySafe: tools.Always[ReadInput](),
		IsOpenWorld:       tools.Always[ReadInput](),
		Matcher: func(in ReadInput) func(policy.Behavior, string) bool {
			return func(b policy.Behavior, pattern string) bool { return matches(b, pattern, in.Server) }
		},
		Prepare: func(_ *tools.Env, in ReadInput) (ReadInput, error) { return in, checkServer(source, in.Server) },
		Check: func(_ *tools.Env, in ReadInput) *policy.Decision {
			return check(source, name, in.Server)
		},
		ClassifierInput: func(in ReadInput) string { return in.Server + " " + in.URI },
		Call: func(ctx context.Context, env *tools.Env, in ReadInput) (tools.Result[ReadOutput], error) {
			content, err := source.ReadResource(ctx, in.Server, in.URI, env)
			if err != nil {
				return tools.Result[ReadOutput]{}, err
			}
			return tools.Result[ReadOutput]{Data: ReadOutput{in.Server, in.URI, len(content)}, Blocks: content}, nil
		},
		Render: func(o ReadOutput) []tools.Content {
			if o.Parts == 0 {
				return []tools.Content{tools.Text{Text: "[the resource is empty]"}}
			}
			return nil
		},
	})
}
