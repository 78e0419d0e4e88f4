package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Limits of definitions and results.
const (
	// MaxPrompt is the length in bytes at which clients truncate a description.
	MaxPrompt = 2048
	// DefaultResultSize is the default limit of a result, in characters: the 25,000-token
	// limit of clients, at 4 characters per token.
	DefaultResultSize = 100_000
	minResultSize     = 1000
	// Unlimited is the MaxResultSize of a tool that limits its results itself.
	Unlimited = -1
)

// Tool is a definition held by the server. It is immutable.
type Tool struct {
	Name          string
	Title         string
	Prompt        string
	SearchHint    string
	Aliases       []string
	Loading       Loading
	Feature       string
	Interrupt     Interrupt
	MaxResultSize int // in characters, or Unlimited
	Excerpt       Excerpt
	Cascades      bool
	Remote        bool // as in Def
	Hints         Hints
	View          View

	// Server is the upstream server of the tool, or "" for one of our own.
	Server string
	// Declared holds the annotations that an upstream server declares. They are not verified.
	// nil: the tool is one of our own.
	Declared *DeclaredAnnotations
	// Notice is one sentence for the user to read before the tool is used, such as that its
	// definition has changed. It is safe to show. "": none.
	Notice string
	// Finder reports whether the tool finds and calls other tools. It is listed only if
	// those are not.
	Finder bool
	// Unwrap turns a call of the tool into a call of another one. nil: calls are its own.
	Unwrap Unwrap
	// Connect connects the tool's server if it is not connected. Its error ends the call.
	// nil: the tool has no server.
	Connect func(context.Context) error

	enabled func() error
	schemas func() (*schemas, error)
	parse   func(json.RawMessage) (arguments, error)
}

// Hints holds the static annotations of a tool. ReadOnly and Idempotent are true if they
// hold for every call; Destructive and OpenWorld, if they hold for some call.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld bool }

type schemas struct {
	in              *jsonschema.Schema
	rawIn, rawOut   json.RawMessage
	defaults        json.RawMessage // an object with the defaults of properties; nil: none
	firstStringProp string          // first required string property, or ""
}

// toolName matches the tool names that every model API accepts.
var toolName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// MustBuild is like Build but panics on an error. It is for package-level lists.
func MustBuild[In, Prepared, Out any](d Def[In, Prepared, Out]) *Tool {
	t, err := Build(d)
	if err != nil {
		panic(err)
	}
	return t
}

// Build makes a tool from a definition. It checks what can be checked cheaply. The schemas
// are made on first use; InputSchema and OutputSchema report their errors.
func Build[In, Prepared, Out any](d Def[In, Prepared, Out]) (*Tool, error) {
	fail := func(format string, args ...any) (*Tool, error) {
		return nil, fmt.Errorf("tool %q: %s", d.Name, fmt.Sprintf(format, args...))
	}
	switch words := len(strings.Fields(d.SearchHint)); {
	case !toolName.MatchString(d.Name):
		return fail("a name is a letter, then at most 63 letters, digits, _ or -")
	case strings.TrimSpace(d.Prompt) == "":
		return fail("Prompt is required")
	case len(d.Prompt) >= MaxPrompt:
		return fail("Prompt has %d bytes; clients cut it at %d", len(d.Prompt), MaxPrompt)
	case d.Call == nil:
		return fail("Call is required")
	case words != 0 && (words < 3 || words > 10):
		return fail("SearchHint has %d words, not 3 to 10", words)
	case d.MaxResultSize != 0 && d.MaxResultSize != Unlimited && d.MaxResultSize < minResultSize:
		return fail("MaxResultSize is %d; a preview and its notice need %d", d.MaxResultSize, minResultSize)
	case d.IsReadOnly.always && (d.IsDestructive.always || d.IsDestructive.accepts != nil):
		return fail("a tool that is always read-only is never destructive")
	}
	for _, a := range d.Aliases {
		if !toolName.MatchString(a) || a == d.Name {
			return fail("alias %q is not a name of its own", a)
		}
	}
	if d.Prepare == nil {
		if reflect.TypeFor[In]() != reflect.TypeFor[Prepared]() {
			return fail("Prepare is required, since Prepared is not In")
		}
		d.Prepare = func(_ *Env, in In) (Prepared, error) { return any(in).(Prepared), nil }
	}
	if err := embeds(reflect.TypeFor[Prepared](), reflect.TypeFor[In]()); err != nil {
		return fail("%v", err)
	}
	if d.Title == "" {
		d.Title = d.Name
	}
	if d.MaxResultSize == 0 {
		d.MaxResultSize = DefaultResultSize
	}
	if d.IsEnabled == nil {
		d.IsEnabled = func() error { return nil }
	}
	t := &Tool{
		Name: d.Name, Title: d.Title, Prompt: strings.TrimSpace(d.Prompt), SearchHint: d.SearchHint,
		Aliases: d.Aliases, Loading: d.Loading, Feature: d.Feature, Interrupt: d.Interrupt,
		MaxResultSize: d.MaxResultSize, Excerpt: d.Excerpt, Cascades: d.Cascades, Remote: d.Remote,
		Hints: Hints{
			ReadOnly: d.IsReadOnly.always, Destructive: d.IsDestructive.always,
			Idempotent: d.IsIdempotent.always, OpenWorld: d.IsOpenWorld.always,
		},
		Finder: d.Finder, Unwrap: d.Unwrap, View: d.View,
		enabled: d.IsEnabled,
		schemas: sync.OnceValues(func() (*schemas, error) {
			s, err := makeSchemas[In, Out](d.Name, d.Schema, d.OutputSchema)
			if err == nil && d.Object != nil {
				s.rawIn = d.Object.raw
			}
			return s, err
		}),
	}
	// A tool that may be destructive for some calls is declared destructive: hints describe
	// the worst call.
	t.Hints.Destructive = t.Hints.Destructive || d.IsDestructive.accepts != nil
	t.Hints.OpenWorld = t.Hints.OpenWorld || d.IsOpenWorld.accepts != nil
	t.parse = func(raw json.RawMessage) (arguments, error) {
		s, err := t.schemas()
		if err != nil {
			return nil, err
		}
		in := &parsed[In, Prepared, Out]{def: &d, subject: s.firstStringProp}
		if err := s.applyDefaults(&in.in); err != nil {
			return nil, err
		}
		if d.Object != nil {
			if len(bytes.TrimSpace(raw)) == 0 {
				raw = json.RawMessage("{}")
			}
			if err := d.Object.Check(raw); err != nil {
				return nil, err
			}
			return in, json.Unmarshal(raw, &in.in)
		}
		if err := decodeArguments(raw, s.in, &in.in); err != nil {
			return nil, err
		}
		return in, nil
	}
	return t, nil
}

// embeds returns an error unless the JSON form of prepared is that of in: unless it is the
// same type, or a struct with in embedded and no other exported field.
func embeds(prepared, in reflect.Type) error {
	if prepared == in {
		return nil
	}
	found := false
	for i := 0; prepared.Kind() == reflect.Struct && i < prepared.NumField(); i++ {
		switch f := prepared.Field(i); {
		case f.Anonymous && f.Type == in && f.Tag == "":
			found = true
		case f.Anonymous || f.IsExported():
			return fmt.Errorf("field %s of %v is not unexported: rules and hooks would take it for a part of the input", f.Name, prepared)
		}
	}
	if !found {
		return fmt.Errorf("%v does not embed %v", prepared, in)
	}
	return nil
}

// InputSchema returns the JSON Schema of the tool's arguments. That of one of our own tools
// is a closed object without references.
func (t *Tool) InputSchema() (json.RawMessage, error) {
	s, err := t.schemas()
	if err != nil {
		return nil, err
	}
	return s.rawIn, nil
}

// HasInput reports whether the tool's input has a property with this name.
func (t *Tool) HasInput(name string) bool {
	s, err := t.schemas()
	if err != nil {
		return false
	}
	if s.in.Properties[name] != nil {
		return true
	}
	var foreign struct{ Properties map[string]json.RawMessage }
	return json.Unmarshal(s.rawIn, &foreign) == nil && foreign.Properties[name] != nil
}

// OutputSchema is the JSON Schema of Response.Structured.
func (t *Tool) OutputSchema() (json.RawMessage, error) {
	s, err := t.schemas()
	if err != nil {
		return nil, err
	}
	return s.rawOut, nil
}

// Inputs returns the names of the input's properties, in the order of their definition. For
// an upstream tool it returns none.
func (t *Tool) Inputs() ([]string, error) {
	s, err := t.schemas()
	if err != nil {
		return nil, err
	}
	return propertyNames(s.in), nil
}
