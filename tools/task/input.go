package task

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/internal/text/terminal"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// Limits of TaskInput.
const (
	// maxText is the limit of text, in bytes. A pipe takes 64 KiB at once.
	maxText = 64 << 10
	// takeWait is the timeout for a task to take the input.
	takeWait = 5 * time.Second
	// quietAfter is the time without new output after which the answer is complete, and
	// quietWait its limit.
	quietAfter = 300 * time.Millisecond
	quietWait  = 5 * time.Second
)

// SendInput holds the arguments of TaskInput.
type SendInput struct {
	TaskID string   `json:"task_id" minLength:"1" jsonschema:"Id of the task"`
	Text   string   `json:"text,omitempty" jsonschema:"Text to write, with \\n at the end of a line"`
	Keys   []string `json:"keys,omitempty" maxItems:"256" jsonschema:"Keys to press after text, for a task with tty: enter, tab, shift-tab, escape, space, backspace, insert, delete, up, down, left, right, home, end, page-up, page-down, f1 to f12, ctrl-a to ctrl-z, alt-x for any x"`
	EOF    bool     `json:"eof,omitempty" jsonschema:"End the input"`
}

// SendOutput describes what a task has taken, and its output since.
type SendOutput struct {
	TaskID     string `json:"task_id" jsonschema:"The task"`
	Status     string `json:"status" enum:"running,completed,failed,stopped,timed out" jsonschema:"Status of the task"`
	Bytes      int    `json:"bytes" jsonschema:"Bytes that it has taken"`
	Output     string `json:"output" jsonschema:"Output since the call; with tty, the screen"`
	NextOffset int64  `json:"next_offset" jsonschema:"Offset for TaskOutput to read on, in bytes"`

	text string
}

//go:embed input.md
var inputPrompt string

// NewInput returns the tool TaskInput.
func NewInput(o Options) *tools.Tool {
	if o.MaxOutput == 0 {
		o.MaxOutput = maxOutput
	}
	return tools.MustBuild(tools.Def[SendInput, SendInput, SendOutput]{
		Name:          "TaskInput",
		Title:         "Type into a task",
		Prompt:        inputPrompt,
		SearchHint:    "send input stdin text to background task program",
		Description:   describeInput,
		Loading:       tools.LoadDeferred,
		MaxResultSize: max(tools.DefaultResultSize, o.MaxOutput+besides),
		Excerpt:       tools.ExcerptTail,
		IsDestructive: tools.Always[SendInput](),
		IsOpenWorld:   tools.Always[SendInput](),
		Prepare:       func(_ *tools.Env, in SendInput) (SendInput, error) { return in, in.validate() },
		Matcher: func(in SendInput) func(policy.Behavior, string) bool {
			return func(_ policy.Behavior, id string) bool { return id == in.TaskID }
		},
		Types:           func(env *tools.Env, in SendInput) *policy.Parts { return in.types(env, o) },
		Check:           func(env *tools.Env, in SendInput) *policy.Decision { return checkInput(env, in, o) },
		ClassifierInput: func(in SendInput) string { return strings.Join(append([]string{in.Text}, in.Keys...), "\n") },
		Call: func(ctx context.Context, env *tools.Env, in SendInput) (tools.Result[SendOutput], error) {
			return send(ctx, env, in, o)
		},
		Render: func(o SendOutput) []tools.Content { return []tools.Content{tools.Text{Text: o.text}} },
	})
}

// typist is a job that knows what its command makes of an input.
type typist interface {
	// Types describes what a text makes the command run, or returns nil if it takes no text for
	// commands. whole reports that the text ends with a line, and that no keys change it.
	Types(text string, whole bool) *policy.Parts
}

// types describes what the call types into a shell, or into a program with an escape to one.
func (in SendInput) types(env *tools.Env, o Options) *policy.Parts {
	t, _, err := receiver(env, o, in.TaskID)
	if err != nil {
		return nil // the call fails
	}
	job, ok := t.Job.(typist)
	if !ok {
		return nil
	}
	text, whole := in.Text, true
	for _, key := range in.Keys {
		switch strings.ToLower(key) {
		case "enter":
			text += "\n"
		case "ctrl-c", "ctrl-d":
		default:
			whole = false
		}
	}
	return job.Types(text, whole && (in.EOF || text == "" || strings.HasSuffix(text, "\n")))
}

// describeInput returns one line on a call for the user.
func describeInput(in SendInput) string {
	var what []string
	if in.Text != "" {
		what = append(what, plain.Quote(in.Text))
	}
	if len(in.Keys) > 0 {
		what = append(what, "the keys "+plain.Line(strings.Join(in.Keys, ", ")))
	}
	if in.EOF {
		what = append(what, "the end of its input")
	}
	return fmt.Sprintf("Type into the background task %s: %s", plain.Line(in.TaskID), strings.Join(what, " and "))
}

func (in SendInput) validate() error {
	switch {
	case in.Text == "" && !in.EOF && len(in.Keys) == 0:
		return fault.New("there is nothing to send", "Give text, keys or eof.")
	case len(in.Text) > maxText:
		return fault.New(fmt.Sprintf("text has %d bytes; the most is %d", len(in.Text), maxText), "Send it in parts, or let the program read a file.")
	}
	for _, key := range in.Keys {
		if terminal.IsKey(key) {
			continue
		}
		next := "Use names such as enter, up, f1, ctrl-c and alt-x."
		if utf8.RuneCountInString(key) == 1 {
			next = "Give characters as text."
		} else if near := nearest.Names(strings.ToLower(key), terminal.KeyNames(), 3); len(near) > 0 {
			next = "Did you mean " + strings.Join(near, " or ") + "?"
		}
		return fault.New("there is no key "+plain.Quote(key), next)
	}
	return nil
}

// bytes returns what a task gets: the text and what a terminal sends for the keys.
func (in SendInput) bytes(task string, screen *terminal.Emulator) ([]byte, error) {
	switch {
	case screen == nil && len(in.Keys) > 0:
		return nil, fault.New("the background task "+task+" has no terminal, so it takes no keys", "Give text, or start it again by Bash with run_in_background and tty.")
	case screen != nil && in.EOF:
		return nil, fault.New("the input of a terminal has no end", "Press the key ctrl-d at the beginning of a line.")
	}
	input := in.Text
	for _, key := range in.Keys {
		input += screen.Key(key)
	}
	return []byte(input), nil
}

// describeScreen returns the text on a terminal, with the position of the cursor.
func describeScreen(screen *terminal.Emulator) string {
	text, row, col, ok := screen.Text()
	if !ok {
		return "[the screen is not known: its program has written something that the server cannot show]\n"
	}
	cols, rows := screen.Size()
	return fmt.Sprintf("[screen of %dx%d, cursor in row %d, column %d]\n%s\n", cols, rows, row, col, text)
}

// receiver returns the task with an id if it was started with an input.
func receiver(env *tools.Env, o Options, id string) (*tasks.Task, tasks.Receiver, error) {
	t, err := Find(env, o.Tasks, id)
	if err != nil {
		return nil, nil, err
	}
	r, ok := t.Job.(tasks.Receiver)
	if !ok || !r.HasInput() {
		return nil, nil, fault.New("the background task "+t.ID+" takes no input", "Start it again by Bash with run_in_background and stdin.")
	}
	return t, r, nil
}

// checkInput asks about input to a task that is not contained, since it could do anything.
func checkInput(env *tools.Env, in SendInput, o Options) *policy.Decision {
	_, r, err := receiver(env, o, in.TaskID)
	if err != nil {
		return nil // the call fails
	}
	contained, left := r.Containment()
	d := &policy.Decision{
		Behavior: policy.Ask, Reason: "the task runs outside of the sandbox, and its input could make it do anything",
		Next: "ask the user to allow it, for good by the rule TaskInput in the settings",
	}
	switch {
	case contained:
		return nil
	case left: // as the call that has started it
		d.Layer, d.Next = policy.LayerSandbox, "start the task without dangerouslyDisableSandbox"
	}
	return d
}

func send(ctx context.Context, env *tools.Env, in SendInput, o Options) (tools.Result[SendOutput], error) {
	none := tools.Result[SendOutput]{}
	t, r, err := receiver(env, o, in.TaskID)
	if err != nil {
		return none, err
	}
	if hasEnded(t) {
		return none, fault.New("the background task "+t.ID+" has ended", "TaskOutput shows its output.")
	}
	screen := r.Terminal()
	input, err := in.bytes(t.ID, screen)
	if err != nil {
		return none, err
	}
	log := t.Output()
	mark := log.Mark()
	taking, cancel := context.WithTimeout(ctx, takeWait)
	n, err := r.Send(taking, input)
	cancel()
	slow := errors.Is(err, os.ErrDeadlineExceeded)
	switch {
	case ctx.Err() != nil:
		return none, context.Cause(ctx)
	case errors.Is(err, os.ErrClosed), errors.Is(err, syscall.EPIPE):
		return none, fault.New(fmt.Sprintf("the input of the background task %s is closed; it has taken %d of %d bytes", t.ID, n, len(input)), "TaskOutput shows the state of the task.")
	case err != nil && !slow:
		return none, fault.New("the input could not be written: "+plain.Line(err.Error()), "TaskOutput shows the state of the task.")
	}
	if in.EOF && !slow {
		_ = r.CloseInput()
	}
	if err := quiet(ctx, t); err != nil {
		return none, err
	}
	s := t.Status()
	view, err := log.ExcerptAfter(mark, o.MaxOutput, o.MaxOutput)
	end := log.Mark().Offset()
	out := SendOutput{TaskID: t.ID, Status: string(s.State), Bytes: n, NextOffset: end}
	var b strings.Builder
	fmt.Fprintf(&b, "Task %s: %s\n%s", t.ID, how(s, time.Now()), notes(s))
	if slow {
		fmt.Fprintf(&b, "[the task does not read: it has taken %d of %d bytes%s]\n", n, len(input), map[bool]string{true: ", and its input is not closed"}[in.EOF])
	}
	switch {
	case screen != nil:
		out.Output = describeScreen(screen)
		b.WriteString(out.Output)
	case err != nil:
		b.WriteString("[its output cannot be shown: " + plain.Line(err.Error()) + "]\n")
	case view.Binary:
		b.WriteString(log.NotShown(end-mark.Offset()) + "\n")
	default:
		out.Output = view.Head
		if view.Gap.Bytes() > 0 {
			out.Output += gap(view.Gap) + view.Tail
		}
		b.WriteString(out.Output)
		if out.Output == "" {
			b.WriteString("[no output since]\n")
		}
	}
	o.seen(env, t, s)
	out.text = strings.TrimSuffix(b.String(), "\n")
	if s.State == tasks.Running {
		out.text += fmt.Sprintf("\n[next offset %d]", end)
	}
	return tools.Result[SendOutput]{Data: out, Meta: Meta(t.ID, s), Failed: slow}, nil
}

// quiet waits until a task has printed nothing for a while, or has ended.
func quiet(ctx context.Context, t *tasks.Task) error {
	last, _ := t.Output().Bytes()
	look := time.NewTicker(lookEvery / 2)
	defer look.Stop()
	end := time.Now().Add(quietWait)
	for since := time.Now(); ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.Done():
			return nil
		case now := <-look.C:
			switch printed, _ := t.Output().Bytes(); {
			case printed != last:
				last, since = printed, now
			case now.Sub(since) >= quietAfter:
				return nil
			}
			if now.After(end) {
				return nil
			}
		}
	}
}
