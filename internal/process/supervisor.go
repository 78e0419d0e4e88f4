//go:build linux || darwin

package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervisor is the server's side of one supervisor process.
type supervisor struct {
	cmd    *exec.Cmd
	conn   *net.UnixConn
	in     *bufio.Reader
	words  *words // what it said on its standard error
	tier   Tier
	cgroup string
	gone   chan struct{} // closed when the process has ended and was waited for

	sending sync.Mutex
}

// ownImage is this program on Linux, also when its file has been replaced or
// removed since it was started.
const ownImage = "/proc/self/exe"

// findSelf is the path to start this program by, and its name.
var findSelf = sync.OnceValues(func() (self [2]string, err error) {
	exe, err := os.Executable()
	if err != nil {
		return self, err
	}
	if _, err := os.Stat(ownImage); err == nil {
		return [2]string{ownImage, exe}, nil
	}
	return [2]string{exe, exe}, nil
})

// spawn starts a supervisor for a tier and waits until it is ready. An error
// that is a *failure may be the tier's.
func (r *Runner) spawn(ctx context.Context, t Tier) (_ *supervisor, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	self, err := findSelf()
	if err != nil {
		return nil, fmt.Errorf("finding this program to supervise a command: %w", err)
	}
	s := &supervisor{tier: t, words: &words{}, gone: make(chan struct{})}
	if s.cgroup, err = makeCgroup(t); err != nil {
		return nil, err
	}
	theirs, err := s.connect()
	if err != nil {
		removeCgroup(s.cgroup)
		return nil, fmt.Errorf("starting the supervisor of a command: %w", err)
	}
	s.cmd = &exec.Cmd{
		Path: self[0], Args: []string{self[1], Arg},
		Env: supervisorEnv, Dir: "/",
		Stderr:      s.words,
		ExtraFiles:  []*os.File{theirs},
		SysProcAttr: attributes(t),
		WaitDelay:   time.Second,
	}
	unused := func() {
		_ = theirs.Close()
		_ = s.conn.Close()
		removeCgroup(s.cgroup)
	}
	f, kept, err := r.fork(ctx, func() error { return r.start(s.cmd) }, func(err error) {
		if err == nil {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
		}
		unused()
	})
	if err != nil && !kept {
		unused()
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, startError(t, err)
	}
	_ = theirs.Close()
	r.alive.Add(1)
	go func() {
		defer r.alive.Done()
		_ = s.cmd.Wait()
		r.release(f)
		s.clean()
		close(s.gone)
	}()
	if err := s.prepare(ctx); err != nil {
		s.abandon()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	return s, nil
}

// connect makes the socket pair. The other end is the supervisor's.
func (s *supervisor) connect() (theirs *os.File, err error) {
	fds, err := socketPair()
	if err != nil {
		return nil, err
	}
	ours := os.NewFile(uintptr(fds[0]), "supervisor")
	theirs = os.NewFile(uintptr(fds[1]), "server")
	conn, err := net.FileConn(ours) // a duplicate
	_ = ours.Close()
	if err != nil {
		_ = theirs.Close()
		return nil, err
	}
	s.conn = conn.(*net.UnixConn)
	s.in = bufio.NewReaderSize(s.conn, 64<<10)
	return theirs, nil
}

func (s *supervisor) prepare(ctx context.Context) error {
	if err := s.send(order{Setup: &setup{Tier: s.tier, Cgroup: s.cgroup}}); err != nil {
		return s.lost(err)
	}
	w := s.watch()
	defer w.stop()
	w.stoppedOnly() // this program may be long in starting
	rep, err := s.next(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		return s.lost(err)
	case rep.Failed != nil:
		return rep.Failed
	case !rep.Ready:
		return errors.New("the supervisor of a command does not speak our language: was the program replaced?")
	}
	return nil
}

// send sends one order, with the descriptors of files.
func (s *supervisor) send(o order, files ...*os.File) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	s.sending.Lock()
	defer s.sending.Unlock()
	if err := s.conn.SetWriteDeadline(time.Now().Add(slack)); err != nil {
		return err
	}
	if len(files) > 0 {
		sent, err := s.hand(line[:1], files, nil)
		if err != nil {
			return err
		}
		line = line[sent:]
	}
	_, err = s.conn.Write(line)
	return err
}

// hand sends bytes with the descriptors fds and those of files. Control runs with
// a descriptor kept open and in its mode; Fd would make it blocking.
func (s *supervisor) hand(line []byte, files []*os.File, fds []int) (sent int, err error) {
	if len(files) == 0 {
		sent, _, err = s.conn.WriteMsgUnix(line, unix.UnixRights(fds...), nil)
		return sent, err
	}
	raw, err := files[0].SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(fd uintptr) { sent, err = s.hand(line, files[1:], append(fds, int(fd))) })
	if controlErr != nil {
		return 0, controlErr
	}
	return sent, err
}

// next waits for the next report.
func (s *supervisor) next(ctx context.Context) (rep report, err error) {
	_ = s.conn.SetReadDeadline(time.Time{})
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	line, err := s.in.ReadSlice('\n')
	if err != nil {
		return rep, err
	}
	return rep, json.Unmarshal(line, &rep)
}

// lost explains that a supervisor does not answer: mostly it has ended.
func (s *supervisor) lost(err error) error {
	select {
	case <-s.gone:
	case <-time.After(time.Second):
		return fmt.Errorf("the supervisor of a command does not answer: %w", err)
	}
	text := fmt.Sprintf("the supervisor of a command ended: %s", s.cmd.ProcessState)
	if said := s.words.String(); said != "" {
		text += ": " + said
	}
	return errors.New(text)
}

func (s *supervisor) isGone() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

// abandon lets go of a supervisor, which then ends with all it has. It does
// not wait.
func (s *supervisor) abandon() {
	_ = s.conn.Close()
	if s.tier == PIDNamespace {
		_ = s.cmd.Process.Kill()
		return
	}
	s.wake() // only one that runs ends what it has
}

// discard is abandon for a supervisor that knows of no command yet.
func (s *supervisor) discard() {
	_ = s.conn.Close()
	_ = s.cmd.Process.Kill()
}

// wake lets a supervisor go on that somebody has stopped.
func (s *supervisor) wake() { _ = s.cmd.Process.Signal(unix.SIGCONT) }

// isStopped reports whether somebody has stopped the supervisor, as far as that
// can be told here: nobody does by accident, since it has no terminal.
func (s *supervisor) isStopped() bool { return !s.isGone() && stopped(s.cmd.Process.Pid) }

// watchdog kills a supervisor that does not answer: whoever waits for its words
// gets those that it has said, and then sees that it has ended.
type watchdog struct{ quit, patient chan struct{} }

// watch sets a watchdog on a supervisor.
func (s *supervisor) watch() watchdog {
	w := watchdog{quit: make(chan struct{}), patient: make(chan struct{})}
	go func() {
		tick := time.NewTicker(answerWait)
		defer tick.Stop()
		limit := time.NewTimer(slack)
		defer limit.Stop()
		for late, patient := limit.C, w.patient; ; {
			select {
			case <-w.quit:
				return
			case <-s.gone:
				return
			case <-patient:
				late, patient = nil, nil
				continue
			case <-tick.C:
				if !s.isStopped() {
					continue
				}
			case <-late:
			}
			_ = s.cmd.Process.Kill()
			return
		}
	}()
	return w
}

// stop ends the watch.
func (w watchdog) stop() { close(w.quit) }

// stoppedOnly leaves the supervisor all the time it takes unless it is stopped.
func (w watchdog) stoppedOnly() { close(w.patient) }

// clean ends what a supervisor may have left that did not end in order, and
// what was its own. It runs when the process has ended.
func (s *supervisor) clean() {
	if s.cgroup != "" {
		killCgroup(s.cgroup)
		removeCgroup(s.cgroup)
	}
}

// startError tells a system without the means of a tier from a failure.
func startError(t Tier, err error) error {
	for _, refusal := range []error{syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.ENOSYS, syscall.ENOSPC, syscall.EUSERS} {
		if errors.Is(err, refusal) {
			return &failure{Text: fmt.Sprintf("starting the supervisor of a command: %v", err), Refused: true}
		}
	}
	return fmt.Errorf("starting the supervisor of a command: %w", err)
}

// words keeps the begin of what is written to it.
type words struct {
	mu   sync.Mutex
	kept []byte
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, p[:min(len(p), maxWords-len(w.kept))]...)
	return len(p), nil
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.TrimSpace(string(w.kept))
}
