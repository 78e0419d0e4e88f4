package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"mcp-toolset/policy"
	"mcp-toolset/web/site"
)

// DeclaredAnnotations holds the annotations that an upstream server declares for a tool.
// nil: the server declares nothing.
type DeclaredAnnotations struct{ ReadOnly, Destructive, Idempotent, OpenWorld *bool }

// ReadOnlyHint reports whether the server declares the tool read-only.
func (s *DeclaredAnnotations) ReadOnlyHint() bool { return s.ReadOnly != nil && *s.ReadOnly }

// DestructiveHint reports whether the tool may be destructive. As in MCP, a tool that is
// not read-only may be destructive unless its server declares that it is not.
func (s *DeclaredAnnotations) DestructiveHint() bool {
	return !s.ReadOnlyHint() && (s.Destructive == nil || *s.Destructive)
}

// Foreign defines a tool of an upstream server. The server's description of it is passed on
// unchanged and not trusted, with one exception: calls of a tool declared read-only may run
// at the same time as other calls.
type Foreign struct {
	Server   string // its name in the settings
	Name     string // name that models use: mcp__server__tool
	Title    string
	Prompt   string
	Aliases  []string
	Loading  Loading
	Notice   string // as in Tool
	Declared DeclaredAnnotations

	InputSchema  json.RawMessage // unchanged; any JSON Schema of an object
	OutputSchema json.RawMessage // nil: none

	// Check, Connect and Call are as in Def and Tool. Check and Call get the arguments as
	// the client sent them.
	Check   func(*Env, json.RawMessage) *policy.Decision
	Connect func(context.Context) error
	Call    func(context.Context, *Env, json.RawMessage) (*Response, error)
}

// BuildForeign makes a tool from the definition of an upstream server. It fails if the tool
// cannot be offered: if models cannot use its name, or if its input schema does not
// describe an object.
func BuildForeign(f Foreign) (*Tool, error) {
	if !toolName.MatchString(f.Name) {
		return nil, fmt.Errorf("tool %q: a name is a letter, then at most 63 letters, digits, _ or -", f.Name)
	}
	var root struct {
		Type any `json:"type"`
	}
	if err := json.Unmarshal(f.InputSchema, &root); err != nil || root.Type != "object" {
		return nil, fmt.Errorf("tool %s: its input schema is not one of an object", f.Name)
	}
	if f.Title == "" {
		f.Title = f.Name
	}
	t := &Tool{
		Name: f.Name, Title: f.Title, Prompt: f.Prompt, Aliases: f.Aliases, Loading: f.Loading,
		Server: f.Server, Remote: true, Declared: &f.Declared, Notice: f.Notice, Connect: f.Connect, MaxResultSize: DefaultResultSize, Excerpt: ExcerptHead,
		enabled: func() error { return nil },
		schemas: func() (*schemas, error) {
			return &schemas{rawIn: f.InputSchema, rawOut: f.OutputSchema, in: &jsonschema.Schema{}}, nil
		},
	}
	validate := validator(f.InputSchema)
	t.parse = func(raw json.RawMessage) (arguments, error) {
		if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || string(trimmed) == "null" {
			raw = json.RawMessage("{}")
		}
		if err := WellFormed(raw); err != nil {
			return nil, err
		}
		if err := validate(raw); err != nil {
			return nil, err
		}
		return &foreignInput{f: &f, raw: raw}, nil
	}
	return t, nil
}

// WellFormed rejects arguments that are not an object, or that two JSON decoders might read
// differently. The arguments that are judged must be the arguments that run. Its error is a
// *Fault.
func WellFormed(raw json.RawMessage) error {
	if err := wellFormed(raw); err != nil {
		return err
	}
	if raw = bytes.TrimSpace(raw); raw[0] != '{' {
		return wrongType("", "an object", raw)
	}
	return nil
}

// foreignInput is the input of an upstream tool, before and after its preparation.
type foreignInput struct {
	f   *Foreign
	raw json.RawMessage
}

func (i *foreignInput) prepare(*Env) (input, error) { return i, nil }

// facts trusts the read-only hint for concurrency only. Every call may reach beyond this
// machine.
func (i *foreignInput) facts(*Env) Facts {
	return Facts{ConcurrencySafe: i.f.Declared.ReadOnlyHint(), Destructive: i.f.Declared.DestructiveHint(), OpenWorld: true}
}

func (i *foreignInput) shared(*Env) bool { return false }
func (i *foreignInput) path() string     { return "" }
func (i *foreignInput) as() string       { return "" }
func (i *foreignInput) site() *site.Site { return nil }

// summary quotes the server's title as the server's own words, and adds Notice.
func (i *foreignInput) summary() string {
	text := fmt.Sprintf("what the server %s calls %q", i.f.Server, i.f.Title)
	if i.f.Notice != "" {
		text += ". " + i.f.Notice
	}
	return text
}

func (i *foreignInput) json() json.RawMessage    { return i.raw }
func (i *foreignInput) parts(*Env) *Parts        { return nil }
func (i *foreignInput) types(*Env) *policy.Parts { return nil }

// matcher cannot know what a pattern means for an upstream tool. A rule with a pattern that
// denies or asks therefore covers every call, and one that allows covers none.
func (i *foreignInput) matcher(policy.Base) func(policy.Behavior, string) bool {
	return func(b policy.Behavior, _ string) bool { return b != policy.Allow }
}

func (i *foreignInput) check(env *Env) *policy.Decision {
	if i.f.Check == nil {
		return nil
	}
	return i.f.Check(env, i.raw)
}

func (i *foreignInput) preview(context.Context, *Env) Preview { return Preview{} }
func (i *foreignInput) classifierInput() string               { return string(i.raw) }

func (i *foreignInput) grants(*Env, []policy.Target) ([]Grant, error) { return nil, nil }

func (i *foreignInput) run(ctx context.Context, env *Env) (*Response, error) {
	return i.f.Call(ctx, env, i.raw)
}
