package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/google/jsonschema-go/jsonschema"

	"mcp-toolset/internal/fault"
	"mcp-toolset/policy"
)

// Said are annotations as an upstream server says them; nil: it says nothing.
type Said struct{ ReadOnly, Destructive, Idempotent, OpenWorld *bool }

// ReadOnlyHint reports whether the server says that the tool only reads.
func (s *Said) ReadOnlyHint() bool { return s.ReadOnly != nil && *s.ReadOnly }

// DestructiveHint is as the protocol has it: what does not only read may be
// destructive, unless the server says that it is not.
func (s *Said) DestructiveHint() bool {
	return !s.ReadOnlyHint() && (s.Destructive == nil || *s.Destructive)
}

// Foreign defines a tool of another server. What the server says of it is passed
// on unchanged and not believed, but for one thing: calls of a tool that is said
// to only read run beside others.
type Foreign struct {
	Server  string // the name that the settings have for it
	Name    string // what a model calls the tool here: mcp__server__tool
	Title   string
	Prompt  string
	Aliases []string
	Loading Loading
	Notice  string // as in Tool
	Said    Said

	InputSchema  json.RawMessage // as it came: any JSON Schema of an object
	OutputSchema json.RawMessage // nil: none

	// Check, Prepare and Call are as in Def and Tool. What Call gets are the
	// arguments as the client sent them.
	Check   func(*Env, json.RawMessage) *policy.Decision
	Prepare func(context.Context) error
	Call    func(context.Context, *Env, json.RawMessage) (*Response, error)
}

// BuildForeign makes a tool of another server's definition. It fails where that
// cannot be offered: a name that no model could call, a schema that is not of an
// object.
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
		Server: f.Server, Said: &f.Said, Notice: f.Notice, Prepare: f.Prepare, MaxResultSize: DefaultResultSize, Keep: KeepHead,
		enabled: func() error { return nil },
		schemas: func() (*schemas, error) {
			return &schemas{rawIn: f.InputSchema, rawOut: f.OutputSchema, in: &jsonschema.Schema{}}, nil
		},
	}
	validate := validator(f.InputSchema)
	t.parse = func(raw json.RawMessage) (input, error) {
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

// WellFormed refuses arguments that are no object, or that another reader of
// JSON might read differently: what was judged is what runs. Its error is a
// *Fault.
func WellFormed(raw json.RawMessage) error {
	if err := legible(raw); err != nil {
		return err
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' {
		return wrongType("", "an object", raw)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := onceEach(dec, "", 0); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fault.New("the arguments go on after their closing brace", "Send one JSON object.")
	}
	return nil
}

// mostDepth is how deep values may be nested. The reader of tokens has no bound of
// its own, and a stack has one that nothing survives.
const mostDepth = 1000

// onceEach reads a value and refuses an object that has a property twice.
func onceEach(dec *json.Decoder, at string, depth int) error {
	if depth > mostDepth {
		return fault.New(fmt.Sprintf("the arguments are nested more than %d deep", mostDepth), "Send a flatter value.")
	}
	tok, err := dec.Token()
	if err != nil {
		return notJSON(err)
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for i := 0; dec.More(); i++ {
		where := fmt.Sprintf("%s[%d]", at, i)
		if delim == '{' {
			key, err := dec.Token()
			if err != nil {
				return notJSON(err)
			}
			name, _ := key.(string)
			where = join(at, name)
			if seen[name] {
				return fault.New(fmt.Sprintf("property %s is given twice", clip([]byte(fmt.Sprintf("%q", where)))), "Give it once.")
			}
			seen[name] = true
		}
		if err := onceEach(dec, where, depth+1); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return notJSON(err)
	}
	return nil
}

// foreignInput is the input of a tool of another server.
type foreignInput struct {
	f   *Foreign
	raw json.RawMessage
}

func (i *foreignInput) backfilled(*Env) input { return i }

// facts believes nothing but what only makes a call run beside others.
func (i *foreignInput) facts(*Env) Facts {
	return Facts{ConcurrencySafe: i.f.Said.ReadOnlyHint(), Destructive: i.f.Said.DestructiveHint(), OpenWorld: true}
}

func (i *foreignInput) shared(*Env) bool { return false }
func (i *foreignInput) path() string     { return "" }

// summary has the server's words as such, and what a person should know of them.
func (i *foreignInput) summary() string {
	text := fmt.Sprintf("what the server %s calls %q", i.f.Server, i.f.Title)
	if i.f.Notice != "" {
		text += ". " + i.f.Notice
	}
	return text
}

func (i *foreignInput) validate() error       { return nil }
func (i *foreignInput) json() json.RawMessage { return i.raw }
func (i *foreignInput) parts(*Env) *Parts     { return nil }

// matcher: nobody here knows what a pattern could mean for another server's
// tool, so one that denies or asks covers every call and one that allows none.
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
