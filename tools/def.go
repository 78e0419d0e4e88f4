// Package tools is the contract between a tool's author and the server.
//
// A call meets three types, in this order:
//
//   - Def is what an author writes: data and functions.
//   - Tool is what the server holds: made only by Build, which fills defaults
//     and refuses a bad definition.
//   - Call is one parsed use. Resolve turns it into a Resolved call, whose
//     input is expanded and whose facts are computed once; only a Resolved
//     call can run.
//
// A tool asks for no permission, takes no lock, cuts nothing for the wire, and
// does not know which protocol it is served over.
package tools

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"mcp-toolset/policy"
)

// Def defines a tool with input In and output Out, both structs. Name, Prompt
// and Call are required. The zero value of every other field is the most
// conservative answer.
type Def[In, Out any] struct {
	Name       string   // what a model calls it
	Title      string   // what a person sees; "": Name
	Prompt     string   // the description a model reads; under MaxPrompt bytes
	SearchHint string   // 3 to 10 words to find it by
	Aliases    []string // former names, accepted in calls, never listed

	// Description says in one line what a call does, for a person deciding on
	// it. nil: the tool's name.
	Description func(In) string

	Schema       *jsonschema.Schema // nil: inferred from In, see inferSchema
	OutputSchema *jsonschema.Schema // nil: inferred from Out

	Loading   Loading   // zero: LoadAuto
	Feature   string    // gate that must be switched on for the tool to exist; "": none
	Interrupt Interrupt // zero: Cancel

	// Finder and Unwrap are as in Tool: of ToolSearch and CallTool.
	Finder bool
	Unwrap Unwrap

	// MaxResultSize is the largest text of a result in characters; a longer
	// one is stored and the model gets the part that Keep says. 0:
	// DefaultResultSize. Unlimited: the tool bounds its results itself.
	MaxResultSize int
	Keep          Keep

	IsReadOnly        Fact[In] // changes nothing but its own session
	IsDestructive     Fact[In] // may destroy what cannot be had back
	IsConcurrencySafe Fact[In] // may run beside other concurrency-safe calls
	IsIdempotent      Fact[In] // the same call twice has the effect of one
	IsOpenWorld       Fact[In] // reaches beyond this machine

	// IsEnabled is asked at the start, and by Registry.Refresh again if the error has
	// ErrLater in it. An error says why the tool is absent.
	IsEnabled func() error

	// Shared holds for read-only calls whose result is the same for every session
	// with the same roots and working directory: what one of them reads at a
	// moment, identical calls may have. A result that is not says so by Env.Private.
	Shared Fact[In]

	// Cascades says that a failure of the tool cancels the commands sent with it.
	Cascades bool

	// Path is the file or folder a call is about, for path rules. nil: none.
	// A read-only call reads it, any other edits it.
	Path func(In) string

	// Matcher returns whether a rule Tool(pattern) covers the call. A rule that
	// denies or asks may cover more than one that allows, never less: what is
	// not understood is denied and not allowed. nil: for each behavior, with a
	// Path gitignore syntax on it; else the pattern must equal the value of the
	// first required string property.
	Matcher func(In) func(b policy.Behavior, pattern string) bool

	// Parts are what a call consists of, for a tool that does several things at
	// once: the policy then judges each, by Bash rules and the files it names, and
	// Path and Matcher do not count. nil: it does one thing.
	Parts func(*Env, In) *Parts

	// Backfill completes the input before rules and hooks look at it: expands
	// "~" and relative paths, fills what depends on the session.
	Backfill func(*Env, *In)

	// Validate judges the completed input without I/O. Its error goes to the
	// model as invalid input.
	Validate func(In) error

	// Check is the tool's own opinion on permission; nil: none. Its Deny always
	// holds. Its Ask stands unless something allows the call: a rule, a hook, a
	// person, a mode. Its Allow changes nothing: it can make a decision stricter,
	// never laxer. The decision is given the layer policy.LayerTool.
	Check func(*Env, In) *policy.Decision

	// Grants returns what the containment has to be opened for, given the files of
	// Decision.Opens. The answer is shown to whoever is asked, and is what Env.Kept
	// gives the call once it is allowed. An error is a *Fault: the call is refused,
	// before anybody is asked, since it could not work. nil: nothing is contained.
	Grants func(*Env, In, []policy.Target) ([]Grant, error)

	// Preview shows what a call would change. It reads files by Env.Files only, and
	// it may be wrong by the time the call runs. nil: the input shows it.
	Preview func(context.Context, *Env, In) Preview

	// ClassifierInput is what a permission classifier is shown of a call. nil: the
	// text of Preview, if there is that.
	ClassifierInput func(In) string

	// Call does the work. Its error is the caller's to fix: a *Fault says how.
	Call func(context.Context, *Env, In) (Result[Out], error)

	// Render shows an output to the model. nil: as JSON.
	Render func(Out) []Content
}

// Loading says whether a model gets the tool's definition from the start.
type Loading uint8

const (
	LoadAuto     Loading = iota // the server decides by the size of the whole list
	LoadAlways                  // from the start
	LoadDeferred                // when the model searched for it
)

func (l Loading) String() string { return [...]string{"auto", "always", "deferred"}[l] }

// Interrupt says what a cancel does to a running call.
type Interrupt uint8

const (
	Cancel Interrupt = iota // its context is cancelled
	Finish                  // it completes and its effect is recorded; nobody is answered
)

func (i Interrupt) String() string { return [...]string{"cancel", "finish"}[i] }

// Keep says which part of a result too long for the model it still gets.
type Keep uint8

const (
	KeepHead Keep = iota // the beginning
	KeepTail             // a little of the beginning, mostly the end
	KeepEnds             // as much of the beginning as of the end
)

func (k Keep) String() string { return [...]string{"head", "tail", "ends"}[k] }

// Fact is a property of calls: never (the zero value), always, or depending on
// the call.
type Fact[In any] struct {
	always bool
	when   func(*Env, In) bool
}

// Always is a fact that holds for every call.
func Always[In any]() Fact[In] { return Fact[In]{always: true} }

// When is a fact that holds for the calls f accepts. f sees the completed input.
func When[In any](f func(*Env, In) bool) Fact[In] { return Fact[In]{when: f} }

func (f Fact[In]) holds(env *Env, in In) bool {
	return f.always || f.when != nil && f.when(env, in)
}
