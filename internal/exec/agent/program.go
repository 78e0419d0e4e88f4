package agent

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/models"
	"mcp-toolset/tools"
)

const (
	// maxReport is the limit of the report of a program, in bytes: its end.
	maxReport = 1 << 20
	// maxComplaint is the limit of the standard error of a failed program in its report, in bytes: its
	// end.
	maxComplaint = 4 << 10
	// maxWritten is the limit of the standard output of a program, in bytes.
	maxWritten = 256 << 20
	// programGrace is the time that a program has to end.
	programGrace = time.Second
	// pipeWait is the time that a process outside of its process tree can have its pipes open.
	pipeWait = 500 * time.Millisecond
	// writtenEvery is the interval of steps about the size of a program's output.
	writtenEvery = 5 * time.Second
)

// Program describes an agent that is a program. Its own changes are those of a command of its
// session.
type Program struct {
	Command     []string // the program with its arguments
	ACP         bool     // it speaks the Agent Client Protocol; otherwise it reads the task and writes the report
	Uncontained bool     // it runs outside of the sandbox
}

// Process is a program that runs. Its reader and writers are closed by the run.
type Process struct {
	Stdin          io.WriteCloser
	Stdout, Stderr io.ReadCloser
	Control
}

// Control ends a program and describes its end.
type Control interface {
	Done() <-chan struct{} // closed when all its processes have ended
	Exit() string          // waits for the end and describes it
	Succeeded() bool       // waits for the end
	Removed() []string     // waits for the end; the protected names that it made, which were moved away
	// End ends the program with all processes that it has started, and waits for that.
	End(grace time.Duration) error
}

// equip gives a run of a program the network of the call that starts it. Only a session that has
// commands can start a program, since a program can do all that a command can do.
func (r *Run) equip(env *tools.Env) error {
	if r.a.kind.Program == nil {
		return nil
	}
	for _, t := range r.a.session.Tools() {
		if t.Name == "Bash" || t.Name == "PowerShell" {
			r.network = env.Commands.Connections
			return nil
		}
	}
	return fault.New("the agent type "+r.a.kind.Name+" is a program, and this session cannot run commands", "Use another type, or do the work with the tools that there are.")
}

// program runs the task in a program.
func (r *Run) program() ending {
	ctx, cancel := context.WithTimeoutCause(r.ctx, r.a.r.Limits.Time, errTime)
	defer cancel()
	r.step("starts the program")
	p, err := r.a.r.Launch(ctx, r.a.kind.Program, r.a.session.View(), r.network)
	if err != nil {
		return r.ended(ctx, ending{task.Failed, "failed: the program cannot be started: " + oneLine(err)})
	}
	defer p.End(0) // after a panic
	complaint, read := &tail{limit: maxComplaint}, make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(complaint, p.Stderr)
	}()
	go func() { // a process outside of the process tree may have the pipes open
		<-p.Done()
		time.Sleep(pipeWait)
		_, _ = p.Stdout.Close(), p.Stderr.Close()
	}()
	var end ending
	if r.a.kind.Program.ACP {
		end = r.converse(ctx, p)
	} else {
		end = r.pipe(ctx, p)
	}
	failed := p.End(programGrace)
	_, _ = p.Stdin.Close(), p.Stdout.Close()
	if failed != nil {
		return ending{task.Failed, "failed: the program does not end: " + oneLine(failed)}
	}
	<-read
	end = r.ended(ctx, end)
	r.mu.Lock()
	defer r.mu.Unlock()
	if text := strings.TrimSpace(complaint.String()); end.state == task.Failed && text != "" {
		r.report = strings.TrimSpace(r.report + "\n\nThe end of its standard error:\n" + text)
	}
	if names := p.Removed(); len(names) > 0 {
		end.detail += "; protected names that it made were moved away: " + plain.Line(strings.Join(names[:min(len(names), 5)], ", "))
	}
	r.a.messages = append(r.a.messages, models.Message{Blocks: []models.Block{{Text: r.prompt}}}, models.Message{Assistant: true, Blocks: []models.Block{{Text: r.report}}})
	return end
}

// ended returns how a program has ended: end, unless it was stopped or had no time left.
func (r *Run) ended(ctx context.Context, end ending) ending {
	switch {
	case r.ctx.Err() != nil:
		return r.halted()
	case ctx.Err() != nil:
		return ending{task.Failed, fmt.Sprintf("failed: the program was ended at the limit of %v", r.a.r.Limits.Time)}
	}
	return end
}

// pipe gives the task to a program on standard input. Standard output is its report.
func (r *Run) pipe(ctx context.Context, p *Process) ending {
	r.charge(&models.Response{})
	stop := context.AfterFunc(ctx, func() { _ = p.End(programGrace) })
	defer stop()
	text := r.task()
	go func() {
		_, _ = io.WriteString(p.Stdin, text)
		_ = p.Stdin.Close()
	}()
	report, last := &tail{limit: maxReport}, time.Now()
	buf := make([]byte, 32<<10)
	for {
		n, err := p.Stdout.Read(buf)
		_, _ = report.Write(buf[:n])
		if err != nil || report.written > maxWritten {
			break
		}
		if time.Since(last) >= writtenEvery {
			last = time.Now()
			r.step(fmt.Sprintf("the program has written %d bytes", report.written))
		}
	}
	r.reported(report)
	if report.written > maxWritten {
		return ending{task.Failed, fmt.Sprintf("failed: the program wrote more than %d MB", maxWritten>>20)}
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		_ = p.End(programGrace)
	}
	if !p.Succeeded() {
		return ending{task.Failed, "failed: the program " + plain.Line(p.Exit())}
	}
	return ending{task.Completed, "completed"}
}

// reported sets the report to the text that a program has written.
func (r *Run) reported(t *tail) {
	text := strings.TrimSpace(strings.ToValidUTF8(t.String(), "\uFFFD"))
	r.script.add("answer", map[string]any{"text": text})
	r.mu.Lock()
	r.report = text
	r.mu.Unlock()
}

// task returns the text of the task for a program, which knows nothing of earlier ones: with their
// texts and reports, and the events and messages of the agent.
func (r *Run) task() string {
	text := r.prompt
	if events := r.events(); events != "" {
		text = events + "\n\n" + text
	}
	if len(r.a.messages) == 0 {
		return text
	}
	var b strings.Builder
	for _, m := range r.a.messages {
		who := "Task"
		if m.Assistant {
			who = "Your report"
		}
		fmt.Fprintf(&b, "%s:\n%s\n\n", who, cut(textOf(m.Blocks), mostOfOne))
	}
	return "You have worked for the same conversation before, and know only this about it:\n" + models.Data(cut(b.String(), r.a.window*models.BytesPerToken/4)) + "\n\nYour task now:\n" + text
}

// tail is a Writer that stores the last bytes written to it.
type tail struct {
	limit   int
	text    []byte
	written int64
}

func (t *tail) Write(p []byte) (int, error) {
	t.written += int64(len(p))
	t.text = append(t.text, p...)
	if len(t.text) > 2*t.limit {
		t.text = append(t.text[:0], t.text[len(t.text)-t.limit:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	text := t.text[max(0, len(t.text)-t.limit):]
	if left := t.written - int64(len(text)); left > 0 {
		return fmt.Sprintf("[%d bytes before this were left out]\n", left) + strings.ToValidUTF8(string(text), "")
	}
	return string(text)
}
