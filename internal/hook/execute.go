package hook

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"mcp-toolset/internal/launch"
	"mcp-toolset/policy"
)

// Limits of a run.
const (
	// maxOutput is what is kept of each output, in bytes; the rest is read and
	// forgotten, so that the hook can go on.
	maxOutput = 1 << 20
	// settle is how long a process that a hook has left behind may hold its
	// output open: the other end of a pipeline is often a moment behind.
	settle = 500 * time.Millisecond
	// grace is how long a hook may take to end when it is told to.
	grace = 500 * time.Millisecond
	// killWait is how long what was killed is waited for. What hangs in the
	// kernel is left to it.
	killWait = 5 * time.Second
)

// ended is how a hook ended.
type ended struct {
	err            error // it was never started
	late           bool  // its time was over
	cancelled      bool  // the call ended before it
	code           int   // exit code, -1 if a signal ended it
	state          string
	stdout, stderr *capture
}

// execute runs one hook until it has ended or is ended.
func (r *Runner) execute(ctx context.Context, h policy.Hook, dir string, input []byte) ended {
	switch {
	case ctx.Err() != nil:
		return ended{cancelled: true}
	case r.shellErr != nil:
		return ended{err: r.shellErr}
	case !filepath.IsAbs(dir):
		return ended{err: fmt.Errorf("its folder %q is not an absolute path", dir)}
	}
	if _, err := os.Stat(dir); err != nil { // the error of starting would name the shell
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
		if !p.said(ctx, settle) {
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
	r.left(p)
	if p.isOver() {
		p.reap()
		e.code, e.state = cmd.ProcessState.ExitCode(), cmd.ProcessState.String()
		if e.code >= 0 {
			e.state = fmt.Sprintf("exit code %d", e.code)
		}
	}
	return e
}

// process is a hook that was started.
type process struct {
	cmd            *exec.Cmd
	input          *os.File // the end to write
	stdout, stderr *capture
	exited         chan struct{} // closed when the shell has exited
	reap           func()        // waits for the exited shell; the number of its group is free then
	kin            kin
}

// start starts a command and gives it its input.
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
	p.reap = sync.OnceFunc(func() { _ = cmd.Wait() }) // the state says it all
	go func() {
		defer p.input.Close()
		_, _ = p.input.Write(input) // an error: the hook did not want to know
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

// said waits until nobody can print any more, for a while at most, and reports
// whether that is so.
func (p *process) said(ctx context.Context, limit time.Duration) bool {
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

// end ends the hook and what it started: it is told to, and killed if it has
// not ended after grace. What has closed the output and goes on is killed with
// the others.
func (p *process) end() {
	p.signal(false)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.exited:
		p.said(context.Background(), grace)
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

// close lets go of the pipes. Who still has the other end is told so when it
// writes.
func (p *process) close() {
	p.input.Close()
	p.stdout.from.Close()
	p.stderr.from.Close()
}

// capture keeps the beginning of what comes out of a pipe.
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
