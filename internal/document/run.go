package document

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Limits of what is taken from a process.
const (
	// maxAnswer holds 20 pages as pictures of 500,000 bytes, 13.4 MB in
	// base64, and as much text again; a server holds it twice while decoding.
	maxAnswer = 32 << 20
	// maxComplaint is what is kept of a process's words on its end, for the
	// log: the reason comes first, then Go lists stacks by the page.
	maxComplaint = 1 << 10
	// grace is how long after its deadline a process may end by itself. It
	// does, unless the code it runs cannot be interrupted.
	grace = time.Second
	// killWait is how long a killed process is waited for. One that hangs in
	// the kernel, in a file system that does not answer, is left to it.
	killWait = 2 * time.Second
)

// program is this program, as it is run again.
type program struct{ path, name string }

// findSelf finds this program. On Linux it is the running one even when its
// file has been replaced or removed since.
func findSelf() (program, error) {
	exe, err := os.Executable()
	if err != nil {
		return program{}, err
	}
	if runtime.GOOS == "linux" {
		return program{"/proc/self/exe", exe}, nil
	}
	return program{exe, exe}, nil
}

// read has a file read and decodes the answer. A file that needs more memory
// than was thought gets a second try with all there is: so what runs at a time
// never adds up to more than maxMemory.
func read[T any](ctx context.Context, r *Reader, f *os.File, q request) (T, error) {
	var zero T
	q.Memory = min(q.Memory, r.memory)
	q.Deadline = r.time
	q.Parent = os.Getpid()
	out, end := r.run(ctx, f, q)
	if end == errMemory && q.Memory < r.memory {
		q.Memory = r.memory
		out, end = r.run(ctx, f, q)
	}
	var a answer[T]
	if end == nil {
		if err := json.Unmarshal(out, &a); err != nil {
			r.log.Debug("a document's answer cannot be read", "kind", q.Kind, "error", err)
			end = errCrash
		}
	}
	switch {
	case end == errMemory || end == errStarved || end == errTime || end == errLong || end == errCrash:
		return zero, explain(q.Kind, end, q.Memory, q.Deadline)
	case end != nil:
		return zero, end
	case a.Fault != nil:
		return zero, a.Fault
	case a.Error != "":
		return zero, errors.New(a.Error)
	}
	return a.Value, nil
}

// run waits for memory to be free, then runs a process to its end and returns
// what it said.
func (r *Reader) run(ctx context.Context, f *os.File, q request) ([]byte, error) {
	arg, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("asking the reader of %s: %w", q.Kind.words().plural, err)
	}
	if r.room.Acquire(ctx, q.Memory) != nil {
		return nil, context.Cause(ctx)
	}
	life, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer time.AfterFunc(q.Deadline+grace, func() { end(errTime) }).Stop()
	out := &bounded{limit: maxAnswer, full: func() { end(errLong) }}
	complaint := &bounded{limit: maxComplaint}
	cmd, err := r.command(life, f, string(arg))
	if err == nil {
		cmd.Stdout, cmd.Stderr = out, complaint
		err = cmd.Start()
	}
	if err != nil {
		r.room.Release(q.Memory)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("starting the reader of %s: %w", q.Kind.words().plural, err)
	}
	started := time.Now()
	exited := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		r.room.Release(q.Memory)
		exited <- err
	}()
	if err, done := await(life, exited); done {
		err = verdict(life, cmd.ProcessState, err, complaint.kept.String())
		r.report(ctx, q, time.Since(started), cmd.ProcessState, err, complaint.kept.String())
		return out.kept.Bytes(), err
	}
	r.log.Debug("a document's process does not end", "kind", q.Kind, "pid", cmd.Process.Pid)
	return nil, context.Cause(life)
}

// command is this program as a reader of f. It gets no environment, so that
// nothing in that changes what it does, and runs in a folder that is always
// there and keeps no file system busy.
func (r *Reader) command(ctx context.Context, f *os.File, arg string) (*exec.Cmd, error) {
	self, err := r.self()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self.path, Arg, arg)
	cmd.Args[0] = self.name
	cmd.Env = extraEnv // not nil, which would be ours; on Windows SYSTEMROOT is added
	cmd.Dir = filepath.VolumeName(self.name) + string(filepath.Separator)
	cmd.Stdin = f
	cmd.SysProcAttr = apart()
	cmd.WaitDelay = killWait
	return cmd, nil
}

// await waits for the exit of a process. It gives up on one that does not end
// though it was killed.
func await(life context.Context, exited <-chan error) (err error, done bool) {
	select {
	case err = <-exited:
		return err, true
	case <-life.Done():
	}
	select {
	case err = <-exited:
		return err, true
	case <-time.After(killWait):
		return nil, false
	}
}

// verdict says how a process ended that ended with err; nil means with an
// answer.
func verdict(life context.Context, p *os.ProcessState, err error, complaint string) error {
	switch cause := context.Cause(life); {
	case err == nil:
		return nil
	case cause != nil:
		return cause // of the call's context, or what we ended it for
	}
	switch {
	case p.ExitCode() == exitTime:
		return errTime
	case p.ExitCode() == exitMemory, strings.Contains(complaint, "out of memory"), strings.Contains(complaint, "cannot allocate memory"):
		return errMemory // by the watch, or by the system's limit
	case wasKilled(p):
		return errStarved // nobody else kills it
	}
	return errCrash
}

func (r *Reader) report(ctx context.Context, q request, took time.Duration, p *os.ProcessState, err error, complaint string) {
	attrs := []slog.Attr{
		slog.String("kind", string(q.Kind)), slog.Duration("took", took), slog.Float64("peak_mb", float64(peakMemory(p))/1e6),
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()), slog.String("exit", p.String()), slog.String("stderr", complaint))
	}
	r.log.LogAttrs(ctx, slog.LevelDebug, "a document was read", attrs...)
}

// bounded keeps the first limit bytes written to it. More is an error and full
// is called, or, without full, is dropped. The buffer is not embedded: its
// ReadFrom would go around the bound.
type bounded struct {
	kept  bytes.Buffer
	limit int
	full  func()
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - b.kept.Len()
	if len(p) <= room {
		return b.kept.Write(p)
	}
	b.kept.Write(p[:room])
	if b.full != nil {
		b.full()
		return room, errLong
	}
	return len(p), nil
}
