package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// spawner is the server's side of the process that starts the supervisors of the
// tier PIDNamespace, and that makes network namespaces. The kernel lets a process
// join a network namespace only if it has CAP_SYS_ADMIN in the user namespace that
// owns it. So all these supervisors have one user namespace, that of the spawner,
// unless the server is root. They end with it.
type spawner struct {
	runner *Runner
	child  child
	conn   *net.UnixConn
	stderr *stderrHead
	exited chan struct{} // closed when the process has ended and was waited for
	users  int           // starts, supervisors and networks; guarded by Runner.mu

	mu      sync.Mutex
	last    uint64                 // id of the last request
	asked   map[uint64]chan answer // requests without an answer
	spawned map[uint64]*spawned    // live supervisors, by the id of their request
}

// spawners holds the spawners of a Runner. Runner.mu guards it except for making.
type spawners struct {
	making  chan struct{} // has an element while a spawner is started
	current *spawner      // serves new requests; nil: none yet
	all     map[*spawner]struct{}
}

func newSpawners() spawners {
	return spawners{making: make(chan struct{}, 1), all: map[*spawner]struct{}{}}
}

// useSpawner returns the spawner for new requests and adds a user to it. It starts one if
// there is none.
func (r *Runner) useSpawner(ctx context.Context) (*spawner, error) {
	select {
	case r.spawners.making <- struct{}{}:
		defer func() { <-r.spawners.making }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	r.mu.Lock()
	n := r.spawners.current
	if n != nil && !n.hasExited() {
		n.users++
		r.mu.Unlock()
		return n, nil
	}
	r.mu.Unlock()
	conn, theirs, err := connect(unix.SOCK_SEQPACKET)
	if err != nil {
		return nil, err
	}
	n = &spawner{
		runner: r, conn: conn, stderr: &stderrHead{}, exited: make(chan struct{}), users: 1,
		asked: map[uint64]chan answer{}, spawned: map[uint64]*spawned{},
	}
	unused := func() {
		_ = theirs.Close()
		_ = conn.Close()
	}
	var continues bool
	n.child, continues, err = r.forkSelf(ctx, spawnerAttributes(), theirs, n.stderr, unused)
	if err != nil {
		if !continues {
			unused()
		}
		return nil, err
	}
	_ = theirs.Close()
	r.mu.Lock()
	r.spawners.current = n
	r.spawners.all[n] = struct{}{}
	r.mu.Unlock()
	go n.wait()
	go n.read()
	if err := n.send(ctx, order{Setup: &setup{Tier: PIDNamespace, Spawner: true}}); err != nil {
		n.end()
		r.leave(n)
		return nil, err
	}
	return n, nil
}

// leave removes a user of a spawner. It ends the spawner if it was retired and has no
// user left.
func (r *Runner) leave(n *spawner) {
	r.mu.Lock()
	n.users--
	unused := n.users == 0 && r.spawners.current != n
	r.mu.Unlock()
	if unused {
		n.end()
	}
}

// retire makes another spawner serve new requests. The retired one lives until it has
// no users. A nil spawner means the current one.
func (r *Runner) retire(n *spawner) {
	r.mu.Lock()
	if n == nil {
		n = r.spawners.current
	}
	if n == nil || n != r.spawners.current {
		r.mu.Unlock()
		return
	}
	r.spawners.current = nil
	unused := n.users == 0
	var ready, others []*supervisor
	for _, s := range r.ready {
		if h, ok := s.child.(*spawned); ok && h.spawner == n {
			ready = append(ready, s)
		} else {
			others = append(others, s)
		}
	}
	r.ready = others
	r.mu.Unlock()
	for _, s := range ready {
		s.discard()
	}
	if unused {
		n.end()
	}
}

// closeSpawners ends all spawners and waits until they have ended.
func (r *Runner) closeSpawners() error {
	r.mu.Lock()
	var all []*spawner
	for n := range r.spawners.all {
		all = append(all, n)
	}
	r.mu.Unlock()
	late := time.After(killWait)
	for _, n := range all {
		n.end()
	}
	for _, n := range all {
		select {
		case <-n.exited:
		case <-late:
			return errors.New("a process that starts supervisors does not end")
		}
	}
	return nil
}

func (n *spawner) end() {
	_ = n.conn.Close()
	n.child.signal(unix.SIGKILL)
}

func (n *spawner) hasExited() bool {
	select {
	case <-n.exited:
		return true
	default:
		return false
	}
}

// isCurrent reports whether the spawner serves new requests.
func (n *spawner) isCurrent() bool {
	n.runner.mu.Lock()
	defer n.runner.mu.Unlock()
	return n.runner.spawners.current == n
}

// wait waits for the end of the spawner.
func (n *spawner) wait() {
	n.child.wait()
	_ = n.conn.Close()
	close(n.exited)
	n.runner.retire(n)
	n.runner.mu.Lock()
	delete(n.runner.spawners.all, n)
	n.runner.mu.Unlock()
}

func (n *spawner) send(ctx context.Context, message any, files ...*os.File) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(slack)
	if sooner, ok := ctx.Deadline(); ok && sooner.Before(deadline) {
		deadline = sooner
	}
	if err := n.conn.SetWriteDeadline(deadline); err != nil {
		return err
	}
	_, err = sendBytes(n.conn, append(line, '\n'), files, nil)
	return err
}

// ask sends a request with the descriptors of files and waits for the answer. A
// spawner that does not answer in time is retired; one that was stopped continues.
func (n *spawner) ask(ctx context.Context, do operation, files ...*os.File) (answer, error) {
	got := make(chan answer, 1)
	n.mu.Lock()
	n.last++
	id := n.last
	n.asked[id] = got
	n.mu.Unlock()
	defer n.giveUp(id, got)
	began := time.Now()
	if err := n.send(ctx, request{ID: id, Do: do}, files...); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			n.runner.retire(n)
			return answer{}, fmt.Errorf("the process that starts supervisors takes no requests: %w", err)
		}
		if failed := (*net.OpError)(nil); !errors.As(err, &failed) {
			return answer{}, err // a file is closed
		}
		return answer{}, n.exitError(err)
	}
	tick := time.NewTicker(answerWait)
	defer tick.Stop()
	for {
		select {
		case a := <-got:
			if a.Text == "" && do != opStart && len(a.fds) == 0 {
				return answer{}, errNoDescriptor
			}
			return a, a.err()
		case <-n.exited:
			return answer{}, n.exitError(nil)
		case <-tick.C:
			if stopped(n.child.pid()) {
				n.child.signal(unix.SIGCONT)
			}
		case <-ctx.Done():
			if errors.As(context.Cause(ctx), new(notReady)) && time.Since(began) >= n.runner.wait/2 {
				n.runner.log.Debug("the process that starts supervisors does not answer")
				n.runner.retire(n)
			}
			return answer{}, context.Cause(ctx)
		}
	}
}

// giveUp forgets a request, and an answer that came and was not taken.
func (n *spawner) giveUp(id uint64, got chan answer) {
	n.mu.Lock()
	delete(n.asked, id)
	n.mu.Unlock()
	select {
	case a := <-got:
		a.discard()
	default:
	}
}

// exitError returns an error for a spawner that cannot be asked.
func (n *spawner) exitError(err error) error {
	select {
	case <-n.exited:
	case <-time.After(time.Second):
		return fmt.Errorf("the process that starts supervisors does not answer: %w", err)
	}
	if said := n.stderr.String(); said != "" {
		return fmt.Errorf("%w: %s: %s", errSpawnerEnded, n.child.state(), said)
	}
	return fmt.Errorf("%w: %s", errSpawnerEnded, n.child.state())
}

// read receives answers until the spawner ends.
func (n *spawner) read() {
	defer n.end()
	buf, oob := make([]byte, maxAnswer), make([]byte, unix.CmsgSpace(4*maxFiles))
	for {
		size, oobn, _, _, err := n.conn.ReadMsgUnix(buf, oob)
		if err != nil || size == 0 {
			return
		}
		var a answer
		if oobn > 0 {
			if a.fds, err = rights(oob[:oobn]); err != nil {
				return
			}
		}
		if err := json.Unmarshal(buf[:size], &a); err != nil {
			a.discard()
			return
		}
		n.take(a)
	}
}

// take handles a message of the spawner.
func (n *spawner) take(a answer) {
	if a.Ended {
		n.conclude(a.ID, a.Text)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	got := n.asked[a.ID]
	if got == nil {
		a.discard() // a supervisor ends by itself: its socket is closed
		return
	}
	delete(n.asked, a.ID)
	if a.PID > 0 {
		a.child = &spawned{spawner: n, id: a.ID, number: a.PID, done: make(chan struct{})}
		if len(a.fds) > 0 {
			_ = unix.SetNonblock(a.fds[0], true) // so that watch takes no thread
			a.child.handle = a.file()
		}
		n.spawned[a.ID] = a.child
	}
	got <- a
}
