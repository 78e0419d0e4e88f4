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
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervisor is the server's side of one supervisor process.
type supervisor struct {
	child  child
	conn   *net.UnixConn
	in     *bufio.Reader
	stderr *stderrHead // its standard error
	tier   Tier
	cgroup string
	exited chan struct{} // closed when the process has ended and was waited for

	sending sync.Mutex
}

// ownImage is the path of this program on Linux. It works even when the file was
// replaced or removed after the start.
const ownImage = "/proc/self/exe"

// findSelf returns the path to start this program by, and its name.
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

// spawn starts a supervisor for a tier and waits until it is ready. An error of
// type *failure may be caused by the tier.
func (r *Runner) spawn(ctx context.Context, t Tier) (*supervisor, error) {
	s, err := r.spawnOnce(ctx, t)
	if errors.Is(err, errSpawnerEnded) && ctx.Err() == nil {
		// The socket is a new one: the spawner may have started a process with the
		// old one before it ended.
		return r.spawnOnce(ctx, t)
	}
	return s, err
}

func (r *Runner) spawnOnce(ctx context.Context, t Tier) (_ *supervisor, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s := &supervisor{tier: t, stderr: &stderrHead{}, exited: make(chan struct{})}
	if s.cgroup, err = makeCgroup(t); err != nil {
		return nil, err
	}
	var theirs *os.File
	if s.conn, theirs, err = connect(unix.SOCK_STREAM); err != nil {
		removeCgroup(s.cgroup)
		return nil, fmt.Errorf("starting the supervisor of a command: %w", err)
	}
	s.in = bufio.NewReaderSize(s.conn, 64<<10)
	unused := func() {
		_ = theirs.Close()
		_ = s.conn.Close()
		removeCgroup(s.cgroup)
	}
	continues := false
	s.child, continues, err = r.startChild(ctx, t, theirs, s.stderr, unused)
	if err != nil && !continues {
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
		s.child.wait()
		s.clean()
		close(s.exited)
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

// connect makes a socket pair of a type and returns the server's end and the other
// one.
func connect(kind int) (*net.UnixConn, *os.File, error) {
	fds, err := socketPair(kind)
	if err != nil {
		return nil, nil, err
	}
	ours := os.NewFile(uintptr(fds[0]), "supervisor")
	theirs := os.NewFile(uintptr(fds[1]), "server")
	conn, err := net.FileConn(ours) // uses a duplicate of ours
	_ = ours.Close()
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), theirs, nil
}

func (s *supervisor) prepare(ctx context.Context) error {
	if err := s.send(order{Setup: &setup{Tier: s.tier, Cgroup: s.cgroup}}); err != nil {
		return s.exitError(err)
	}
	w := s.watch()
	defer w.stop()
	w.stoppedOnly() // starting this program may take long
	rep, err := s.next(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		return s.exitError(err)
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
		sent, err := sendBytes(s.conn, line[:1], files, nil)
		if err != nil {
			return err
		}
		line = line[sent:]
	}
	_, err = s.conn.Write(line)
	return err
}

// sendBytes sends bytes with the descriptors fds and those of files. It uses Control,
// which guards the descriptor against Close and leaves its mode alone; Fd would
// make it blocking.
func sendBytes(conn *net.UnixConn, line []byte, files []*os.File, fds []int) (sent int, err error) {
	if len(files) == 0 {
		sent, _, err = conn.WriteMsgUnix(line, unix.UnixRights(fds...), nil)
		return sent, err
	}
	raw, err := files[0].SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(fd uintptr) { sent, err = sendBytes(conn, line, files[1:], append(fds, int(fd))) })
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

// exitError returns an error for a supervisor that does not answer. Usually it has
// ended; then the error includes its state and its standard error.
func (s *supervisor) exitError(err error) error {
	select {
	case <-s.exited:
	case <-time.After(time.Second):
		return fmt.Errorf("the supervisor of a command does not answer: %w", err)
	}
	text := fmt.Sprintf("the supervisor of a command ended: %s", s.child.state())
	if said := s.stderr.String(); said != "" {
		text += ": " + said
	}
	return errors.New(text)
}

func (s *supervisor) hasExited() bool {
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}

// abandon disconnects from a supervisor, which then ends with all its processes. It
// does not wait.
func (s *supervisor) abandon() {
	_ = s.conn.Close()
	if s.tier == PIDNamespace {
		s.kill()
		return
	}
	s.wake() // only a running supervisor ends its processes
}

// discard ends a supervisor that has no command yet. It does not wait.
func (s *supervisor) discard() {
	_ = s.conn.Close()
	s.kill()
}

// wake continues a stopped supervisor.
func (s *supervisor) wake() { s.child.signal(unix.SIGCONT) }

func (s *supervisor) kill() { s.child.signal(unix.SIGKILL) }

// isStopped reports whether a signal has stopped the supervisor. The supervisor has
// no terminal, so this does not happen by accident. It returns false if the state
// cannot be determined.
func (s *supervisor) isStopped() bool { return !s.hasExited() && stopped(s.child.pid()) }

// watchdog kills a supervisor that does not answer. Whoever waits for its reports
// receives those already sent, and then sees that it has ended.
type watchdog struct{ quit, patient chan struct{} }

// watch starts a watchdog for a supervisor. It kills a stopped supervisor after
// answerWait and any other after slack.
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
			case <-s.exited:
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
			s.kill()
			return
		}
	}()
	return w
}

// stop ends the watchdog.
func (w watchdog) stop() { close(w.quit) }

// stoppedOnly removes the time limit: from then on the watchdog kills the
// supervisor only if it is stopped.
func (w watchdog) stoppedOnly() { close(w.patient) }

// clean kills the processes left in the supervisor's cgroup and removes the cgroup.
// It runs after the supervisor has ended, in whatever way.
func (s *supervisor) clean() {
	if s.cgroup != "" {
		killCgroup(s.cgroup)
		removeCgroup(s.cgroup)
	}
}

// startError returns a *failure if the system does not support or allow a tier, and
// an ordinary error otherwise.
func startError(t Tier, err error) error {
	for _, refusal := range []error{syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.ENOSYS, syscall.ENOSPC, syscall.EUSERS} {
		if errors.Is(err, refusal) {
			return &failure{Text: fmt.Sprintf("starting the supervisor of a command: %v", err), Refused: true}
		}
	}
	return fmt.Errorf("starting the supervisor of a command: %w", err)
}

// stderrHead stores the beginning of the data written to it, maxWords bytes at most.
type stderrHead struct {
	mu   sync.Mutex
	data []byte
}

func (w *stderrHead) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.data = append(w.data, p[:min(len(p), maxWords-len(w.data))]...)
	return len(p), nil
}

func (w *stderrHead) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.TrimSpace(string(w.data))
}
