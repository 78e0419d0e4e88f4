// Package hook runs the hooks of a call: commands of the user that receive the
// call as JSON, and that may refuse it, change it, or add to its result.
//
// The package starts the commands, reads their output and combines it into one
// Verdict. Package policy selects the hooks, and the pipeline acts on the
// Verdict: an allow of a hook overrides no rule, and an updated input is
// validated and judged again.
//
// Hooks are trusted like the settings: they run without a sandbox, with the
// rights of the server.
//
// Hooks of a call run in parallel, each in a process session of its own. A hook is not a
// supervised command: processes that it leaves go on. A server that exits kills the
// running hooks (Runner.Close), because ending them politely takes longer than a client
// waits.
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

// Config holds the settings of a Runner.
type Config struct {
	// Shell runs the commands with -c. It is a path, or a name that is searched
	// for in PATH. "" means sh.
	Shell string
	// Environ is the environment of hooks, as NAME=value. The caller must
	// remove variables that hooks must not see. The Runner adds PWD and the
	// variables of the project folder.
	Environ []string
	// ProjectDir is the absolute path in CLAUDE_PROJECT_DIR and
	// MCP_TOOLSET_PROJECT_DIR.
	ProjectDir string
	// FailClosed makes a PreToolUse hook that fails or times out deny the call.
	FailClosed bool
	Log        *slog.Logger // receives failures, and output without effect; nil discards them
}

// Runner runs hooks. It stores nothing between runs and is safe for concurrent
// use.
type Runner struct {
	cfg      Config
	shell    string
	shellErr error // why there is no shell; every hook fails with it
	log      *slog.Logger

	mu      sync.Mutex
	running map[*process]bool // hooks that are not reaped
	closed  bool
}

// New returns a Runner. It searches for the shell. If there is none, each hook
// fails with that error.
func New(cfg Config) *Runner {
	r := &Runner{cfg: cfg, log: cfg.Log, running: map[*process]bool{}}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if cfg.Shell == "" {
		cfg.Shell = "sh"
	}
	r.shell, r.shellErr = exec.LookPath(cfg.Shell) // also fails for a program in the current folder
	if r.shellErr == nil {
		r.shell, r.shellErr = filepath.Abs(r.shell)
	}
	return r
}

// Input holds the facts about a call that hooks receive.
type Input struct {
	SessionID      string
	Dir            string // absolute working directory of the session and of the hooks
	PermissionMode string
	Tool           string          // canonical name
	ToolInput      json.RawMessage // with absolute paths
	ToolUseID      string

	// Spill stores a text that is too long to be shown and returns its path.
	// The name describes the text in letters, digits and -; it is not unique.
	// Spill may be called concurrently. If it is nil, such texts are truncated.
	Spill func(name, text string) (path string, err error)

	// Fields for events after the call.
	Response json.RawMessage // the answer of the tool, any JSON; nil if there is none
	Duration time.Duration   // running time of the tool
	Error    string          // the error of the tool, for PostToolUseFailure
}

// line returns the input as one line of JSON for an event.
func (in Input) line(event Event) ([]byte, error) {
	msg := struct {
		SessionID      string          `json:"session_id"`
		Dir            string          `json:"cwd"`
		PermissionMode string          `json:"permission_mode"`
		Event          Event           `json:"hook_event_name"`
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
	if event != PreToolUse {
		ms := in.Duration.Milliseconds()
		msg.Response, msg.Duration = in.Response, &ms
	}
	if event == PostToolUseFailure {
		msg.Error = in.Error
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b) // it adds the line break
	enc.SetEscapeHTML(false)
	if err := enc.Encode(msg); err != nil {
		return nil, fmt.Errorf("writing the call as JSON: %w", err)
	}
	return b.Bytes(), nil
}

// Verdict is the combined result of all hooks of an event. Its texts are safe
// to show. Reason, Block and Context may have several lines, other texts have
// one.
type Verdict struct {
	// Decided reports that Behavior is set, which happens only for PreToolUse.
	// Behavior is the most severe decision of all hooks.
	Decided  bool
	Behavior policy.Behavior
	Reason   string // the reasons of all hooks with this decision, in the order of the settings
	Next     string // one next step for a call that is not allowed
	By       string // the first hook that decided or blocked, shortened; "" if there is none

	// UpdatedInput replaces the whole input. It is a JSON object that is not
	// validated. It is nil if the input is unchanged.
	UpdatedInput json.RawMessage
	// Context lists texts to append to the result.
	Context []string
	// Block is the text for the model if a hook objects after the call, or "".
	Block string
	// Replace is shown to the model instead of the tool's output. It is any
	// JSON, as the hook wrote it and of any length. It is nil if the output is
	// unchanged. Only PostToolUse sets it.
	Replace json.RawMessage
	// Failures lists the hooks without an answer because they failed or timed
	// out.
	Failures []Failure
}

// Failure describes a hook that failed.
type Failure struct {
	Command string // shortened, in one line
	Reason  string // in one line, to be read after the command
}

// Run runs hooks in parallel, each exactly once. It returns when all have
// ended: by themselves, by their timeout, or because ctx ended. In the last two
// cases their descendants are ended too. The exceptions on Linux are processes
// that have both created a session and lost their parent; on other systems,
// those that have left the process group.
//
// A background process of a hook may continue if it has closed the hook's
// output. Otherwise it is ended, because the output of the hook may be
// incomplete.
//
// If ctx ends before all PreToolUse hooks have answered, the call is denied,
// because one of the missing hooks might have refused it.
func (r *Runner) Run(ctx context.Context, event Event, hooks []Hook, in Input) Verdict {
	if len(hooks) == 0 {
		return Verdict{}
	}
	answers := make([]answer, len(hooks))
	line, err := in.line(event)
	var wg sync.WaitGroup
	for i, h := range hooks {
		if err != nil {
			answers[i] = answer{hook: h, failure: "cannot get the call: " + err.Error()}
			continue
		}
		wg.Go(func() { answers[i] = r.ask(ctx, event, h, in.Dir, line) })
	}
	wg.Wait()
	return (&combiner{Runner: r, event: event, spill: in.Spill}).verdict(answers)
}
