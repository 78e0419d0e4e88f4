package repl

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/spool"
	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/bash"
)

// Keys in the _meta of a result, as those of Bash.
const (
	metaStatus   = "mcp-toolset/status"
	metaExitCode = "mcp-toolset/exit_code"
	metaTask     = "mcp-toolset/task_id"
	metaBytes    = "mcp-toolset/output_bytes"
	metaDuration = "mcp-toolset/duration_ms"
)

const (
	// excerpt is the number of characters that an answer shows of output over the limit.
	excerpt = 8 << 10
	// maxPictures is the limit of figures in an answer.
	maxPictures = 4
)

// run runs code in its session, which it starts if there is none.
func run(ctx context.Context, env *tools.Env, in Input, o Options) (tools.Result[Output], error) {
	none := tools.Result[Output]{}
	if env.Session.Forgets() {
		return none, fault.New("an interpreter keeps its state in a session, and the requests of this client have none", "Use Bash.")
	}
	t, notes, err := take(ctx, env, in, o)
	if err != nil {
		return none, err
	}
	s := t.Job.(*interpreter)
	release := func() { s.release(o.Idle) }
	if strings.TrimSpace(in.Code) == "" {
		release()
		return result(t, Output{Status: "ok", TaskID: t.ID, Text: "A new " + in.title() + " has started."}), nil
	}
	timeout := defaultTimeout
	if in.Timeout > 0 {
		timeout = time.Duration(in.Timeout) * time.Millisecond
	}
	code := s.eval(in.Code, timeout)
	got, how, err := s.await(ctx, code, env.Foreground(o.Bash.Foreground), func(took time.Duration) {
		env.Progress(tools.Progress{Done: took.Seconds(), Message: alive(s.Output())})
	})
	if err != nil {
		go func() { // the call has ended; the code may not have
			s.abandon()
			s.Output().Settle(settleWait)
			s.mark = s.Output().Mark()
			release()
		}()
		return none, err
	}
	a := &answer{o: o, env: env, task: t, s: s, notes: notes, took: time.Since(code.begun)}
	if how == goesOn {
		r := a.make(ctx, got, how, timeout)
		go func() {
			_, _, _ = s.await(context.Background(), code, timeout+time.Minute, func(time.Duration) {})
			s.Output().Settle(settleWait)
			release()
		}()
		return r, nil
	}
	defer release()
	if how == ended {
		<-s.done
		if r := s.running.Result(); r.EndReason == command.ByItself && r.Code == exitMissing && s.mark == (spool.Mark{}) {
			if printed, _ := s.Output().Bytes(); printed == 0 {
				return none, fault.New(fmt.Sprintf("there is no %s on the PATH of commands", languages[in.Language].program), languages[in.Language].install)
			}
		}
	} else {
		s.Output().Settle(settleWait)
	}
	return a.make(ctx, got, how, timeout), nil
}

// take returns the session of a call, and takes the turn. It replaces a session that has ended
// while the call waited for its turn.
func take(ctx context.Context, env *tools.Env, in Input, o Options) (t *tasks.Task, notes []string, err error) {
	for {
		t, more, err := find(ctx, env, in, o)
		if err != nil {
			return nil, nil, err
		}
		notes = append(notes, more...)
		s := t.Job.(*interpreter)
		select {
		case s.turn <- struct{}{}:
		case <-ctx.Done():
			s.rest(o.Idle)
			return nil, nil, context.Cause(ctx)
		}
		s.idle.Stop()
		if !s.used || !isClosed(s.running.Done()) {
			s.used = true
			return t, notes, nil
		}
		s.release(o.Idle)
	}
}

// worktree returns the folder of the git worktree in which a conversation works, or "".
func worktree(v session.View) string {
	if v.Worktree == nil {
		return ""
	}
	return v.Worktree.Folder
}

// find returns the session of a call. It starts one if there is none. notes are facts about
// that.
func find(ctx context.Context, env *tools.Env, in Input, o Options) (t *tasks.Task, notes []string, err error) {
	owner := env.Session.Owner()
	var last *tasks.Task
	var former *interpreter // its job
	running := []string{}
	for _, one := range o.Bash.Tasks.List(owner) {
		s, ok := one.Job.(*interpreter)
		if !ok {
			continue
		}
		if s.language == in.Language && s.name == in.Session {
			last, former = one, s
		} else if !isClosed(s.done) {
			running = append(running, one.ID+" ("+s.title+")")
		}
	}
	switch {
	case last == nil:
	case in.Reset:
		if err := former.stop("reset", 0); err != nil {
			return nil, nil, fault.New("the session could not be ended: "+plain.Line(err.Error()), "Use another session name.")
		}
	case former.folder == worktree(env.Session) && !isClosed(former.running.Done()):
		return last, nil, nil
	default:
		if former.folder != worktree(env.Session) {
			// It has the file rules of the other folder.
			if err := former.stop("the conversation has moved to another folder", stopGrace); err != nil {
				return nil, nil, fault.New("the former session could not be ended: "+plain.Line(err.Error()), "Use another session name.")
			}
		}
		<-former.done
		if !former.shown.Load() {
			notes = append(notes, "this is a new session; the former one, with its variables, has ended: "+former.ending())
		}
	}
	if len(running) >= maxSessions {
		return nil, nil, fault.New(fmt.Sprintf("%d sessions run, and no more may: %s", len(running), strings.Join(running, ", ")), "End one with TaskStop, or use one of them.")
	}
	s, err := start(ctx, env, in, o)
	if err == nil {
		t, err = o.Bash.Tasks.AddSeen(owner, s)
	}
	if err != nil && s != nil {
		go func() {
			_ = s.stop("it could not be used", 0)
			<-s.done
			s.Release()
		}()
	}
	return t, notes, err
}

// answer makes the answer of a call.
type answer struct {
	o     Options
	env   *tools.Env
	task  *tasks.Task
	s     *interpreter
	notes []string
	took  time.Duration
}

// noTerminal matches the line that an interactive bash without a terminal prints when a command has
// been ended by a signal. It is about bash, not about the command, so answers omit it.
var noTerminal = regexp.MustCompile(`(?m)^bash: \[\d+: \d+ \(-?\d+\)\] tcsetattr: .*\n?`)

// make returns the result of a call.
func (a *answer) make(ctx context.Context, got reply, how ending, timeout time.Duration) tools.Result[Output] {
	log := a.s.Output()
	var b strings.Builder
	out := Output{Status: "ok", TaskID: a.task.ID}
	switch {
	case how == ended:
		out.Status = "ended"
		if r := a.s.running.Result(); r.EndReason == command.ByItself && r.Signal == 0 && r.Lost == nil {
			out.ExitCode = &r.Code
		}
		a.s.shown.Store(true)
		if a.s.mark == (spool.Mark{}) && out.ExitCode != nil && *out.ExitCode == exitUnusable {
			fmt.Fprintf(&b, "%s could not be started: %s.\n", languages[a.s.language].program, a.s.ending())
			break
		}
		fmt.Fprintf(&b, "Session lost, its variables are gone: %s. The next call starts a new one.\n", a.s.ending())
	case how == goesOn:
		out.Status = "running"
		fmt.Fprintf(&b, "Still running after %s; at %v it is interrupted. TaskOutput %s shows what it prints, the next call of this session waits for its end.\n", tools.Took(a.took), timeout, a.task.ID)
	case how == interrupted:
		out.Status = "interrupted"
		fmt.Fprintf(&b, "Interrupted after %v, its timeout. The session goes on with its variables.\n", timeout)
	case a.s.language == shell && got.Code != 0:
		out.Status, out.ExitCode = "error", &got.Code
		fmt.Fprintf(&b, "Exit code %d\n", got.Code)
	case !got.OK:
		out.Status = "error"
	}
	short, full := excerpt, log.Err()
	if full != nil {
		short = a.o.Bash.MaxOutput
	}
	mark := a.s.mark
	view, err := log.ExcerptAfter(mark, a.o.Bash.MaxOutput, short)
	a.s.mark = log.Mark()
	printed := a.s.mark.Offset() - mark.Offset()
	var effect session.Effect
	switch {
	case err != nil:
		a.notes = append(a.notes, "its output cannot be shown: "+plain.Line(err.Error()))
	case view.Binary:
		effect.Output = log.Path()
		b.WriteString(log.NotShown(printed) + "\n")
	default:
		if a.s.language == shell {
			view.Head, view.Tail = noTerminal.ReplaceAllString(view.Head, ""), noTerminal.ReplaceAllString(view.Tail, "")
			if how == interrupted { // bash begins a new line for each interrupt
				view.Head, view.Tail = strings.TrimRight(view.Head, "\n"), strings.TrimRight(view.Tail, "\n")
			}
		}
		b.WriteString(view.Head)
		if view.Gap.Bytes() > 0 {
			effect.Output = log.Path()
			newline(&b)
			fmt.Fprintf(&b, "[%s omitted: TaskOutput {\"task_id\":\"%s\",\"offset\":%d} or Grep %s]\n", view.Gap.Size(), a.task.ID, view.Gap.From, plain.Line(log.Path()))
			b.WriteString(view.Tail)
		}
	}
	if full != nil && view.Gap.Bytes() > 0 {
		a.notes = append(a.notes, "not all of the output is stored: "+plain.Line(full.Error()))
	}
	failed := out.Status == "error" || out.Status == "interrupted" || how == ended && (out.ExitCode == nil || *out.ExitCode != 0)
	if failed {
		for _, fact := range a.s.running.Blocked(view.Head + view.Tail) {
			fact = strings.Replace(fact, "name it in the command,", "name it in a command of Bash,", 1) // nothing is granted to a session
			a.notes = append(a.notes, "sandbox: "+plain.Line(fact))
		}
	}
	out.pictures = a.pictures(ctx, got.Images)
	if b.Len() == 0 && len(a.notes) == 0 && len(out.pictures) == 0 {
		b.WriteString("(no output)\n")
	}
	for _, note := range a.notes {
		newline(&b)
		b.WriteString("[" + note + "]\n")
	}
	out.Text = strings.TrimSuffix(b.String(), "\n")
	r := result(a.task, out)
	r.Effect, r.Failed = effect, failed
	r.Meta[metaBytes], r.Meta[metaDuration] = printed, a.took.Milliseconds()
	return r
}

// result returns the result for an output.
func result(t *tasks.Task, out Output) tools.Result[Output] {
	r := tools.Result[Output]{Data: out, Meta: map[string]any{metaStatus: out.Status, metaTask: t.ID}, Did: &tools.Did{ExitCode: out.ExitCode, Task: t.ID}}
	if out.ExitCode != nil {
		r.Meta[metaExitCode] = *out.ExitCode
	}
	return r
}

// summary returns how the code of a call ended, in one line.
func (o Output) summary(meta map[string]any) string {
	text := o.Status
	if o.ExitCode != nil {
		text += fmt.Sprintf(", exit code %d", *o.ExitCode)
	}
	if ms, ok := meta[metaDuration].(int64); ok {
		text += " after " + tools.Took(time.Duration(ms)*time.Millisecond)
	}
	return text
}

// pictures returns the figures of a call, checked and scaled as pictures that Read shows.
func (a *answer) pictures(ctx context.Context, images [][]byte) (out []tools.Content) {
	if a.o.Documents == nil {
		return nil
	}
	for _, data := range images[:min(len(images), maxPictures)] {
		picture, err := a.picture(ctx, data)
		if err != nil {
			a.notes = append(a.notes, "a figure cannot be shown: it "+plain.Line(err.Error()))
			continue
		}
		out = append(out, picture)
	}
	return out
}

func (a *answer) picture(ctx context.Context, data []byte) (tools.Image, error) {
	f, err := os.CreateTemp("", "figure-")
	if err != nil {
		return tools.Image{}, err
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return tools.Image{}, err
	}
	if _, err := f.Write(data); err != nil {
		return tools.Image{}, err
	}
	p, err := a.o.Documents.Picture(ctx, f, int64(len(data)))
	if err != nil {
		return tools.Image{}, err
	}
	return tools.Image{Data: p.Data, MIMEType: p.MIMEType}, nil
}

// ending describes how a session that has ended did so.
func (s *interpreter) ending() string {
	s.mu.Lock()
	why := s.why
	s.mu.Unlock()
	r := s.running.Result()
	switch {
	case r.EndReason == command.Stopped && why != "":
		return why
	case r.EndReason == command.Quota:
		return "stopped: " + spool.ErrTaskQuota.Error()
	case r.EndReason == command.Closing:
		return "the server is ending"
	case r.Lost != nil:
		return "lost: " + plain.Line(r.Lost.Error())
	case r.Signal != 0:
		return "ended by signal " + bash.DescribeSignal(r.Signal)
	}
	return fmt.Sprintf("exit code %d", r.Code)
}

// alive returns the status of running code for the user: its last line of output.
func alive(log *spool.Log) string {
	if line := plain.Line(log.LastLine()); line != "" {
		return line
	}
	return "running"
}

func newline(b *strings.Builder) {
	if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") {
		b.WriteByte('\n')
	}
}
