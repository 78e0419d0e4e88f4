package process

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The spawner and the server exchange packets of JSON. A request comes with
// descriptors: opStart with the control socket and the standard error of the
// supervisor, opListen, opSocket4, opSocket6, opTable4 and opTable6 with a network
// namespace. An answer comes with one descriptor: the pidfd of the supervisor, or that
// of the new namespace or socket, or of the table.

// operation is the kind of a request to the spawner.
type operation string

const (
	opStart   operation = "start"   // start a supervisor
	opNetwork operation = "network" // make a network namespace
	opListen  operation = "listen"  // make a listening TCP socket in a network namespace
	opSocket4 operation = "socket4" // make a TCP socket in a network namespace
	opSocket6 operation = "socket6"
	opTable4  operation = "table4" // open the table of the TCP sockets of a network namespace
	opTable6  operation = "table6"
)

type request struct {
	ID uint64
	Do operation
}

// maxAnswer is the limit of an answer, in bytes.
const maxAnswer = 4 << 10

// answer is the answer to a request, or the report that the supervisor of a request
// has ended.
type answer struct {
	ID    uint64
	PID   int           `json:",omitempty"` // of a supervisor
	Ended bool          `json:",omitempty"`
	Text  string        `json:",omitempty"` // what failed, or how the supervisor ended
	Errno syscall.Errno `json:",omitempty"`

	fds   []int
	child *spawned
}

func (a answer) err() error {
	if a.Text == "" {
		return nil
	}
	return fmt.Errorf("%s: %w", a.Text, a.Errno)
}

// file returns the descriptor of an answer; nil: it has none.
func (a answer) file() *os.File {
	if len(a.fds) == 0 {
		return nil
	}
	return os.NewFile(uintptr(a.fds[0]), "spawner")
}

// discard closes what came with an answer.
func (a answer) discard() {
	if a.child != nil && a.child.handle != nil {
		_ = a.child.handle.Close()
		return
	}
	for _, fd := range a.fds {
		_ = unix.Close(fd)
	}
}

// spawnServer is the spawner in its own process. The main thread starts the supervisors:
// they end with that thread.
type spawnServer struct {
	mu       sync.Mutex
	children map[int]uint64          // ids of the requests of live supervisors
	early    map[int]unix.WaitStatus // ends during the start in progress
}

func newSpawnServer() *spawnServer {
	return &spawnServer{children: map[int]uint64{}, early: map[int]unix.WaitStatus{}}
}

// serve serves requests until the server has ended.
func (b *spawnServer) serve(c *channel, signals <-chan os.Signal) {
	go b.reap(signals)
	for {
		var req request
		if err := c.receive(&req); err != nil {
			return
		}
		fds := c.files
		switch {
		case req.Do == opStart && len(fds) == 2:
			b.start(req.ID, fds)
		case req.Do == opNetwork:
			go b.network(req.ID)
		case len(fds) == 1:
			go b.socket(req, fds[0])
			continue
		default:
			b.reply(answer{ID: req.ID, Text: "asking the spawner for " + string(req.Do), Errno: unix.EINVAL})
		}
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}
}

// reply sends an answer with descriptors. If the kernel refuses the descriptors, for
// example because too many are in flight between processes of the user, the answer is
// that error.
func (b *spawnServer) reply(a answer, fds ...int) {
	err := send(a, fds)
	if err == unix.EPIPE || err == unix.ECONNRESET {
		os.Exit(0) // the server has ended
	}
	if err == nil || len(fds) == 0 {
		return
	}
	if a.PID > 0 {
		_ = send(a, nil) // the server does without a pidfd
		return
	}
	_ = send(answer{ID: a.ID, Text: "sending a descriptor", Errno: err.(syscall.Errno)}, nil)
}

// send sends a message to the server.
func send(a answer, fds []int) error {
	line, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Sendmsg(controlFD, line, unix.UnixRights(fds...), nil, 0)
	}
	return err
}

// failed replies with the error of an operation.
func (b *spawnServer) failed(id uint64, what string, err error) {
	errno, ok := err.(syscall.Errno)
	if !ok {
		errno, what = unix.EIO, fmt.Sprintf("%s: %v", what, err)
	}
	b.reply(answer{ID: id, Text: what, Errno: errno})
}

// start starts a supervisor. If it hangs before it runs this program, it is killed
// after startWait.
func (b *spawnServer) start(id uint64, fds []int) {
	hung := time.AfterFunc(startWait, b.killHung)
	defer hung.Stop()
	handle := -1
	attr := attributes(PIDNamespace)
	attr.PidFD = &handle
	pid, err := syscall.ForkExec(ownImage, []string{os.Args[0], Arg}, &syscall.ProcAttr{
		Dir: "/", Env: HelperEnv, Files: []uintptr{0, 1, uintptr(fds[1]), uintptr(fds[0])}, Sys: attr,
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	defer clear(b.early)
	if err != nil {
		b.failed(id, "fork/exec "+ownImage, err)
		return
	}
	if handle < 0 {
		b.reply(answer{ID: id, PID: pid})
	} else {
		b.reply(answer{ID: id, PID: pid}, handle)
		_ = unix.Close(handle)
	}
	if status, ok := b.early[pid]; ok {
		b.reply(ended(id, status))
		return
	}
	b.children[pid] = id
}

// killHung kills the child whose start is in progress: the only one that is not known.
func (b *spawnServer) killHung() {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	if err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for number := range strings.FieldsSeq(string(text)) {
		pid, err := strconv.Atoi(number)
		if _, known := b.children[pid]; err == nil && !known {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// reap waits for supervisors that end, and reports their ends.
func (b *spawnServer) reap(signals <-chan os.Signal) {
	for range signals {
		b.mu.Lock()
		for {
			var status unix.WaitStatus
			pid, err := unix.Wait4(-1, &status, unix.WNOHANG|waitAll, nil)
			if err == unix.EINTR {
				continue
			}
			if err != nil || pid == 0 {
				break
			}
			if id, ok := b.children[pid]; ok {
				delete(b.children, pid)
				b.reply(ended(id, status))
			} else {
				b.early[pid] = status
			}
		}
		b.mu.Unlock()
	}
}

// ended returns the report of the end of a supervisor. The text is that of
// os.ProcessState.
func ended(id uint64, s unix.WaitStatus) answer {
	text := fmt.Sprintf("exit status %d", s.ExitStatus())
	if s.Signaled() {
		text = "signal: " + s.Signal().String()
	}
	return answer{ID: id, Ended: true, Text: text}
}

// network makes a network namespace in which only the loopback interface exists.
func (b *spawnServer) network(id uint64) {
	fd, what := -1, ""
	err := inNetwork(func() (err error) {
		what = "making a network namespace"
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		what = "starting the loopback interface"
		if err = loopbackUp(); err != nil {
			return err
		}
		fd, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		b.failed(id, what, err)
		return
	}
	b.reply(answer{ID: id}, fd)
	_ = unix.Close(fd)
}

// loopbackUp starts the loopback interface of this thread's network namespace. The
// kernel then gives it 127.0.0.1 and ::1.
func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	ifreq, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(s, unix.SIOCGIFFLAGS, ifreq); err != nil {
		return err
	}
	ifreq.SetUint16(ifreq.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, ifreq)
}

// tables maps the operations to the files of the tables, below the folder of a thread.
var tables = map[operation]string{opTable4: "tcp", opTable6: "tcp6"}

// socket makes a socket in a network namespace, or opens a table of it. It closes ns.
func (b *spawnServer) socket(req request, ns int) {
	defer unix.Close(ns)
	s := -1
	err := inNetwork(func() (err error) {
		if err = unix.Setns(ns, unix.CLONE_NEWNET); err != nil {
			return err
		}
		if name, ok := tables[req.Do]; ok {
			s, err = unix.Open("/proc/thread-self/net/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			return err
		}
		family := unix.AF_INET
		if req.Do == opSocket6 {
			family = unix.AF_INET6
		}
		if s, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil || req.Do != opListen {
			return err
		}
		if err = unix.Bind(s, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			return err
		}
		return unix.Listen(s, unix.SOMAXCONN)
	})
	if err != nil {
		b.failed(req.ID, "making a socket in the network of a session", err)
	} else {
		b.reply(answer{ID: req.ID}, s)
	}
	if s >= 0 {
		_ = unix.Close(s)
	}
}

// inNetwork calls f on a thread that ends afterwards, so that f may change its
// namespace.
func inNetwork(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends
		done <- f()
	}()
	return <-done
}
