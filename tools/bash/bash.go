// Package bash implements the tools that run shell commands: Bash, BashReadOnly and, on
// Windows, PowerShell. The kernel prevents commands of BashReadOnly from changing
// anything.
//
// judge.go analyses a command without running it, run.go runs it, answer.go builds the
// answer, and job.go adapts a running command to a background task.
package bash

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// Input holds the arguments of a call of Bash or PowerShell.
type Input struct {
	Command         string `json:"command" minLength:"1" jsonschema:"The command to run"`
	Timeout         int    `json:"timeout,omitempty" minimum:"1" jsonschema:"Milliseconds: 120000 by default, at most 600000. With run_in_background: when to end the task, at most 7200000; by default it runs until the session ends"`
	Description     string `json:"description,omitempty" jsonschema:"What it does, in 5 to 10 words, for the user"`
	RunInBackground bool   `json:"run_in_background,omitempty" jsonschema:"Return at once. A later answer reports the end; TaskOutput waits for it, TaskStop ends it"`
	Stdin           bool   `json:"stdin,omitempty" jsonschema:"With run_in_background: an open standard input, for TaskInput"`
	TTY             bool   `json:"tty,omitempty" jsonschema:"With run_in_background: a terminal of 80x24, for TaskInput"`
	DisableSandbox  bool   `json:"dangerouslyDisableSandbox,omitempty" jsonschema:"Run it outside the sandbox, if it cannot work in there. Always asks the user"`
}

// prepared is the input of a call of Bash or PowerShell with its analysis.
type prepared struct {
	Input
	judged *judged
}

// readOnly reports whether the call is known to only read.
func (in prepared) readOnly() bool { return in.judged.readOnly() && !in.DisableSandbox }

// views reports whether the call runs as one of BashReadOnly does.
func (in prepared) views() bool { return in.judged.views() && !in.DisableSandbox }

// ReadOnlyInput holds the arguments of a call of BashReadOnly.
type ReadOnlyInput struct {
	Command     string `json:"command" minLength:"1" jsonschema:"The command to run"`
	Timeout     int    `json:"timeout,omitempty" minimum:"1" jsonschema:"Milliseconds: 120000 by default, at most 600000; then it continues as a task for TaskOutput"`
	Description string `json:"description,omitempty" jsonschema:"What it does, in 5 to 10 words, for the user"`
}

// preparedReadOnly is the input of a call of BashReadOnly with its analysis.
type preparedReadOnly struct {
	ReadOnlyInput
	judged *judged
}

// Output describes the end or state of a command. Status is "exited", "signalled", "timed
// out", "stopped", "running" (in the background) or "lost".
type Output struct {
	Status   string `json:"status" jsonschema:"exited, signalled, timed out, stopped, running or lost"`
	ExitCode *int   `json:"exit_code,omitempty" jsonschema:"Exit code, if it exited"`
	Signal   string `json:"signal,omitempty" jsonschema:"The signal that ended it"`
	TaskID   string `json:"task_id,omitempty" jsonschema:"Task with all of the output"`
	Text     string `json:"text" jsonschema:"The output, with notes"`
}

// Options configures the tools. Commands and Tasks are required.
type Options struct {
	Commands *command.Commands
	Tasks    *task.Registry
	// ReadOnly returns the reason not to offer BashReadOnly, or nil to offer it. A nil
	// function offers it.
	ReadOnly func() error
	// Default is the timeout of a call that sets none, Most the longest timeout that a
	// call may set. They default to 2 and 10 minutes.
	Default, Most time.Duration
	// Foreground is the time after which a command moves to the background whatever its
	// timeout, since clients give up on long calls. It defaults to 110 s.
	Foreground time.Duration
	// MaxOutput is the number of characters of output in an answer. It defaults to
	// 30,000.
	MaxOutput int
	// Getenv reads the environment of the server, whose proxy connections of commands go
	// through. It may be nil.
	Getenv func(string) string
	// Ports returns notes on the ports on which a task listens. It may be nil.
	Ports func(context.Context, *task.Task) []string
}

// Defaults of Options, and the longest timeout of a command in the background.
const (
	defaultTimeout    = 2 * time.Minute
	mostTimeout       = 10 * time.Minute
	mostBackground    = 2 * time.Hour
	defaultForeground = 110 * time.Second
	defaultOutput     = 30_000
)

// Next steps for a timeout that is too long.
const (
	nextBackground = "Use a shorter one, or %s with run_in_background for what takes longer."
	nextShorter    = "Use a shorter one, or none: the task then runs until the session ends."
)

// notesReserve is the room in a result for text other than the output, in characters.
const notesReserve = 10_000

// maxCommand is the limit of a command, in bytes. The kernel accepts 128 KiB as one
// argument.
const maxCommand = 100_000

//go:embed prompt.md
var prompt string

//go:embed prompt_readonly.md
var promptReadOnly string

// New returns Bash and BashReadOnly and, on Windows, PowerShell. The shell of this
// machine decides which of them are enabled.
func New(o Options) []*tools.Tool {
	o = o.withDefaults()
	list := []*tools.Tool{newBash(o), newReadOnly(o)}
	if runtime.GOOS == "windows" {
		list = append(list, newPowerShell(o))
	}
	return list
}

func (o Options) withDefaults() Options {
	if o.Default == 0 {
		o.Default = defaultTimeout
	}
	if o.Most == 0 {
		o.Most = mostTimeout
	}
	o.Most = max(o.Most, o.Default)
	if o.Foreground == 0 {
		o.Foreground = defaultForeground
	}
	if o.MaxOutput == 0 {
		o.MaxOutput = defaultOutput
	}
	return o
}

func newBash(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[Input, prepared, Output]{
		Name:              "Bash",
		Title:             "Run a command",
		Prompt:            prompt,
		SearchHint:        "run execute shell command terminal git build test",
		Description:       func(in prepared) string { return describe(in.Command, in.Description) },
		View:              tools.ViewOutput,
		Summary:           func(_ prepared, r tools.Result[Output]) string { return summary(r) },
		Loading:           tools.LoadAlways,
		MaxResultSize:     max(tools.DefaultResultSize, o.MaxOutput+notesReserve),
		Excerpt:           tools.ExcerptTail,
		Cascades:          true,
		IsReadOnly:        tools.When(func(_ *tools.Env, in prepared) bool { return in.readOnly() }),
		IsConcurrencySafe: tools.When(func(_ *tools.Env, in prepared) bool { return in.readOnly() && !in.judged.moves() }),
		IsDestructive:     tools.When(func(_ *tools.Env, in prepared) bool { return in.judged.destructive() }),
		IsOpenWorld:       tools.When(func(_ *tools.Env, in prepared) bool { return !in.readOnly() || !in.judged.ReadOnly }),
		IsEnabled:         func() error { return checkPosix(o.Commands) },
		Prepare: func(env *tools.Env, in Input) (prepared, error) {
			in.Command = shellsafe.Normalize(in.Command)
			j := judgeWith(env, o.Commands, in.Command, in.Stdin || in.TTY)
			j.kernel = j.Views && !j.moves() && !in.RunInBackground && !env.Commands.Uncontained && o.ReadOnly != nil && checkReadOnly(o) == nil
			if in.Stdin || in.TTY {
				j.distrust = "its input is not known yet"
			}
			j.terminal = in.TTY
			err := in.validate(o, "Bash", j)
			if err == nil && in.TTY {
				err = canTerminal(context.Background(), o)
			}
			return prepared{in, j}, err
		},
		Parts: func(env *tools.Env, in prepared) *tools.Parts {
			if in.DisableSandbox {
				env = nil
			}
			return in.judged.parts(env, o.Commands, in.Command, in.views())
		},
		Check: func(env *tools.Env, in prepared) *policy.Decision {
			if in.DisableSandbox {
				return unsandboxed(o.Commands)
			}
			return check(env, o.Commands, in.judged, in.views())
		},
		Grants: func(env *tools.Env, in prepared, opens []policy.Target) ([]tools.Grant, error) {
			if in.DisableSandbox || env.Commands.Uncontained {
				return nil, nil
			}
			return grants(o.Commands, in.judged, opens, in.judged.readOnly())
		},
		ClassifierInput: func(in prepared) string { return in.Command },
		Call: func(ctx context.Context, env *tools.Env, in prepared) (tools.Result[Output], error) {
			c := in.call(o, env, "Bash")
			return c.run(ctx)
		},
		Render: render,
	})
}

func newReadOnly(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[ReadOnlyInput, preparedReadOnly, Output]{
		Name:              "BashReadOnly",
		Title:             "Run a read-only command",
		Prompt:            promptReadOnly,
		SearchHint:        "run shell command read-only inspect search git log",
		Description:       func(in preparedReadOnly) string { return describe(in.Command, in.Description) },
		View:              tools.ViewOutput,
		Summary:           func(_ preparedReadOnly, r tools.Result[Output]) string { return summary(r) },
		Loading:           tools.LoadAlways,
		MaxResultSize:     max(tools.DefaultResultSize, o.MaxOutput+notesReserve),
		Excerpt:           tools.ExcerptTail,
		Cascades:          true,
		IsReadOnly:        tools.Always[preparedReadOnly](),
		IsConcurrencySafe: tools.Always[preparedReadOnly](),
		IsEnabled: func() error {
			err := checkReadOnly(o)
			if errors.Is(err, command.ErrRetry) {
				return later{err}
			}
			return err
		},
		Prepare: func(env *tools.Env, in ReadOnlyInput) (preparedReadOnly, error) {
			in.Command = shellsafe.Normalize(in.Command)
			j := judge(env, o.Commands, in.Command)
			return preparedReadOnly{in, j}, validate(in.Command, in.Timeout, o.Most, fmt.Sprintf(nextBackground, "Bash"), j)
		},
		Parts: func(env *tools.Env, in preparedReadOnly) *tools.Parts {
			return in.judged.parts(env, o.Commands, in.Command, true)
		},
		Grants: func(_ *tools.Env, in preparedReadOnly, opens []policy.Target) ([]tools.Grant, error) {
			return grants(o.Commands, in.judged, opens, true)
		},
		Check: func(env *tools.Env, in preparedReadOnly) *policy.Decision {
			return check(env, o.Commands, in.judged, true)
		},
		ClassifierInput: func(in preparedReadOnly) string { return in.Command },
		Call: func(ctx context.Context, env *tools.Env, in preparedReadOnly) (tools.Result[Output], error) {
			c := call{o: o, env: env, tool: "Bash", command: in.Command, timeout: in.Timeout, description: in.Description, readOnly: true}
			c.judged = in.judged
			return c.run(ctx)
		},
		Render: render,
	})
}

func render(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.Text}} }

func checkShell(c *command.Commands) error {
	if c == nil || c.Shell() == "" {
		return command.ErrNoShell
	}
	return nil
}

// checkPosix returns the reason why Bash has no shell to run commands, or nil if it has
// one.
func checkPosix(c *command.Commands) error {
	if err := checkShell(c); err != nil || c.Language() != command.PowerShell {
		return err
	}
	return errPowerShell
}

// checkReadOnly returns the reason why the kernel cannot prevent changes by commands, or nil.
func checkReadOnly(o Options) error {
	if err := checkPosix(o.Commands); err != nil || o.ReadOnly == nil {
		return err
	}
	return o.ReadOnly()
}

// call returns a call of the named tool with this input.
func (in prepared) call(o Options, env *tools.Env, tool string) *call {
	return &call{
		o: o, env: env, tool: tool, command: in.Command, timeout: in.Timeout, description: in.Description,
		background: in.RunInBackground, unsandboxed: in.DisableSandbox, judged: in.judged, stdin: in.Stdin, tty: in.TTY,
	}
}

// later wraps the error of a sandbox that is not confirmed yet, so that the tool may be
// enabled later.
type later struct{ error }

// Is reports whether target is tools.ErrRetry.
func (later) Is(target error) bool { return target == tools.ErrLater }

// describe returns one line on a call for the user: its description, if any, and the
// first line of the command.
func describe(text, description string) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if more {
		line += " ..."
	}
	if description == "" {
		return "Run " + line
	}
	return fmt.Sprintf("%s: %s", strings.TrimSuffix(description, "."), line)
}

// validate checks the input of a call of the named tool.
func (in Input) validate(o Options, tool string, j *judged) error {
	if in.Stdin && !in.RunInBackground {
		return &tools.Fault{Fact: "stdin is for background tasks only", Next: "Add run_in_background, or leave stdin out."}
	}
	if in.TTY && !in.RunInBackground {
		return &tools.Fault{Fact: "tty is for background tasks only", Next: "Add run_in_background, or leave tty out."}
	}
	if in.TTY && in.DisableSandbox {
		return errTerminal("dangerouslyDisableSandbox is set")
	}
	if in.RunInBackground {
		return validate(in.Command, in.Timeout, max(o.Most, mostBackground), nextShorter, j)
	}
	return validate(in.Command, in.Timeout, o.Most, fmt.Sprintf(nextBackground, tool), j)
}

func validate(text string, timeout int, most time.Duration, instead string, j *judged) error {
	switch {
	case strings.TrimSpace(text) == "":
		return &tools.Fault{Fact: "the command is blank", Next: "Give a command to run."}
	case strings.ContainsRune(text, 0):
		return &tools.Fault{Fact: "the command has a NUL character, which no shell can take", Next: `Leave it out, or write it as printf '\0'.`}
	case len(text) > maxCommand:
		return &tools.Fault{
			Fact: fmt.Sprintf("the command has %d bytes; the most is %d", len(text), maxCommand),
			Next: "Write it to a file with Write and run that.",
		}
	case int64(timeout) > most.Milliseconds():
		return &tools.Fault{
			Fact: fmt.Sprintf("timeout is %d ms; the most is %d", timeout, most.Milliseconds()),
			Next: instead,
		}
	case j != nil && j.syntax != "":
		return &tools.Fault{Fact: "not valid bash: " + plain.Line(j.syntax), Next: "Correct the command."}
	}
	return j.fullScreen()
}

var errNoJudgement = errors.New("the command was not judged")
