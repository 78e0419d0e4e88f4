package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Limits of definitions and results.
const (
	// MaxPrompt is the length in bytes at which clients cut a description.
	MaxPrompt = 2048
	// DefaultResultSize is the largest result in characters unless a Def says
	// otherwise: what the 25,000-token caps of clients hold at 4 characters a
	// token.
	DefaultResultSize = 100_000
	minResultSize     = 1000
	// Unlimited is a MaxResultSize for a tool that bounds its results itself.
	Unlimited = -1
)

// Tool is a definition the server can hold. It is immutable.
type Tool struct {
	Name          string
	Title         string
	Prompt        string
	SearchHint    string
	Aliases       []string
	Loading       Loading
	Feature       string
	Interrupt     Interrupt
	MaxResultSize int // characters; Unlimited
	Keep          Keep
	Cascades      bool
	Hints         Hints

	// Server is the upstream server that has the tool, "" for one of our own.
	Server string
	// Said are the annotations of an upstream tool, as its server says them and
	// unproven; nil for one of our own.
	Said *Said
	// Notice is what a person should know before the tool is used, one sentence
	// safe to show: its definition has changed. "": nothing.
	Notice string
	// Finder says that the tool is for finding and calling others, and shown only
	// where those are not.
	Finder bool
	// Unwrap makes a call of the tool one of another; nil: it is one of its own.
	Unwrap Unwrap
	// Prepare connects the server of the tool, if it is not; nil: it needs nothing.
	// Its error ends the call.
	Prepare func(context.Context) error

	enabled func() error
	schemas func() (*schemas, error)
	parse   func(json.RawMessage) (input, error)
}

// Hints are a tool's static facts: true only for what holds of every call.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld bool }

type schemas struct {
	in              *jsonschema.Schema
	rawIn, rawOut   json.RawMessage
	firstStringProp string // first required string property, "" if none
}

// toolName is what every model API accepts as a tool name.
var toolName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// MustBuild is Build for package-level lists: a bad definition panics with the
// tool's name.
func MustBuild[In, Out any](d Def[In, Out]) *Tool {
	t, err := Build(d)
	if err != nil {
		panic(err)
	}
	return t
}

// Build makes a tool of a definition. It checks what is cheap; the schema is
// made on first use, and Schema reports what is wrong with it.
func Build[In, Out any](d Def[In, Out]) (*Tool, error) {
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
	case d.IsReadOnly.always && (d.IsDestructive.always || d.IsDestructive.when != nil):
		return fail("a tool that is always read-only is never destructive")
	}
	for _, a := range d.Aliases {
		if !toolName.MatchString(a) || a == d.Name {
			return fail("alias %q is not a name of its own", a)
		}
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
		MaxResultSize: d.MaxResultSize, Keep: d.Keep, Cascades: d.Cascades,
		Hints: Hints{
			ReadOnly: d.IsReadOnly.always, Destructive: d.IsDestructive.always,
			Idempotent: d.IsIdempotent.always, OpenWorld: d.IsOpenWorld.always,
		},
		Finder: d.Finder, Unwrap: d.Unwrap,
		enabled: d.IsEnabled,
		schemas: sync.OnceValues(func() (*schemas, error) { return makeSchemas[In, Out](d.Name, d.Schema, d.OutputSchema) }),
	}
	// A tool that may be destructive says so: hints are for the worst call.
	t.Hints.Destructive = t.Hints.Destructive || d.IsDestructive.when != nil
	t.Hints.OpenWorld = t.Hints.OpenWorld || d.IsOpenWorld.when != nil
	t.parse = func(raw json.RawMessage) (input, error) {
		s, err := t.schemas()
		if err != nil {
			return nil, err
		}
		in := &typed[In, Out]{def: &d, subject: s.firstStringProp}
		if err := decodeArguments(raw, s.in, &in.in); err != nil {
			return nil, err
		}
		return in, nil
	}
	return t, nil
}

// InputSchema is the JSON Schema of the tool's arguments: closed and flat.
func (t *Tool) InputSchema() (json.RawMessage, error) {
	s, err := t.schemas()
	if err != nil {
		return nil, err
	}
	return s.rawIn, nil
}

// OutputSchema is the JSON Schema of Response.Structured.
func (t *Tool) OutputSchema() (json.RawMessage, error) {
	s, err := t.schemas()
	if err != nil {
		return nil, err
	}
	return s.rawOut, nil
}

// Inputs are the names of the input's properties, in the order they are defined.
func (t *Tool) Inputs() ([]string, error) {
	s, err := t.schemas()
	if err != nil {
		return nil, err
	}
	return propertyNames(s.in), nil
}
