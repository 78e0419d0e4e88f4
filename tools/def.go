// Package tools is the contract between a tool's author and the server.
//
// A call uses three types, in this order:
//
//   - Def is written by the author: data and functions.
//   - Tool is held by the server. Only Build and BuildForeign make one. Build fills in defaults
//     and rejects an invalid definition.
//   - Call holds the arguments of one call. Prepare turns it into a Prepared call, with completed
//     input and facts that are computed once. Only a Prepared call can run.
//
// A tool asks for no permission, takes no locks, does not truncate results for the
// protocol, and does not know which protocol serves it.
//
// Build checks only what is cheap. The schemas are made on first use: they are inferred from
// the types, completed by the tags, and rejected if some client could not read them.
//
// Registry holds the server's own tools, which are fixed at the start, and those of upstream
// servers, which come and go. Each change makes a new Catalogue, which is immutable. While no
// tool changes, the slice of tools remains the same, so that lists and the search index can be
// cached by it.
//
// Catalogue.Resolve decides which tools a client gets listed and which it has to search for.
// Package server calls it once per connection, so that the list of a connection is stable.
package tools

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"mcp-toolset/policy"
	"mcp-toolset/web/site"
)

// Def defines a tool with input In and output Out, both structs. Name, Prompt and Call are
// required. The zero value of every other field is the most conservative choice.
//
// Prepared is the type in which all functions get the input. It is In, or a struct that
// embeds In and adds unexported fields for what Prepare derives from the input, such as a
// compiled pattern.
type Def[In, Prepared, Out any] struct {
	Name       string   // name that models use
	Title      string   // name that users see; "": Name
	Prompt     string   // description for models; less than MaxPrompt bytes
	SearchHint string   // 3 to 10 words for searches
	Aliases    []string // former names; accepted in calls, never listed

	// Prepare completes and checks the input before rules and hooks see it: it expands "~"
	// and relative paths, fills in values that depend on the session, and parses patterns.
	// It opens no files. Rules, hooks and the user see the JSON form of what it returns.
	// The model gets its error as invalid input. nil: the input is complete; Prepared is In.
	Prepare func(*Env, In) (Prepared, error)

	// Description returns one line that describes a call to the user who decides on it. It
	// begins with a verb of the table verbs, from which the activity text and the default
	// summary follow. nil: the tool's name.
	Description func(Prepared) string

	Schema       *jsonschema.Schema // nil: inferred from In, see inferSchema
	OutputSchema *jsonschema.Schema // nil: inferred from Out

	// Object is a schema of the user that takes the place of Schema. Any arguments that meet it
	// are decoded into In, which has to accept them. nil: none.
	Object *ObjectSchema

	Loading Loading // zero: LoadAuto
	// Collects reports that a model calls the tool to hear of events, so that its answer has them also
	// if an answer to another agent had them.
	Collects  bool
	Feature   string    // feature without which the tool does not exist, on unless it is switched off; "": none
	Interrupt Interrupt // zero: Cancel

	// Finder and Unwrap are as in Tool. Only ToolSearch and CallTool set them.
	Finder bool
	Unwrap Unwrap

	// MaxResultSize is the limit of a result's text, in characters. A longer text is
	// stored, and the model gets the part that Keep selects. 0: DefaultResultSize.
	// Unlimited: the tool limits its results itself.
	MaxResultSize int
	Excerpt       Excerpt

	IsReadOnly        Annotation[Prepared] // changes nothing except its own session
	IsDestructive     Annotation[Prepared] // may destroy data that cannot be restored
	IsConcurrencySafe Annotation[Prepared] // may run at the same time as other concurrency-safe calls
	IsIdempotent      Annotation[Prepared] // two identical calls have the effect of one
	IsOpenWorld       Annotation[Prepared] // reaches beyond this machine

	// IsEnabled returns nil if the tool is available, or an error with the reason. It is
	// called at the start. Registry.Refresh calls it again if the error wraps ErrLater.
	IsEnabled func() error

	// Shared holds for read-only calls whose result is the same for every session with the
	// same roots and working directory. Identical calls at the same time may then be
	// deduplicated. A result that differs after all sets Result.Private.
	Shared Annotation[Prepared]

	// Cascades reports whether a failure of the tool cancels the commands sent with it.
	Cascades bool
	// Remote reports whether another MCP server gets the input of the tool. Deny and ask rules
	// on files then cover its strings.
	Remote bool

	// Path returns the file or folder that a call names, for path rules. A read-only call
	// reads it; any other call edits it. nil: none.
	Path func(Prepared) string

	// Matcher returns a function that reports whether a rule Tool(pattern) covers the call.
	// A deny or ask rule may cover more calls than an allow rule with the same pattern,
	// never fewer: input that is not understood is denied and not allowed. nil: if Path is
	// set, patterns use gitignore syntax and match the path; otherwise a pattern must equal
	// the value of the first required string property.
	Matcher func(Prepared) func(b policy.Behavior, pattern string) bool

	// Site returns the host and port that a call reaches, for rules such as
	// WebFetch(domain:example.com). The policy asks about one that no rule covers, and the
	// user's agreement holds for all calls of the tool to it. nil: none.
	Site func(Prepared) site.Site

	// Parts returns the parts of a call that does several things at once. The policy then
	// judges each part by the Bash rules and the files it names, and ignores Path and
	// Matcher. nil: the call does one thing.
	Parts func(*Env, Prepared) *Parts

	// Types returns what the call types into a program that takes it for commands. Deny and ask
	// rules on commands then cover it. nil, or a function that returns nil: nothing of this kind.
	Types func(*Env, Prepared) *policy.Parts

	// As returns the name of the tool whose rules, hooks and answers of the user hold for the
	// call too: those on the tool itself then only make a decision stricter. "" or nil: none.
	As func(Prepared) string

	// Check returns the tool's own decision on permission; nil: none. Deny is final. Ask
	// applies unless a rule, a hook, the user or the mode allows the call. Allow has no
	// effect: a check can make a decision stricter, never laxer. It sets the Layer, such as
	// policy.LayerTool.
	Check func(*Env, Prepared) *policy.Decision

	// Grants returns the grants that the call's sandbox needs, given the files in
	// Decision.Opens. The user who is asked sees them, and Env.Commands.RestrictedPaths returns them to
	// the call once it is allowed. An error is a *Fault: the call could not work and is
	// refused before the user is asked. nil: the tool has no sandbox.
	Grants func(*Env, Prepared, []policy.Target) ([]Grant, error)

	// Preview returns a view of the changes that a call would make. It reads files only
	// through Env.Files. The files may change before the call runs. nil: the input shows
	// the changes.
	Preview func(context.Context, *Env, Prepared) Preview

	// ClassifierInput returns the text that a permission classifier judges. nil: the text
	// of Preview, if there is one.
	ClassifierInput func(Prepared) string

	// View is the page on which hosts can show results; "": none.
	View View

	// Summary returns what the call did in one line, such as "Read 120 lines of main.go", or
	// "". nil or "": the Description in the past tense.
	Summary func(Prepared, Result[Out]) string

	// Call runs the tool. Its error is for the caller to fix; a *Fault says how.
	Call func(context.Context, *Env, Prepared) (Result[Out], error)

	// Render formats an output for the model. nil: as JSON.
	Render func(Out) []Content
}

// Loading determines when a model gets the tool's definition.
type Loading uint8

const (
	LoadAuto     Loading = iota // the server decides by the size of the whole list
	LoadAlways                  // from the start
	LoadDeferred                // after the model has searched for it
)

func (l Loading) String() string { return [...]string{"auto", "always", "deferred"}[l] }

// Interrupt determines the effect of a cancel on a running call.
type Interrupt uint8

const (
	Cancel Interrupt = iota // its context is cancelled
	Finish                  // it completes and its effect is recorded; the client gets no answer
)

func (i Interrupt) String() string { return [...]string{"cancel", "finish"}[i] }

// Excerpt selects the part of a result that the model gets when the result exceeds the limit.
type Excerpt uint8

const (
	ExcerptHead Excerpt = iota // the beginning
	ExcerptTail                // a little of the beginning, and mostly the end
	ExcerptEnds                // equal parts of the beginning and the end
)

func (k Excerpt) String() string { return [...]string{"head", "tail", "ends"}[k] }

// Annotation is an annotation that holds for no call (the zero value), for all calls, or for
// those that a function accepts.
type Annotation[Prepared any] struct {
	always  bool
	accepts func(*Env, Prepared) bool
}

// Always returns a fact that holds for every call.
func Always[Prepared any]() Annotation[Prepared] { return Annotation[Prepared]{always: true} }

// When returns a fact that holds for the calls that f accepts.
func When[Prepared any](f func(*Env, Prepared) bool) Annotation[Prepared] {
	return Annotation[Prepared]{accepts: f}
}

func (f Annotation[Prepared]) holds(env *Env, in Prepared) bool {
	return f.always || f.accepts != nil && f.accepts(env, in)
}
