package bash

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// Keys in the _meta of a result, for programs. Package tools/task defines further ones.
const (
	metaStatus    = "mcp-toolset/status" // exited, signalled, timed out, stopped, lost, running
	metaExitCode  = "mcp-toolset/exit_code"
	metaSignal    = "mcp-toolset/signal"
	metaTask      = "mcp-toolset/task_id"
	metaFile      = "mcp-toolset/output_file"
	metaBytes     = "mcp-toolset/output_bytes"
	metaDuration  = "mcp-toolset/duration_ms"
	metaContained = "mcp-toolset/sandboxed"
)

// excerpt is the number of characters that an answer shows of output over the limit: a
// quarter from the beginning, the rest from the end.
const excerpt = 8 << 10

// answer collects the parts of an answer about a command.
type answer struct {
	first  string // line before the output; "": none
	notes  []string
	effect session.Effect
	meta   map[string]any
}

// inBackground adds a command as a task and returns the answer for it, without waiting.
// It stops the command if the task cannot be added.
func (c *call) inBackground(j *job) (tools.Result[Output], error) {
	if c.timeout > 0 {
		limit := time.Duration(c.timeout) * time.Millisecond
		j.limitTo(limit, limit)
	}
	id, err := c.add(j, false)
	if err != nil {
		j.discard(command.Stopped)
		return tools.Result[Output]{}, err
	}
	text := fmt.Sprintf("Running in the background as task %s. %s", id, waitAdvice(id))
	if c.stdin || c.tty {
		text += " TaskInput writes to it."
	}
	return tools.Result[Output]{
		Data:   Output{Status: "running", TaskID: id, Text: text},
		Effect: session.Effect{Output: j.Output().Path()},
		Meta:   map[string]any{metaStatus: "running", metaTask: id, metaFile: j.Output().Path(), metaContained: j.Contained()},
		Did:    &tools.Did{Task: id},

		HookFields: func() tools.HookFields { return forHooks(j, "", id, true) },
	}, nil
}

// waitAdvice returns advice on how to wait for a task.
func waitAdvice(id string) string {
	return fmt.Sprintf(`A later answer reports its end; TaskOutput {"task_id":"%s"} waits for it, TaskStop ends it.`, id)
}

// moved moves a command to the background that takes longer than its client waits, and
// returns the answer. It stops the command if it cannot become a task.
func (c *call) moved(j *job) (tools.Result[Output], error) {
	id, err := c.add(j, false)
	if err != nil {
		j.discard(command.Stopped)
		return tools.Result[Output]{}, fmt.Errorf("the command took too long to be waited for, could not go on in the background and was stopped: %w", err)
	}
	took := time.Since(j.Started).Round(time.Second / 10)
	a := answer{
		first:  fmt.Sprintf("Still running after %s: moved to the background as task %s. %s", seconds(took), id, waitAdvice(id)),
		effect: session.Effect{Output: j.Output().Path()},
		meta:   map[string]any{metaStatus: "running", metaDuration: took.Milliseconds(), metaContained: j.Contained()},
	}
	return c.answer(j, a, id)
}

// ended returns the answer for a command that has ended.
func (c *call) ended(j *job) (tools.Result[Output], error) {
	r := j.Result()
	_, detail := j.ending(r)
	a := answer{notes: j.notes(r), meta: map[string]any{
		metaDuration: r.Ended.Sub(j.Started).Milliseconds(), metaContained: j.Contained(),
	}}
	switch {
	case r.Lost != nil:
		a.meta[metaStatus] = "lost"
	case r.EndReason != command.ByItself:
		a.meta[metaStatus] = map[bool]string{true: "timed out", false: "stopped"}[r.EndReason == command.Timeout]
	case r.Signal != 0:
		a.meta[metaStatus], a.meta[metaSignal] = "signalled", signalName(r.Signal)
	default:
		a.meta[metaStatus], a.meta[metaExitCode] = "exited", r.Code
	}
	if j.failed(r) || r.Code != 0 { // also for a code that is no failure, as of a grep without a match
		a.first = strings.ToUpper(detail[:1]) + detail[1:]
	}
	if r.EndReason == command.Timeout && shellsafe.LeadingSleep(c.command) {
		note := "a command that begins with sleep is stopped at its timeout; use Sleep"
		if !c.readOnly {
			note += " or run_in_background"
		}
		a.notes = append(a.notes, note)
	}
	a.notes = append(a.notes, c.hidden(j)...)
	if r.Dir == "" && !c.readOnly && c.judged.moves() && !j.failed(r) {
		a.notes = append(a.notes, "where the command ended is not known; the working directory is still "+plain.Line(c.env.Session.Dir))
	}
	if c.moves(r.Dir) {
		if note := c.folder(r.Dir, !j.failed(r)); note != "" {
			a.notes = append(a.notes, note)
		} else {
			a.effect.Dir = r.Dir
		}
	}
	return c.answer(j, a, "")
}

// mostHidden is the limit of hidden names that a note lists, and of such notes.
const mostHidden = 3

// hidden returns notes on names that rules and the sandbox hid from a search. It
// returns none if the command is no search, or nothing is hidden where it searched.
func (c *call) hidden(j *job) (notes []string) {
	if !c.judged.readOnly() || c.judged.Unnamed() == "" {
		return nil
	}
	var rules []string // in order of the names; "" for the sandbox itself
	hidden := map[string][]string{}
	dir := c.env.Session.Dir
	for _, name := range j.Hidden(dir) {
		rule := ""
		if c.env.Commands.HidingRule != nil {
			rule = c.env.Commands.HidingRule(filepath.Join(dir, name))
		}
		if hidden[rule] == nil {
			rules = append(rules, rule)
		}
		hidden[rule] = append(hidden[rule], name)
	}
	for _, rule := range rules[:min(len(rules), mostHidden)] {
		names := hidden[rule]
		shown := plain.Line(strings.Join(names[:min(len(names), mostHidden)], ", "))
		if more := len(names) - mostHidden; more > 0 {
			shown += fmt.Sprintf(" and %d more", more)
		}
		if rule == "" {
			notes = append(notes, "sandbox: hidden from commands that do not name them: "+shown)
		} else {
			notes = append(notes, fmt.Sprintf("sandbox: hidden by the rule %s: %s", plain.Quote(rule), shown))
		}
	}
	return notes
}

// moves reports whether dir, where the shell ended, may become the working directory or
// needs a note. Calls of BashReadOnly run concurrently, so they never move the session.
func (c *call) moves(dir string) bool {
	return dir != "" && dir != c.env.Session.Dir && !c.readOnly
}

// folder returns a note on why the working directory does not change to dir, where the
// command ended. It returns "" if dir becomes the working directory.
func (c *call) folder(dir string, succeeded bool) string {
	stays := "the working directory is still " + plain.Line(c.env.Session.Dir)
	switch {
	case c.env.Session.Forgets():
		return stays + ", since this client's requests have no session to keep another in"
	case !succeeded:
		return stays + ", since the command failed"
	case !inRoots(c.env.Session.Roots, dir):
		return fmt.Sprintf("%s: %s is outside of the workspace", stays, plain.Line(dir))
	}
	return ""
}

// answer builds the result of a call. Output that is not shown in full becomes a task,
// so that TaskOutput can return it; output shown in full is deleted. Output that could
// not be stored is shown up to the limit of an answer.
func (c *call) answer(j *job, a answer, id string) (tools.Result[Output], error) {
	short, full := excerpt, j.Output().Err()
	if full != nil {
		short = c.o.MaxOutput
	}
	view, err := j.Output().Excerpt(c.o.MaxOutput, short)
	if err != nil { // evicted, or a disk error; how the command ended is still known
		a.notes = append(a.notes, "its output cannot be shown: "+plain.Line(err.Error()))
	}
	printed, stored := j.Output().Bytes()
	ended := id == ""
	var unkept error // why output that is not shown could not be stored
	if ended && stored == 0 && full != nil {
		unkept = errors.New(j.full())
	} else if ended && (view.Gap.Bytes() > 0 || view.Binary) {
		if id, unkept = c.add(j, true); unkept == nil {
			a.effect.Output = j.Output().Path()
		}
	}
	var b strings.Builder
	if a.first != "" {
		b.WriteString(a.first + "\n")
	}
	if !view.Binary {
		b.WriteString(view.Head)
	}
	if view.Gap.Bytes() > 0 {
		newline(&b)
	}
	switch {
	case view.Binary && unkept != nil:
		fmt.Fprintf(&b, "[binary output, not shown, and not kept: %s]\n", plain.Line(unkept.Error()))
	case view.Binary:
		b.WriteString(j.Output().NotShown(printed) + "\n")
	case unkept != nil && view.Gap.Bytes() > 0:
		fmt.Fprintf(&b, "[%s omitted, and not kept: %s]\n", view.Gap.Size(), plain.Line(unkept.Error()))
		b.WriteString(view.Tail)
	case view.Gap.Bytes() > 0:
		fmt.Fprintf(&b, "[%s omitted: Read or Grep %s]\n", view.Gap.Size(), plain.Line(j.Output().Path()))
		b.WriteString(view.Tail)
	}
	if printed == 0 && ended && len(a.notes) == 0 && a.first == "" {
		b.WriteString("(no output)\n")
	}
	if printed > stored && view.Gap.Bytes() > 0 && unkept == nil {
		a.notes = append(a.notes, notStored(printed, stored, j.full()))
	}
	for _, note := range a.notes {
		newline(&b)
		b.WriteString("[" + note + "]\n")
	}
	out := Output{TaskID: id, Text: strings.TrimSuffix(b.String(), "\n")}
	out.Status, _ = a.meta[metaStatus].(string)
	out.Signal, _ = a.meta[metaSignal].(string)
	if code, ok := a.meta[metaExitCode].(int); ok {
		out.ExitCode = &code
	}
	a.meta[metaBytes] = printed
	if id != "" {
		a.meta[metaTask], a.meta[metaFile] = id, j.Output().Path()
	}
	failed := false
	if ended {
		failed = j.failed(j.Result())
		if id == "" {
			j.Release()
		}
	}
	return tools.Result[Output]{
		Data: out, Effect: a.effect, Failed: failed, Meta: a.meta, Did: &tools.Did{ExitCode: out.ExitCode, Task: id},
		HookFields: func() tools.HookFields { return forHooks(j, view.Head+view.Tail, id, !ended) },
	}, nil
}

// summary returns how the command of a result ended, in one line.
func summary(r tools.Result[Output]) string {
	o, after := r.Data, ""
	if ms, ok := r.Meta[metaDuration].(int64); ok {
		after = " after " + tools.Took(time.Duration(ms)*time.Millisecond)
	}
	switch {
	case o.Status == "running":
		return "Running: task " + o.TaskID
	case o.ExitCode != nil:
		return fmt.Sprintf("exit code %d%s", *o.ExitCode, after)
	case o.Signal != "":
		return o.Status + " by " + o.Signal + after
	}
	return o.Status + after
}

// forHooks returns the fields that hooks get in addition to the result. A command has a single output stream, so stdout holds the output that the
// answer shows and stderr is empty.
func forHooks(j *job, shown, id string, runs bool) tools.HookFields {
	f := tools.HookFields{"stderr": "", "interrupted": !runs && j.Result().EndReason != command.ByItself, "isImage": false}
	f.Text("stdout", shown)
	switch {
	case id != "" && runs:
		f["backgroundTaskId"] = id
	case id != "":
		f["persistedOutputPath"] = j.Output().Path()
	}
	return f
}

func notStored(printed, stored int64, why string) string {
	return fmt.Sprintf("of %d bytes of output %d are kept: %s", printed, stored, why)
}

func newline(b *strings.Builder) {
	if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") {
		b.WriteByte('\n')
	}
}

// add registers a command as a task of the session and returns its id. ended reports
// whether the answer shows its end.
func (c *call) add(j *job, ended bool) (id string, err error) {
	e, add := newTaskJob(j), c.o.Tasks.Add
	if ended {
		add = c.o.Tasks.AddSeen
	}
	t, err := add(c.env.Session.Owner(), e)
	if err != nil {
		return "", err
	}
	c.follow(e)
	return t.ID, nil
}

// follow releases what a task needs once it has ended, without waiting for that.
func (c *call) follow(e *taskJob) {
	done := func() {}
	if !c.readOnly && !c.judged.readOnly() {
		// Calls that run at the same time must not have missed its changes.
		done = c.env.Commands.Outside()
	}
	go func() {
		e.settle()
		done()
	}()
}

// limitTo ends the command after d, unless it ends before. The answer reports timeout,
// the whole timeout of the command, of which d may be the remainder.
func (j *job) limitTo(d, timeout time.Duration) {
	j.limit = timeout
	timer := time.AfterFunc(d, func() { _ = j.End(command.Timeout, j.grace) })
	go func() {
		<-j.Done()
		timer.Stop()
	}()
}

// inRoots reports whether a canonical path is a root or below one.
func inRoots(roots []string, path string) bool {
	for _, r := range roots {
		if rel, err := filepath.Rel(r, path); err == nil && filepath.IsLocal(rel) { // ignores case on Windows
			return true
		}
	}
	return false
}
