package toolsearch

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// CallInput holds the arguments of CallTool.
type CallInput struct {
	Name      string         `json:"name" minLength:"1" jsonschema:"The tool"`
	Arguments map[string]any `json:"arguments,omitempty" jsonschema:"Its arguments, as in its input schema"`
}

// CallOutput is empty: a call returns the result of the tool that it names.
type CallOutput struct{}

//go:embed call.md
var callPrompt string

//go:embed callreadonly.md
var callReadOnlyPrompt string

// CallTool returns the tool CallTool. Its calls become calls of other tools through Unwrap.
func CallTool() *tools.Tool {
	d := caller("CallTool", "Call a tool", callPrompt)
	d.IsDestructive = tools.Always[CallInput]()
	return tools.MustBuild(d)
}

// CallReadOnlyTool returns the tool CallReadOnlyTool, which makes only calls that change nothing.
// It is for clients that decide by the annotations of a tool.
func CallReadOnlyTool() *tools.Tool {
	d := caller("CallReadOnlyTool", "Call a tool that only reads", callReadOnlyPrompt)
	d.IsReadOnly = tools.Always[CallInput]()
	return tools.MustBuild(d)
}

func caller(name, title, prompt string) tools.Def[CallInput, CallInput, CallOutput] {
	return tools.Def[CallInput, CallInput, CallOutput]{
		Name:        name,
		Title:       title,
		Prompt:      prompt,
		SearchHint:  "call a tool that is not listed",
		Description: func(in CallInput) string { return "Call the tool " + in.Name },
		Loading:     tools.LoadAlways,
		Finder:      true,
		View:        tools.ViewCall,
		Unwrap:      unwrap,
		IsOpenWorld: tools.Always[CallInput](),
		Call: func(context.Context, *tools.Env, CallInput) (tools.Result[CallOutput], error) {
			return tools.Result[CallOutput]{}, fault.New(name+" does nothing by itself and cannot call itself", "Name another tool.")
		},
	}
}

// knownProperties lists the properties of a call, for errors.
const knownProperties = "Known properties: name, arguments."

// unwrap decodes a call strictly and returns the arguments unchanged. It also accepts
// arguments in a string that contains a JSON object, which models often send.
func unwrap(raw json.RawMessage) (string, json.RawMessage, error) {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || string(trimmed) == "null" {
		raw = json.RawMessage("{}")
	}
	if err := tools.WellFormed(raw); err != nil {
		return "", nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return "", nil, fmt.Errorf("decoding arguments: %w", err) // cannot happen: WellFormed has checked it
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if key == "name" || key == "arguments" {
			continue
		}
		next := knownProperties
		if near := nearest.Names(key, []string{"name", "arguments"}, 1); len(near) == 1 {
			next = fmt.Sprintf("Did you mean %q? %s", near[0], next)
		}
		return "", nil, fault.New(fmt.Sprintf("unknown property %s", plain.Cut(fmt.Sprintf("%q", key), maxShown)), next)
	}
	name, err := toolName(all)
	if err != nil {
		return "", nil, err
	}
	args, err := arguments(all["arguments"])
	if err != nil {
		return "", nil, err
	}
	return name, args, nil
}

// toolName returns the name of the tool to call.
func toolName(all map[string]json.RawMessage) (string, error) {
	raw, given := all["name"]
	var name *string
	switch {
	case !given:
		return "", fault.New(`required property "name" is missing`, knownProperties)
	case json.Unmarshal(raw, &name) != nil || name == nil:
		return "", fault.New(`property "name" is `+shown(raw), "Send a string.")
	case *name == "":
		return "", fault.New(`property "name" is empty`, "Name the tool to call; ToolSearch finds its name.")
	}
	return *name, nil
}

// arguments returns the arguments for the tool.
func arguments(raw json.RawMessage) (json.RawMessage, error) {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return json.RawMessage("{}"), nil
	case raw[0] == '{':
		return raw, nil
	case raw[0] != '"':
		return nil, fault.New(`property "arguments" is `+shown(raw), "Send an object.")
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, fmt.Errorf("decoding arguments: %w", err)
	}
	if err := tools.WellFormed(json.RawMessage(text)); err != nil {
		return nil, fault.New(`property "arguments" is a string that holds no JSON object`, "Send the object itself.")
	}
	return json.RawMessage(text), nil
}

// shown returns a value in a form for an error text.
func shown(raw json.RawMessage) string { return plain.Cut(plain.Text(string(raw)), maxShown) }
