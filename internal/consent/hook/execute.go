package hook

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"mcp-toolset/internal/exec/launch"
)

// Limits and timeouts of a run.
const (
	// maxOutput is the limit of each stored output, in bytes. The rest is read
	// and discarded, so that the hook can continue.
	maxOutput = 1 << 20
	// settle is the timeout for processes that a hook left behind to close its
	// output. The other end of a pipeline often ends slightly later.
	settle = 500 * time.Millisecond
	// grace is the timeout for a hook to end after it was asked to.
	grace = 500 * time.Millisecond
	// killWait is the timeout for killed processes to end. A process that hangs
	// in the kernel is abandoned.
	killWait = 5 * time.Second
)

// ended describes how a hook ended.
type ended struct {
	err            error // why it was not started
	late           bool  // its timeout has passed
	cancelled      bool  // the call ended before it
	code           int   // exit code; -1 if a signal ended it
	state          string
	stdout, stderr *capture
}

// execute runs one hook. It returns when the hook has ended or was killed.
func (r *Runner) execute(ctx context.Context, h Hook, dir string, input []byte) ended {
	switch {
	case ctx.Err() != nil:
		return ended{cancelled: true}
	case r.shellErr != nil:
		return ended{err: r.shellErr}
	case !filepath.IsAbs(dir):
		return ended{err: fmt.Errorf("its folder %q is not an absolute path", dir)}
	}
	if _, err := os.Stat(dir); err != nil { // an error from the start would name the shell
		return ended{err: err}
	}
	cmd := exec.Command(r.shell, "-c", h.Command)
	cmd.Dir = dir
	cmd.Env = append(r.cfg.Environ[:len(r.cfg.Environ):len(r.cfg.Environ)],
		"CLAUDE_PROJECT_DIR="+r.cfg.ProjectDir, "MCP_TOOLSET_PROJECT_DIR="+r.cfg.ProjectDir, "PWD="+dir)
	cmd.SysProcAttr = ownGroup()
	late := time.NewTimer(h.Timeout)
	defer late.Stop()
	p, err := start(ctx, cmd, input)
	switch {
	case err != nil && ctx.Err() != nil:
		return ended{cancelled: true}
	case err != nil:
		return ended{err: err}
	}
	r.entered(p)
	e := ended{stdout: p.stdout, stderr: p.stderr}
	select {
	case <-p.exited:
		if !p.waitOutput(ctx, settle) {
			r.log.Debug("a hook left something behind that held its output open", "hook", short(h.Command))
			p.end()
		}
	case <-late.C:
		e.late = true
		p.end()
	case <-ctx.Done():
		e.cancelled = true
		p.end()
	}
	p.close()
	r.remove(p)
	if p.isOver() {
		p.reap()
		e.code, e.state = cmd.ProcessState.ExitCode(), cmd.ProcessState.String()
		if e.code >= 0 {
			e.state = fmt.Sprintf("exit code %d", e.code)
		}
	}
	return e
}

// process is a started hook.
type process struct {
	cmd            *exec.Cmd
	input          *os.File // the end to write to
	stdout, stderr *capture
	exited         chan struct{} // closed when the shell has exited
	reap           func()        // waits for the exited shell; after that, the id of its group can be reused
	descendants    descendants
}

// start starts a command and writes its input in the background.
func start(ctx context.Context, cmd *exec.Cmd, input []byte) (*process, error) {
	var files []*os.File
	closeAll := func() {
		for _, f := range files {
			f.Close()
		}
	}
	for range 3 {
		reading, writing, err := os.Pipe()
		if err != nil {
			closeAll()
			return nil, err
		}
		files = append(files, reading, writing)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[3], files[5]
	if err := launch.Start(ctx, cmd, closeAll); err != nil {
		return nil, err
	}
	files[0].Close()
	files[3].Close()
	files[5].Close()
	p := &process{cmd: cmd, input: files[1], stdout: newCapture(files[2]), stderr: newCapture(files[4]), exited: make(chan struct{})}
	p.reap = sync.OnceFunc(func() { _ = cmd.Wait() }) // ProcessState has all information
	go func() {
		defer p.input.Close()
		_, _ = p.input.Write(input) // an error means that the hook did not read its input
	}()
	go func() {
		p.awaitExit()
		close(p.exited)
	}()
	return p, nil
}

func (p *process) isOver() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// waitOutput waits until all writers have closed both outputs, but no longer than
// limit, and reports whether they have.
func (p *process) waitOutput(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for _, c := range []*capture{p.stdout, p.stderr} {
		select {
		case <-c.done:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// end ends the hook and its descendants. It asks them to end, and kills them
// after grace. A process that has closed the output and continues is killed
// too.
func (p *process) end() {
	p.signal(false)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.exited:
		p.waitOutput(context.Background(), grace)
	case <-timer.C:
	}
	p.signal(true)
	timer.Reset(killWait)
	select {
	case <-p.exited:
	case <-timer.C:
		go func() {
			<-p.exited
			p.reap()
		}()
	}
}

// close closes our ends of the pipes. Later writes at the other ends fail.
func (p *process) close() {
	p.input.Close()
	p.stdout.from.Close()
	p.stderr.from.Close()
}

// capture stores the beginning of the data from a pipe.
type capture struct {
	from *os.File
	done chan struct{} // closed at the end of the pipe

	mu   sync.Mutex
	data []byte
	cut  bool
}

func newCapture(from *os.File) *capture {
	c := &capture{from: from, done: make(chan struct{})}
	go c.read()
	return c
}

func (c *capture) read() {
	defer close(c.done)
	buf := make([]byte, 32<<10)
	for {
		n, err := c.from.Read(buf)
		c.mu.Lock()
		room := maxOutput - len(c.data)
		c.data = append(c.data, buf[:min(n, room)]...)
		c.cut = c.cut || n > room
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *capture) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.data[:len(c.data):len(c.data)]
}

func (c *capture) wasCut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}
