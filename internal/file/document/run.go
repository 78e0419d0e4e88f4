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
	"sync"
	"time"

	"mcp-toolset/internal/exec/launch"
)

// Limits of the output and the end of a process.
const (
	// maxAnswer is the limit of an answer in bytes: 20 pages as pictures of 500,000
	// bytes, 13.4 MB in base64, and as much text again. A server holds it twice while
	// decoding.
	maxAnswer = 32 << 20
	// maxStderr is the limit of a process's standard error in the log, in bytes. The
	// reason comes first; pages of Go's stacks follow.
	maxStderr = 1 << 10
	// grace is the time after its deadline in which a process may end by itself. It does,
	// unless the code it runs cannot be interrupted.
	grace = time.Second
	// killWait is the timeout for a killed process to end. One that hangs in the kernel,
	// in a file system that does not answer, is abandoned.
	killWait = 2 * time.Second
)

// program locates this program, to run it again.
type program struct{ path, name string }

// ownImage is this program on Linux, even after its file has been replaced or removed.
const ownImage = "/proc/self/exe"

// findSelf locates this program.
func findSelf() (program, error) {
	exe, err := os.Executable()
	if err != nil {
		return program{}, err
	}
	// On Windows ownImage is a path on the current drive, where anyone may create it.
	if _, err := os.Stat(ownImage); err == nil && runtime.GOOS == "linux" {
		return program{ownImage, exe}, nil
	}
	return program{exe, exe}, nil
}

// read starts a process that reads the file, and decodes its answer. A file that needs
// more memory than estimated gets a second try with all of it, so that concurrent
// processes never exceed maxMemory together.
func read[T any](ctx context.Context, r *Reader, f *os.File, q request) (T, error) {
	var zero T
	q.Memory = min(q.Memory, r.memory)
	q.Deadline += r.time
	q.Parent = os.Getpid()
	out, release, end := r.run(ctx, f, q)
	if end == errMemory && q.Memory < r.memory {
		release()
		q.Memory = r.memory
		out, release, end = r.run(ctx, f, q)
	}
	defer release() // the answer takes memory, too
	var a answer[T]
	if end == nil {
		if err := json.Unmarshal(out, &a); err != nil {
			r.log.Debug("a document's answer cannot be read", "kind", q.Kind, "error", err)
			end = errCrash
		}
	}
	switch {
	case end == errMemory || end == errStarved || end == errTime || end == errLong || end == errCrash || end == errBusy:
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

// reserve waits for memory to be free and holds it until release is called.
func (r *Reader) reserve(ctx context.Context, memory int64) (release func(), err error) {
	room := r.freeMemory
	if memory <= smallMemory {
		room = r.small
	}
	wait, cancel := context.WithTimeoutCause(ctx, r.wait, errBusy)
	defer cancel()
	if room.Acquire(wait, memory) != nil {
		return func() {}, context.Cause(wait)
	}
	return sync.OnceFunc(func() { room.Release(memory) }), nil
}

// run waits for memory to be free, runs a process to its end and returns its output. The
// caller calls release, which frees the memory, after using the output.
func (r *Reader) run(ctx context.Context, f *os.File, q request) (said []byte, release func(), err error) {
	none := func() {}
	arg, err := json.Marshal(q)
	if err != nil {
		return nil, none, fmt.Errorf("asking the reader of %s: %w", q.Kind.words().plural, err)
	}
	if release, err = r.reserve(ctx, q.Memory); err != nil {
		return nil, none, err
	}
	life, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer time.AfterFunc(q.Deadline+grace, func() { end(errTime) }).Stop()
	out := &bounded{limit: maxAnswer, full: func() { end(errLong) }}
	complaint := &bounded{limit: maxStderr}
	cmd, err := r.begin(life, f, string(arg), out, complaint)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else {
			err = fmt.Errorf("starting the reader of %s: %w", q.Kind.words().plural, err)
		}
		return nil, release, err
	}
	started := time.Now()
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	if err, done := await(life, exited); done {
		err = verdict(life, cmd.ProcessState, err, complaint.buf.String())
		r.report(ctx, q, time.Since(started), cmd.ProcessState, err, complaint.buf.String())
		return out.buf.Bytes(), release, err
	}
	r.log.Debug("a document's process does not end", "kind", q.Kind, "pid", cmd.Process.Pid)
	go func() {
		<-exited
		release()
	}()
	return nil, none, context.Cause(life)
}

// begin starts a process that reads f. A start that hangs has a descriptor of its own.
func (r *Reader) begin(ctx context.Context, f *os.File, arg string, out, complaint *bounded) (*exec.Cmd, error) {
	input, err := own(f)
	if err != nil {
		return nil, err
	}
	done := func() {
		if input != f {
			_ = input.Close()
		}
	}
	cmd, err := r.command(ctx, input, arg)
	if err != nil {
		done()
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = out, complaint
	if err := launch.Start(ctx, cmd, done); err != nil {
		return nil, err
	}
	done()
	return cmd, nil
}

// command returns the command that runs this program as a reader of f. It has no
// environment, so that no variable changes its behaviour. Its folder is the root, which
// always exists and keeps no file system busy.
func (r *Reader) command(ctx context.Context, f *os.File, arg string) (*exec.Cmd, error) {
	self, err := r.self()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self.path, Arg, arg)
	cmd.Args[0] = self.name
	cmd.Env = extraEnv // not nil, which would mean the server's environment; Windows adds SYSTEMROOT
	cmd.Dir = filepath.VolumeName(self.name) + string(filepath.Separator)
	cmd.Stdin = f
	cmd.SysProcAttr = apart()
	cmd.WaitDelay = killWait
	return cmd, nil
}

// await waits for a process to exit. done is false if the process did not end after it
// was killed.
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

// verdict returns the reason for which a process ended with err, or nil if it gave an
// answer.
func verdict(life context.Context, p *os.ProcessState, err error, complaint string) error {
	switch cause := context.Cause(life); {
	case err == nil:
		return nil
	case cause != nil:
		return cause // of the call's context, or the reason for which the server ended it
	}
	switch {
	case p.ExitCode() == exitTime:
		return errTime
	case p.ExitCode() == exitMemory, strings.Contains(complaint, "out of memory"), strings.Contains(complaint, "cannot allocate memory"):
		return errMemory // found by the process itself, or by the system's limit
	case wasKilled(p), strings.Contains(complaint, "failed to create new OS thread"):
		return errStarved // nothing else kills it
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

// bounded stores the first limit bytes written to it. Writing more calls full and returns
// an error; without full, the excess is dropped. The buffer is not embedded, because its
// ReadFrom would bypass the limit.
type bounded struct {
	buf   bytes.Buffer
	limit int
	full  func()
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - b.buf.Len()
	if len(p) <= room {
		return b.buf.Write(p)
	}
	b.buf.Write(p[:room])
	if b.full != nil {
		b.full()
		return room, errLong
	}
	return len(p), nil
}
