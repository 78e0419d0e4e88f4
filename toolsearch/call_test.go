package toolsearch_test

import (
	"encoding/json"
	"errors"
	"testing"

	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
	"mcp-toolset/toolsearch"
)

// TestUnwrap checks the call in a call of CallTool, and all errors of invalid calls.
func TestUnwrap(t *testing.T) {
	unwrap := toolsearch.CallTool().Unwrap
	for _, tc := range []struct{ raw, name, args string }{
		{`{"name":"Read","arguments":{"file_path":"a"}}`, "Read", `{"file_path":"a"}`},
		{` { "arguments" : { "n": 1e400, "s":"\u00e9<" } , "name" : "x" } `, "x", `{ "n": 1e400, "s":"\u00e9<" }`},
		{`{"name":"Read"}`, "Read", `{}`},
		{`{"name":"Read","arguments":null}`, "Read", `{}`},
		{`{"name":"Read","arguments":{}}`, "Read", `{}`},
		{`{"name":"Read","arguments":"{\"file_path\": \"a\"}"}`, "Read", `{"file_path": "a"}`},
		{`{"name":"Read","arguments":" {} "}`, "Read", ` {} `},
		{`{"name":"CallTool","arguments":{"name":"Read"}}`, "CallTool", `{"name":"Read"}`},
	} {
		name, args, err := unwrap(json.RawMessage(tc.raw))
		if err != nil || name != tc.name || string(args) != tc.args {
			t.Errorf("%s: %s %s, %v", tc.raw, name, args, err)
		}
	}
	for raw, want := range map[string]string{
		``:                                       `required property "name" is missing. Known properties: name, arguments.`,
		`null`:                                   `required property "name" is missing. Known properties: name, arguments.`,
		`{"arguments":{}}`:                       `required property "name" is missing. Known properties: name, arguments.`,
		`{"name":""}`:                            `property "name" is empty. Name the tool to call; ToolSearch finds its name.`,
		`{"name":null}`:                          `property "name" is null. Send a string.`,
		`{"name":5}`:                             `property "name" is 5. Send a string.`,
		`{"name":"a","args":{}}`:                 `unknown property "args". Known properties: name, arguments.`,
		`{"name":"a","argument":{}}`:             `unknown property "argument". Did you mean "arguments"? Known properties: name, arguments.`,
		`{"name":"a","Name":"b"}`:                `unknown property "Name". Did you mean "name"? Known properties: name, arguments.`,
		`{"name":"a","zzzzz":"b"}`:               `unknown property "zzzzz". Known properties: name, arguments.`,
		`{"name":"a","name":"b"}`:                `property "name" is given twice. Give it once.`,
		`{"name":"a","arguments":{"b":1,"b":2}}`: `property "arguments.b" is given twice. Give it once.`,
		`{"name":"a","arguments":[1]}`:           `property "arguments" is [1]. Send an object.`,
		`{"name":"a","arguments":7}`:             `property "arguments" is 7. Send an object.`,
		`{"name":"a","arguments":""}`:            `property "arguments" is a string that holds no JSON object. Send the object itself.`,
		`{"name":"a","arguments":"[]"}`:          `property "arguments" is a string that holds no JSON object. Send the object itself.`,
		`{"name":"a","arguments":"{\"b\":1,\"b\":2}"}`: `property "arguments" is a string that holds no JSON object. Send the object itself.`,
		`{"name":"a","arguments":"{} {}"}`:             `property "arguments" is a string that holds no JSON object. Send the object itself.`,
		`[]`:                                           `the arguments are not an object. Send a JSON object.`,
		`{"name":"a"} {}`:                              `the arguments go on after their closing brace. Send one JSON object.`,
		`{"name":"\ud800"}`:                            `the arguments hold half of a surrogate pair, \ud800. Send the whole character, or leave it out.`,
		"{\"name\":\"a\xff\"}":                         `the arguments are not valid UTF-8. Send text as UTF-8.`,
		"{\"name\":[\"a\u202e\"]}":                     `property "name" is ["a\u202e"]. Send a string.`,
		`{"name":"a","arguments":{"b"`:                 `the arguments are not valid JSON: column 29: the text ends too early; a quote or bracket is not closed. Send one JSON object.`,
	} {
		name, args, err := unwrap(json.RawMessage(raw))
		var fault *tools.Fault
		if !errors.As(err, &fault) || err.Error() != want || name != "" || args != nil {
			t.Errorf("%s: %q %q\n got %v\nwant %s", raw, name, args, err, want)
		}
	}
}

// TestCallToolItself checks that the annotations of CallTool describe the worst call, and
// that it does not run itself.
func TestCallToolItself(t *testing.T) {
	tool := toolsearch.CallTool()
	if tool.Hints != (tools.Hints{Destructive: true, OpenWorld: true}) || !tool.Finder || tool.Loading != tools.LoadAlways {
		t.Errorf("%+v", tool)
	}
	schema, err := tool.InputSchema()
	const want = `{"type":"object","properties":{"name":{"type":"string","description":"The tool","minLength":1},"arguments":{"type":"object","description":"Its arguments, as in its input schema","additionalProperties":true}},"required":["name"],"additionalProperties":false}`
	if err != nil || string(schema) != want {
		t.Errorf("schema %s, %v", schema, err)
	}
	_, err = toolstest.NewWorkspace(t).Call(t.Context(), tool, `{"name":"CallTool","arguments":{"a":{"b":[1]}}}`)
	if err == nil || err.Error() != "CallTool does nothing by itself and cannot call itself. Name another tool." {
		t.Error(err)
	}
}

// TestCallReadOnlyTool checks the annotations of CallReadOnlyTool, by which clients decide.
func TestCallReadOnlyTool(t *testing.T) {
	tool := toolsearch.CallReadOnlyTool()
	if tool.Hints != (tools.Hints{ReadOnly: true, OpenWorld: true}) || !tool.Finder || tool.Loading != tools.LoadAlways || tool.Tokens() > 110 {
		t.Errorf("%+v, %d tokens", tool, tool.Tokens())
	}
	_, err := toolstest.NewWorkspace(t).Call(t.Context(), tool, `{"name":"CallReadOnlyTool"}`)
	if err == nil || err.Error() != "CallReadOnlyTool does nothing by itself and cannot call itself. Name another tool." {
		t.Error(err)
	}
}

// TestCheap checks the size of both definitions, which are always in a model's context.
func TestCheap(t *testing.T) {
	search := toolsearch.New(toolsearch.Options{})
	if n := search.Tokens(); n > 170 {
		t.Errorf("ToolSearch has %d tokens", n)
	}
	if n := toolsearch.CallTool().Tokens(); n > 110 {
		t.Errorf("CallTool has %d tokens", n)
	}
	if search.Hints != (tools.Hints{ReadOnly: true, Idempotent: true}) || !search.Finder || search.Loading != tools.LoadAlways {
		t.Errorf("%+v", search)
	}
	for _, tool := range []*tools.Tool{search, toolsearch.CallTool()} {
		t.Logf("%s: %d tokens", tool.Name, tool.Tokens())
		if _, err := tool.OutputSchema(); err != nil {
			t.Error(err)
		}
	}
}
