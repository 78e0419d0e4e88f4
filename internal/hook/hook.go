// Package hook runs the hooks of a call: commands of the user that are told of
// the call in JSON, and that may refuse it, change it, or add to its result.
//
// The package starts the commands, reads what they say and makes one Verdict of
// it. Which hooks match is policy's, what becomes of a Verdict the pipeline's:
// an allow of a hook lifts no rule, and an updated input is validated and judged
// again.
//
// Hooks are trusted as the settings are: they run without a sandbox, with the
// rights of the server.
package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"mcp-toolset/policy"
)

// Config is what a Runner needs to know.
type Config struct {
	// Shell runs the commands, by -c: a path, or a name to be found in PATH.
	// Empty: sh.
	Shell string
	// Environ is the environment of hooks as NAME=value. Whoever makes it has
	// taken out what hooks must not see. The variables of the project folder and
	// PWD are set by the Runner.
	Environ []string
	// ProjectDir is the folder that CLAUDE_PROJECT_DIR and
	// MCP_TOOLSET_PROJECT_DIR name: absolute.
	ProjectDir string
	// FailClosed makes a PreToolUse hook that fails or is late deny the call.
	FailClosed bool
	Log        *slog.Logger // failures, and what hooks say that has no effect; nil: nowhere
}

// Runner runs hooks. It keeps nothing between runs and is safe for concurrent
// use.
type Runner struct {
	cfg      Config
	shell    string
	shellErr error // every hook fails with it
	log      *slog.Logger

	mu      sync.Mutex
	running map[*process]bool // not reaped yet
	closed  bool
}

// New makes a Runner. The shell is looked for now; that there is none is told as
// the failure of each hook.
func New(cfg Config) *Runner {
	r := &Runner{cfg: cfg, log: cfg.Log, running: map[*process]bool{}}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if cfg.Shell == "" {
		cfg.Shell = "sh"
	}
	r.shell, r.shellErr = exec.LookPath(cfg.Shell) // an error also for one in the current folder
	if r.shellErr == nil {
		r.shell, r.shellErr = filepath.Abs(r.shell)
	}
	return r
}

// Input is what hooks are told of a call.
type Input struct {
	SessionID      string
	Dir            string // working directory of the session, and of the hooks: absolute
	PermissionMode string
	Tool           string          // canonical name
	ToolInput      json.RawMessage // with absolute paths
	ToolUseID      string

	// Spill stores a text too long to be shown and returns where. The name says
	// what the text is, in letters, digits and -; it is not unique. It may be
	// called by several goroutines. Nil: such a text is cut.
	Spill func(name, text string) (path string, err error)

	// Behind the call only.
	Response json.RawMessage // what the tool answered, any JSON; nil: nothing
	Duration time.Duration   // how long the tool ran
	Error    string          // what went wrong, for PostToolUseFailure
}

// line is the input as one line of JSON, for an event.
func (in Input) line(event policy.Event) ([]byte, error) {
	msg := struct {
		SessionID      string          `json:"session_id"`
		Dir            string          `json:"cwd"`
		PermissionMode string          `json:"permission_mode"`
		Event          policy.Event    `json:"hook_event_name"`
		Tool           string          `json:"tool_name"`
		ToolInput      json.RawMessage `json:"tool_input"`
		ToolUseID      string          `json:"tool_use_id"`
		Response       json.RawMessage `json:"tool_response,omitempty"`
		Error          string          `json:"error,omitempty"`
		Duration       *int64          `json:"duration_ms,omitempty"`
	}{
		SessionID: in.SessionID, Dir: in.Dir, PermissionMode: cmp.Or(in.PermissionMode, "default"), Event: event,
		Tool: in.Tool, ToolInput: in.ToolInput, ToolUseID: in.ToolUseID,
	}
	if len(in.ToolInput) == 0 {
		msg.ToolInput = json.RawMessage("{}")
	}
	if event != policy.PreToolUse {
		ms := in.Duration.Milliseconds()
		msg.Response, msg.Duration = in.Response, &ms
	}
	if event == policy.PostToolUseFailure {
		msg.Error = in.Error
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b) // it ends the line
	enc.SetEscapeHTML(false)
	if err := enc.Encode(msg); err != nil {
		return nil, fmt.Errorf("writing the call as JSON: %w", err)
	}
	return b.Bytes(), nil
}

// Verdict is what all hooks of an event say together. Its texts are safe to
// show: Reason, Block and Context may have several lines, the others have one.
type Verdict struct {
	// Decided says that Behavior holds, which only PreToolUse hooks decide. The
	// most severe of what they say counts.
	Decided  bool
	Behavior policy.Behavior
	Reason   string // why, of all hooks that say so, in the order of the settings
	Next     string // one next step for a call that is not allowed
	By       string // the first of the hooks that decided or blocked, shortened; "" if none did

	// UpdatedInput is the whole input to run instead, a JSON object that nobody
	// has validated; nil: as it is.
	UpdatedInput json.RawMessage
	// Context is what to append to the result.
	Context []string
	// Block is what to tell the model behind a call that a hook objects to; "":
	// none does.
	Block string
	// Replace is what the model sees instead of the tool's output: a JSON string,
	// or any JSON. It is as the hook wrote it, of any length. Nil: the output
	// stays. Only for PostToolUse.
	Replace json.RawMessage
	// Failures are the hooks that said nothing because they failed or were late.
	Failures []Failure
}

// Failure is a hook that failed.
type Failure struct {
	Command string // shortened, in one line
	Why     string // in one line, to be read behind the command
}

// Run runs hooks in parallel, each exactly once, and returns when all have
// ended: by themselves, because their time was over, or because ctx ended. In the
// last two cases they are ended with all that they started, but for what made a
// session of its own and lost its parent on Linux, and for what left their
// process group elsewhere.
//
// What a hook leaves in the background goes on if it has let go of the hook's
// output; if not, it is ended, since the hook may not have said all.
//
// When ctx ends before all PreToolUse hooks have answered, the call is denied:
// the one that was to refuse it may be among them.
func (r *Runner) Run(ctx context.Context, event policy.Event, hooks []policy.Hook, in Input) Verdict {
	if len(hooks) == 0 {
		return Verdict{}
	}
	answers := make([]answer, len(hooks))
	line, err := in.line(event)
	var wg sync.WaitGroup
	for i, h := range hooks {
		if err != nil {
			answers[i] = answer{hook: h, failure: "cannot be told of the call: " + err.Error()}
			continue
		}
		wg.Go(func() { answers[i] = r.ask(ctx, event, h, in.Dir, line) })
	}
	wg.Wait()
	return (&jury{Runner: r, event: event, spill: in.Spill}).verdict(answers)
}
