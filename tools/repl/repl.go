// Package repl provides the tool REPL: interpreters that keep their state between calls.
//
// An interpreter is a command of the session: it is contained like one, and listed as a task. A
// driver of ours runs in it (python.py, node.js), which gets code and returns results by pipes of
// its own; an interactive bash needs none (language.go). Nothing that the driver sends is
// trusted: the code of a call can send the same.
//
// session.go runs an interpreter, answer.go makes the answers.
package repl

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"time"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/internal/file/document"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
	"mcp-toolset/tools/bash"
)

// Options holds the services of the tool. A call requires Bash.
type Options struct {
	Bash      bash.Options      // runs the interpreters; its Tasks hold the sessions
	Documents *document.Reader  // checks and scales figures; nil: they are not shown
	Trusted   func(string) bool // reports whether the programs of a root may run; nil: of none
	// Idle is the time without a call after which a session ends. It defaults to 30 min.
	Idle time.Duration
	// Grace is the time for interrupted code to end. It defaults to 2 s.
	Grace time.Duration
}

// Limits.
const (
	// maxSessions is the limit of the running sessions of an owner.
	maxSessions = 4
	// maxCode is the limit of the code of a call, in bytes.
	maxCode = 100_000
	// memory is the limit of the memory of each process of a session, in bytes.
	memory       = 1 << 30
	defaultIdle  = 30 * time.Minute
	defaultGrace = 2 * time.Second
	// Defaults of the timeout and of the limit of output, as those of Bash.
	defaultTimeout = 110 * time.Second
	maxTimeout     = 10 * time.Minute
	defaultOutput  = 30_000
	notesReserve   = 10_000
)

// Input holds the arguments of REPL.
type Input struct {
	Code     string `json:"code" jsonschema:"The code to run"`
	Language string `json:"language" enum:"python,node,bash" default:"\"python\"" jsonschema:"Language of the code; default python"`
	Session  string `json:"session,omitempty" jsonschema:"Name of the session, to have several of one language"`
	Reset    bool   `json:"reset,omitempty" jsonschema:"End the session first and start a new one; code may be empty then"`
	Timeout  int    `json:"timeout,omitempty" minimum:"1" maximum:"600000" jsonschema:"Milliseconds: 110000 by default, at most 600000"`
}

// Output describes the end of a call.
type Output struct {
	Status   string `json:"status" enum:"ok,error,interrupted,running,ended" jsonschema:"ok, error, interrupted (the session goes on), running (the code goes on) or ended (its state is gone)"`
	ExitCode *int   `json:"exit_code,omitempty" jsonschema:"Exit code of bash code, or of an interpreter that exited"`
	TaskID   string `json:"task_id" jsonschema:"The session, for TaskOutput and TaskStop"`
	Text     string `json:"text" jsonschema:"The output, with notes"`

	pictures []tools.Content
}

//go:embed prompt.md
var prompt string

// New returns the tool REPL.
func New(o Options) *tools.Tool {
	if o.Idle == 0 {
		o.Idle = defaultIdle
	}
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	if o.Bash.Foreground == 0 {
		o.Bash.Foreground = defaultTimeout
	}
	if o.Bash.MaxOutput == 0 {
		o.Bash.MaxOutput = defaultOutput
	}
	return tools.MustBuild(tools.Def[Input, Input, Output]{
		Name:          "REPL",
		Title:         "Run code in an interpreter",
		Prompt:        prompt,
		SearchHint:    "run python node bash code interpreter variables persist",
		Description:   describe,
		Loading:       tools.LoadDeferred,
		MaxResultSize: max(tools.DefaultResultSize, o.Bash.MaxOutput+notesReserve),
		Excerpt:       tools.ExcerptTail,
		Cascades:      true,
		View:          tools.ViewOutput,
		Summary:       func(_ Input, r tools.Result[Output]) string { return r.Data.summary(r.Meta) },
		IsDestructive: tools.Always[Input](),
		IsOpenWorld:   tools.Always[Input](),
		IsEnabled:     func() error { return enabled(o.Bash.Commands) },
		Prepare: func(_ *tools.Env, in Input) (Input, error) {
			if in.Language == shell {
				in.Code = shellsafe.Normalize(in.Code)
			}
			return in, in.validate()
		},
		Matcher: func(in Input) func(policy.Behavior, string) bool {
			return func(_ policy.Behavior, language string) bool { return language == in.Language }
		},
		As: func(in Input) string {
			if in.Language == shell {
				return "Bash"
			}
			return ""
		},
		Parts: func(env *tools.Env, in Input) *tools.Parts {
			if in.Language != shell {
				return nil
			}
			return bash.InterpreterParts(o.Bash, env, in.Code)
		},
		Check: func(env *tools.Env, in Input) *policy.Decision {
			rule := "REPL(" + in.Language + ")"
			if in.Language == shell {
				rule = "Bash"
			}
			return bash.CheckInterpreter(o.Bash, env, rule)
		},
		ClassifierInput: func(in Input) string { return in.Code },
		Call: func(ctx context.Context, env *tools.Env, in Input) (tools.Result[Output], error) {
			return run(ctx, env, in, o)
		},
		Render: func(o Output) []tools.Content {
			return append([]tools.Content{tools.Text{Text: o.Text}}, o.pictures...)
		},
	})
}

// enabled returns the reason why no interpreter can run, or nil.
func enabled(c *command.Commands) error {
	switch {
	case runtime.GOOS == "windows":
		return fmt.Errorf("interpreters need the pipes of a Unix system")
	case c == nil || c.Shell() == "":
		return command.ErrNoShell
	}
	return nil
}

// describe returns one line on a call for the user: the language and the first line of the code.
func describe(in Input) string {
	line, _, more := strings.Cut(strings.TrimSpace(in.Code), "\n")
	if more {
		line += " ..."
	}
	if line == "" {
		return "Reset the " + in.title()
	}
	return fmt.Sprintf("Run in the %s: %s", in.title(), line)
}

// title returns the name of the session.
func (in Input) title() string {
	if in.Session == "" {
		return in.Language + " session"
	}
	return in.Language + " session " + in.Session
}

var sessionName = regexp.MustCompile(`^[A-Za-z0-9_.-]{0,40}$`)

func (in Input) validate() error {
	switch {
	case !sessionName.MatchString(in.Session):
		return fault.New("session is "+plain.Quote(in.Session), "Use at most 40 letters, digits, dots, hyphens and underscores.")
	case strings.ContainsRune(in.Code, 0):
		return fault.New("the code has a NUL character", "Write it as an escape sequence.")
	case len(in.Code) > maxCode:
		return fault.New(fmt.Sprintf("the code has %d bytes; the most is %d", len(in.Code), maxCode), "Write it to a file with Write and run that.")
	case strings.TrimSpace(in.Code) == "" && !in.Reset:
		return fault.New("the code is blank", "Give code to run, or reset to start a new session.")
	}
	return nil
}
