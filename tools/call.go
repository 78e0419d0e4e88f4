package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"mcp-toolset/policy"
	"mcp-toolset/web/site"
)

// Call holds the parsed arguments of one call, before Prepare completes them.
type Call struct {
	Tool *Tool
	args arguments
}

// Parse decodes and checks the arguments of a call. An error means invalid input and is
// worded for the model.
func (t *Tool) Parse(raw json.RawMessage) (*Call, error) {
	args, err := t.parse(raw)
	if err != nil {
		return nil, err
	}
	return &Call{Tool: t, args: args}, nil
}

// Facts holds the annotations of one call.
type Facts struct {
	ReadOnly, Destructive, ConcurrencySafe, Idempotent, OpenWorld bool
}

// Prepared is a call whose input is complete and valid. Facts is computed.
type Prepared struct {
	Tool    *Tool
	Facts   Facts
	Path    string     // absolute path of the file or folder that the call names; "" if the tool has none
	Summary string     // one line for the user
	As      string     // as Def.As
	Site    *site.Site // host and port that the call reaches; nil if the tool has none
	Notes   []string   // what the answer says about the input, such as that another path was taken
	in      input
	encoded func() json.RawMessage
}

// Prepare completes and checks a copy of the call's input against the current state of the
// session. The call itself is unchanged and can be prepared again. An error means invalid
// input and is worded for the model.
func (c *Call) Prepare(env *Env) (*Prepared, error) {
	env.Notes = nil
	in, err := c.args.prepare(env)
	if err != nil {
		return nil, err
	}
	r := &Prepared{Tool: c.Tool, in: in, Facts: in.facts(env), Path: in.path(), Summary: in.summary(), As: in.as(), Site: in.site(), Notes: env.Notes}
	r.encoded = sync.OnceValue(in.json) // encoded once: it may be large and has several readers
	return r, nil
}

// Input returns the completed input as JSON. Equal inputs have equal bytes.
func (r *Prepared) Input() json.RawMessage { return r.encoded() }

// Matcher returns a function that reports whether a rule Tool(pattern) of a behavior covers
// the call. Path patterns are relative to base.
func (r *Prepared) Matcher(base policy.Base) func(b policy.Behavior, pattern string) bool {
	return r.in.matcher(base)
}

// Parts returns the parts of the call, or nil if the call does one thing.
func (r *Prepared) Parts(env *Env) *Parts { return r.in.parts(env) }

// Types returns what the call types into a program that takes it for commands, or nil.
func (r *Prepared) Types(env *Env) *policy.Parts { return r.in.types(env) }

// Check returns the tool's own decision on permission, or nil if it has none.
func (r *Prepared) Check(env *Env) *policy.Decision { return r.in.check(env) }

// Grants returns the grants that the call's sandbox needs to open the files in opens.
func (r *Prepared) Grants(env *Env, opens []policy.Target) ([]Grant, error) {
	return r.in.grants(env, opens)
}

// ClassifierInput returns the text that a permission classifier judges.
func (r *Prepared) ClassifierInput() string { return r.in.classifierInput() }

// Preview returns a view of the changes that the call would make. It is empty if the input
// shows them.
func (r *Prepared) Preview(ctx context.Context, env *Env) Preview { return r.in.preview(ctx, env) }

// Shared reports whether sessions with the same roots and working directory may share the
// result.
func (r *Prepared) Shared(env *Env) bool { return r.in.shared(env) }

// Run executes the call. It panics if the tool panics.
func (r *Prepared) Run(ctx context.Context, env *Env) (*Response, error) { return r.in.run(ctx, env) }

// AddNotes adds the notes on the input to an answer.
func (r *Prepared) AddNotes(resp *Response) {
	for _, note := range r.Notes {
		resp.Content = append(resp.Content, Text{Text: "[" + note + "]"})
	}
}

// arguments are the arguments of a call, with their type erased. Build and BuildForeign
// return tools that parse them.
type arguments interface {
	prepare(*Env) (input, error)
}

// input is the prepared input of a call, with its type erased.
type input interface {
	facts(*Env) Facts
	shared(*Env) bool
	path() string
	as() string
	site() *site.Site
	summary() string
	json() json.RawMessage
	matcher(policy.Base) func(policy.Behavior, string) bool
	parts(*Env) *Parts
	types(*Env) *policy.Parts
	check(*Env) *policy.Decision
	grants(*Env, []policy.Target) ([]Grant, error)
	classifierInput() string
	preview(context.Context, *Env) Preview
	run(context.Context, *Env) (*Response, error)
}

// parsed holds the arguments of a call of a tool that Build has made.
type parsed[In, Prepared, Out any] struct {
	def     *Def[In, Prepared, Out]
	in      In
	subject string // name of the property that exact patterns are compared with
}

func (p *parsed[In, Prepared, Out]) prepare(env *Env) (input, error) {
	in, err := p.def.Prepare(env, p.in)
	if err != nil {
		return nil, err
	}
	return &typed[In, Prepared, Out]{def: p.def, in: in, subject: p.subject}, nil
}

// typed is the prepared input of a call of a tool that Build has made.
type typed[In, Prepared, Out any] struct {
	def     *Def[In, Prepared, Out]
	in      Prepared
	subject string // as in parsed
}

func (t *typed[In, Prepared, Out]) facts(env *Env) Facts {
	d := t.def
	return Facts{
		ReadOnly:        d.IsReadOnly.holds(env, t.in),
		Destructive:     d.IsDestructive.holds(env, t.in),
		ConcurrencySafe: d.IsConcurrencySafe.holds(env, t.in),
		Idempotent:      d.IsIdempotent.holds(env, t.in),
		OpenWorld:       d.IsOpenWorld.holds(env, t.in),
	}
}

func (t *typed[In, Prepared, Out]) shared(env *Env) bool { return t.def.Shared.holds(env, t.in) }

func (t *typed[In, Prepared, Out]) path() string {
	if t.def.Path == nil {
		return ""
	}
	return t.def.Path(t.in)
}

func (t *typed[In, Prepared, Out]) as() string {
	if t.def.As == nil {
		return ""
	}
	return t.def.As(t.in)
}

func (t *typed[In, Prepared, Out]) site() *site.Site {
	if t.def.Site == nil {
		return nil
	}
	s := t.def.Site(t.in)
	return &s
}

func (t *typed[In, Prepared, Out]) summary() string {
	if t.def.Description == nil {
		return t.def.Name
	}
	return t.def.Description(t.in)
}

func (t *typed[In, Prepared, Out]) json() json.RawMessage {
	data, err := json.Marshal(t.in)
	if err != nil {
		panic(fmt.Sprintf("tool %s: input does not marshal: %v", t.def.Name, err)) // it was unmarshalled from JSON
	}
	return data
}

func (t *typed[In, Prepared, Out]) matcher(base policy.Base) func(policy.Behavior, string) bool {
	switch {
	case t.def.Matcher != nil:
		return t.def.Matcher(t.in)
	case t.def.Path != nil:
		path := t.def.Path(t.in)
		return func(_ policy.Behavior, pattern string) bool {
			match, err := policy.PathPattern(pattern, base)
			return err == nil && match(path)
		}
	default:
		return func(_ policy.Behavior, pattern string) bool {
			return t.subject != "" && pattern == t.property(t.subject)
		}
	}
}

func (t *typed[In, Prepared, Out]) parts(env *Env) *Parts {
	if t.def.Parts == nil {
		return nil
	}
	return t.def.Parts(env, t.in)
}

// property returns the string value of a property of the input, or "" if it has none.
func (t *typed[In, Prepared, Out]) property(name string) string {
	var all map[string]any
	if json.Unmarshal(t.json(), &all) != nil {
		return ""
	}
	s, _ := all[name].(string)
	return s
}

func (t *typed[In, Prepared, Out]) types(env *Env) *policy.Parts {
	if t.def.Types == nil {
		return nil
	}
	return t.def.Types(env, t.in)
}

func (t *typed[In, Prepared, Out]) check(env *Env) *policy.Decision {
	if t.def.Check == nil {
		return nil
	}
	return t.def.Check(env, t.in)
}

func (t *typed[In, Prepared, Out]) grants(env *Env, opens []policy.Target) ([]Grant, error) {
	if t.def.Grants == nil || len(opens) == 0 {
		return nil, nil
	}
	return t.def.Grants(env, t.in, opens)
}

func (t *typed[In, Prepared, Out]) classifierInput() string {
	if t.def.ClassifierInput == nil {
		return ""
	}
	return t.def.ClassifierInput(t.in)
}

func (t *typed[In, Prepared, Out]) preview(ctx context.Context, env *Env) Preview {
	if t.def.Preview == nil {
		return Preview{}
	}
	return t.def.Preview(ctx, env, t.in)
}

func (t *typed[In, Prepared, Out]) run(ctx context.Context, env *Env) (*Response, error) {
	res, err := t.def.Call(ctx, env, t.in)
	if err != nil {
		return nil, err
	}
	r := &Response{Effect: res.Effect, Meta: res.Meta, Failed: res.Failed, HookFields: res.HookFields, Did: res.Did, Private: res.Private, Collects: t.def.Collects}
	if t.def.Summary != nil {
		r.Summary = t.def.Summary(t.in, res)
	}
	r.Structured = func() (json.RawMessage, error) { return json.Marshal(res.Data) }
	if t.def.Render != nil {
		r.Content = t.def.Render(res.Data)
	} else {
		data, err := r.Structured()
		if err != nil {
			return nil, fmt.Errorf("encoding the output: %w", err)
		}
		r.Content = []Content{Text{string(data)}}
	}
	r.Content = append(r.Content, res.Blocks...)
	return r, nil
}
