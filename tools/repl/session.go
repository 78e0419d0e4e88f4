package repl

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/spool"
	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/tools"
	"mcp-toolset/tools/bash"
)

// Limits and timeouts of a session.
const (
	// maxReply is the limit of a line from the driver, in bytes: four figures and more.
	maxReply = 20 << 20
	// settleWait is the timeout for output to arrive that was printed before the reply.
	settleWait = 5 * time.Second
	// closedWait is the time for an interpreter to end that has closed its pipe.
	closedWait = time.Second
	// stopGrace is the time for processes to end before they are killed.
	stopGrace = 500 * time.Millisecond
	// tick is the interval of progress reports and of further interrupts.
	tick = time.Second
	// askWait is the time for an interpreter to react before it gets a signal.
	askWait = 500 * time.Millisecond
	// shellTick is the interval of further interrupts of bash until it reacts. It ignores one during
	// a command that ends by itself, so a loop of short commands needs several.
	shellTick = 100 * time.Millisecond
)

// interpreter is a running session: the job of a task.
type interpreter struct {
	language, name, title string
	folder                string // git worktree of the conversation at the start; "": none
	running               *command.Running
	requests              *os.File      // write end of the pipe to the driver
	closed                chan struct{} // closed at the end of the pipe from the driver
	done                  chan struct{} // closed after the end
	idle                  *time.Timer   // runs while no call uses the session
	grace                 time.Duration
	mark                  spool.Mark    // end of the output that answers have shown; guarded by turn
	turn                  chan struct{} // holds a value while a call uses the session
	used                  bool          // whether a call has used it; guarded by turn

	shown atomic.Bool // whether an answer has shown the end of the session

	mu      sync.Mutex
	waiting string     // id of the request that is being run; "": none
	reply   chan reply // receives its reply
	why     string     // why it was ended; "": by itself
}

// reply is a message of the driver.
type reply struct {
	ID     string   `json:"id"`
	OK     bool     `json:"ok"`
	Code   int      `json:"code"`   // exit code of bash code
	Images [][]byte `json:"images"` // figures
}

var _ tasks.Server = (*interpreter)(nil)

// start starts an interpreter.
func start(ctx context.Context, env *tools.Env, in Input, o Options) (*interpreter, error) {
	l := languages[in.Language]
	s := &interpreter{
		language: in.Language, name: in.Session, title: in.title(), folder: worktree(env.Session), grace: o.Grace,
		closed: make(chan struct{}), done: make(chan struct{}), turn: make(chan struct{}, 1),
	}
	input, requests, err := os.Pipe()
	if err != nil {
		return nil, noPipe(err)
	}
	s.requests = requests
	answers, errs, err := os.Pipe()
	if err != nil {
		_ = input.Close()
		_ = requests.Close()
		return nil, noPipe(err)
	}
	running, changed, err := bash.StartInterpreter(ctx, o.Bash, env, "repl", l.script(o.program(env, in.Language)), input, errs)
	if err != nil {
		s.close(answers)
		return nil, err
	}
	s.running = running
	s.idle = time.AfterFunc(o.Idle, func() {
		select {
		case s.turn <- struct{}{}:
			_ = s.stop(fmt.Sprintf("ended after %v without a call", o.Idle), stopGrace)
			<-s.turn
		default: // a call uses it, and starts the timer again
		}
	})
	s.idle.Stop()
	go s.read(answers)
	go func() {
		<-running.Done()
		s.idle.Stop()
		s.close(answers)
		<-s.closed
		running.Output.Trim()
		changed()
		close(s.done)
	}()
	if in.Language == shell {
		_, err = io.WriteString(s.requests, shellSetup)
	}
	return s, err
}

// rest makes the session end after idle without a call.
func (s *interpreter) rest(idle time.Duration) {
	if !isClosed(s.done) {
		s.idle.Reset(idle)
	}
}

// release ends the turn of a call.
func (s *interpreter) release(idle time.Duration) {
	s.rest(idle)
	<-s.turn
}

// noPipe returns the error of an interpreter for which no pipe could be made.
func noPipe(err error) error {
	if f := fault.Descriptors("the interpreter could not be started", err); f != nil {
		return f
	}
	return fmt.Errorf("making a pipe: %w", err)
}

// close closes the server's ends of the pipes.
func (s *interpreter) close(answers *os.File) {
	_ = s.requests.Close()
	_ = answers.Close()
}

// read reads the messages of the driver. It ignores all that are no reply to the present request.
func (s *interpreter) read(answers *os.File) {
	defer close(s.closed)
	r := bufio.NewReaderSize(answers, 64<<10)
	for {
		line, err := readLine(r, maxReply)
		if err != nil {
			return
		}
		var got reply
		if json.Unmarshal(line, &got) != nil || got.ID == "" {
			continue
		}
		s.mu.Lock()
		if got.ID == s.waiting {
			s.waiting = ""
			s.reply <- got
		}
		s.mu.Unlock()
	}
}

// readLine reads a line. It returns nothing of one that exceeds limit bytes.
func readLine(r *bufio.Reader, limit int) (line []byte, err error) {
	for more := true; more; {
		var part []byte
		part, err = r.ReadSlice('\n')
		if more = err == bufio.ErrBufferFull; !more && err != nil {
			return nil, err
		}
		if line = append(line, part...); len(line) > limit {
			line = line[:0:0]
			limit = 0 // of the rest, too
		}
	}
	if limit == 0 {
		return nil, nil
	}
	return line, nil
}

// expect makes the reply to a new request go to the returned channel.
func (s *interpreter) expect() (id string, replies <-chan reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting, s.reply = rand.Text(), make(chan reply, 1)
	return s.waiting, s.reply
}

// ending is how a call ended.
type ending int

const (
	answered    ending = iota
	interrupted        // at its timeout; the session goes on
	goesOn             // the code runs on after the answer
	ended              // the session has ended
)

// evaluation is code that runs.
type evaluation struct {
	replies <-chan reply
	written chan error
	begun   time.Time
	timeout time.Duration
}

// eval starts to run code. The caller holds the turn.
func (s *interpreter) eval(code string, timeout time.Duration) *evaluation {
	id, replies := s.expect()
	e := &evaluation{replies: replies, written: make(chan error, 1), begun: time.Now(), timeout: timeout}
	go func() {
		_, err := io.WriteString(s.requests, languages[s.language].request(id, code))
		e.written <- err
	}()
	return e
}

// await waits for the end of code, at most for the given time. If ctx ends, it returns the cause at
// once, and the code goes on: the caller calls abandon. If the client only gave up waiting, the
// code goes on like after that time.
func (s *interpreter) await(ctx context.Context, e *evaluation, most time.Duration, progress func(time.Duration)) (got reply, how ending, err error) {
	replies, written := e.replies, e.written
	late := time.NewTimer(e.timeout - time.Since(e.begun))
	defer late.Stop()
	enough := time.NewTimer(most)
	defer enough.Stop()
	life := time.NewTicker(tick)
	defer life.Stop()
	closed := s.closed
	for {
		select {
		case got = <-replies:
			return got, answered, nil
		case <-closed:
			closed = nil
			if got, how, ok := s.afterClosed(replies); ok {
				return got, how, nil
			}
		case <-s.running.Done():
			return got, ended, nil
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), tools.ErrGaveUp) {
				return got, goesOn, nil
			}
			return got, ended, context.Cause(ctx)
		case <-enough.C:
			return got, goesOn, nil
		case <-life.C:
			progress(time.Since(e.begun))
		case <-late.C:
			select {
			case <-written:
				got, how = s.interrupt(replies)
				return got, how, nil
			case <-time.After(s.grace):
				_ = s.stop("it did not take the code", 0)
				return got, ended, nil
			}
		}
	}
}

// afterClosed ends an interpreter that has closed its pipe, unless it ends by itself or a reply
// was in the pipe.
func (s *interpreter) afterClosed(replies <-chan reply) (got reply, how ending, ok bool) {
	select {
	case got = <-replies:
		return got, answered, true
	default:
	}
	select {
	case <-s.running.Done():
	case <-time.After(closedWait):
		_ = s.stop("the code has closed the pipes of the interpreter, or replaced it", 0)
	}
	return got, ended, true
}

// abandon interrupts the code of a call that its client has cancelled, if it still runs.
func (s *interpreter) abandon() {
	s.mu.Lock()
	running, replies := s.waiting != "", s.reply
	s.mu.Unlock()
	if running {
		s.interrupt(replies)
	}
}

// interrupt interrupts the code of the present request, by SIGINT if need be, and ends the session
// if it does not react. When it returns, no interrupt is left that the code of another request
// could receive.
func (s *interpreter) interrupt(replies <-chan reply) (got reply, how ending) {
	late := time.NewTimer(s.grace)
	defer late.Stop()
	again := time.NewTicker(tick)
	defer again.Stop()
	var sent <-chan struct{}
	if ask := languages[s.language].interrupt; ask != nil {
		again.Reset(askWait)
		s.mu.Lock()
		id := s.waiting
		s.mu.Unlock()
		go func() { _, _ = io.WriteString(s.requests, ask(id)) }() // it may wait until code is read
	} else {
		sent = s.running.Interrupt()
	}
	if s.language == shell {
		again.Reset(shellTick)
	}
	for reacted, probed := false, false; ; {
		if reacted && sent == nil && !probed {
			if s.language != shell {
				return got, interrupted
			}
			probed, replies = true, s.probe()
		}
		select {
		case one := <-replies:
			if probed {
				return got, interrupted
			}
			if !reacted {
				reacted, got = true, one
				again.Reset(tick)
			}
		case <-sent:
			sent = nil
		case <-s.running.Done():
			return got, ended
		case <-again.C:
			if sent == nil {
				probed, sent = false, s.running.Interrupt()
			}
		case <-late.C:
			_ = s.stop(fmt.Sprintf("killed, since it did not react to an interrupt within %v", s.grace), 0)
			return got, ended
		}
	}
}

// probe makes bash run a request without an effect, and returns the channel for the reply. After an
// interrupt, bash can be unable to take code although it has replied: it waits for a process that
// it had just forked and that missed the signal, or an incomplete line of the former request is
// left. Another interrupt ends both.
func (s *interpreter) probe() <-chan reply {
	id, replies := s.expect()
	_, _ = io.WriteString(s.requests, shellRequest(id, ":")) // an error means that bash has ended
	return replies
}

// stop ends the session, with the processes killed after grace. why is the reason for answers;
// the first one counts.
func (s *interpreter) stop(why string, grace time.Duration) error {
	s.mu.Lock()
	if s.why == "" {
		s.why = why
	}
	s.mu.Unlock()
	if err := s.running.End(command.Stopped, grace); err != nil {
		return err
	}
	<-s.done
	return nil
}

// Kind returns the kind of task.
func (s *interpreter) Kind() string { return "repl" }

// Title returns the name of the session.
func (s *interpreter) Title() string { return s.title }

// Done returns a channel that is closed when the process tree of the interpreter has ended.
func (s *interpreter) Done() <-chan struct{} { return s.done }

// Output returns the output log of the session.
func (s *interpreter) Output() *spool.Log { return s.running.Output }

// Stop ends the session.
func (s *interpreter) Stop(why string) error { return s.stop("stopped by "+why, stopGrace) }

// Release deletes the output.
func (s *interpreter) Release() { _ = s.running.Output.Remove() }

// Network returns the network of the interpreter, or nil if it has that of the machine or has ended.
func (s *interpreter) Network() tasks.Network {
	if isClosed(s.done) {
		return nil
	}
	return bash.NetworkOf(s.running)
}

// Status returns the present state of the session, or how it ended.
func (s *interpreter) Status() tasks.Status {
	if !isClosed(s.done) {
		return tasks.Status{State: tasks.Running, Detail: "running", Started: s.running.Started}
	}
	r := s.running.Result()
	st := tasks.Status{State: tasks.Completed, Detail: s.ending(), Started: s.running.Started, Ended: r.Ended}
	switch {
	case r.EndReason == command.Stopped || r.EndReason == command.Closing:
		st.State = tasks.Stopped
	case r.EndReason != command.ByItself || r.Lost != nil || r.Signal != 0:
		st.State = tasks.Failed
	default:
		st.Code, st.Exited = r.Code, true
		if r.Code != 0 {
			st.State = tasks.Failed
		}
	}
	return st
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
