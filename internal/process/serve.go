//go:build linux || darwin

package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Exit codes of a supervisor.
const (
	exitUsage = 2
	exitPanic = 84
)

// usage is for a person who runs the command by hand.
const usage = Arg + " is how the server starts and ends one command; it is not for use by hand"

// Confine applies what Spec.Confine holds to a thread of the supervisor, or to
// all of it, for good, and calls start there, which starts the command. The
// thread has to stay: the command is ended when it ends.
type Confine func(spec json.RawMessage, start func() error) error

// Serve is the whole life of a supervisor. It returns the exit code; nothing
// else can be done in the process.
func Serve(confine Confine) int {
	// The thread that starts the command: what is set for a thread is set here,
	// and the command ends with it.
	runtime.LockOSThread()
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "panic: %.500v\n%s", p, debug.Stack())
			os.Exit(exitPanic)
		}
	}()
	if !isSocket(controlFD) {
		fmt.Fprintln(os.Stderr, usage)
		return exitUsage
	}
	unix.CloseOnExec(controlFD)
	runtime.GOMAXPROCS(2) // it mostly waits: threads are what its start costs
	// Every signal that can be caught is, and does nothing: the command may send
	// what it likes. What is caught is as by default again in the command.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals)
	c := &channel{}
	var first order
	if err := c.receive(&first); err != nil || first.Setup == nil {
		return 0 // the server is gone
	}
	sys, err := prepare(*first.Setup)
	if err != nil {
		c.fail(err)
		return 1
	}
	c.send(report{Ready: true})
	var second order
	if err := c.receive(&second); err != nil || second.Run == nil || len(c.files) != second.Run.descriptors() {
		sys.release()
		return 0
	}
	c.send(report{Taken: true})
	t := newTree(sys)
	go c.listen(t)
	go watchParent(signals, t.orders)
	if err := t.start(*second.Run, c.files, confine); err != nil {
		sys.release()
		c.fail(err)
		return 1
	}
	c.send(report{Started: &started{t.pid}})
	exit := t.live(second.Run.Grace)
	c.send(report{Exit: &exit})
	return 0
}

// channel is the supervisor's end of the socket. It knows no buffer but its
// own, since a line and a descriptor are read with one call.
type channel struct {
	rest  []byte
	files []int // the descriptors that came with the last message
}

// receive waits for an order.
func (c *channel) receive(o *order) error {
	c.files = nil
	for {
		if line, rest, ok := bytes.Cut(c.rest, []byte{'\n'}); ok {
			c.rest = rest
			return json.Unmarshal(line, o)
		}
		buf, oob := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4*maxFiles))
		n, oobn, err := recvmsg(controlFD, buf, oob)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case n == 0:
			return errGone
		}
		c.rest = append(c.rest, buf[:n]...)
		if oobn > 0 {
			if fds, err := rights(oob[:oobn]); err == nil {
				c.files = fds
			}
		}
	}
}

var errGone = errors.New("the server is gone")

func rights(oob []byte) ([]int, error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(msgs) != 1 {
		return nil, errors.New("no control message")
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil {
		return nil, err
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	return fds, nil
}

// descriptors is how many come with the command.
func (c *command) descriptors() int {
	n := 1
	if c.Input {
		n++
	}
	if c.Errors {
		n++
	}
	return n
}

// send sends a report. That the server is gone is noticed by listen.
func (c *channel) send(r report) {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	for line = append(line, '\n'); len(line) > 0; {
		n, err := unix.Write(controlFD, line)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		line = line[n:]
	}
}

func (c *channel) fail(err error) {
	f := (*failure)(nil)
	if !errors.As(err, &f) {
		f = &failure{Text: err.Error()}
	}
	c.send(report{Failed: f})
}

// listen hands on orders to end, of which the last is that the server is gone.
// If that is so before the command is started it is not started any more.
func (c *channel) listen(t *tree) {
	buf := make([]byte, 4<<10)
	for {
		for {
			line, rest, ok := bytes.Cut(c.rest, []byte{'\n'})
			if !ok {
				break
			}
			c.rest = rest
			var o order
			if json.Unmarshal(line, &o) == nil && o.End != nil {
				t.orders <- *o.End
			}
		}
		n, err := unix.Read(controlFD, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			if t.begun.CompareAndSwap(false, true) {
				t.sys.release()
				os.Exit(0)
			}
			for {
				t.orders <- ending{} // as often as it is asked for
			}
		}
		c.rest = append(c.rest, buf[:n]...)
	}
}

// watchParent gives the order to end when the system says that the parent has
// died, which it does by a signal that anybody could send.
func watchParent(signals <-chan os.Signal, orders chan<- ending) {
	parent := os.Getppid()
	for range signals {
		if os.Getppid() != parent {
			orders <- ending{}
		}
	}
}

func isSocket(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFSOCK
}

// until is the time until a deadline that is never in the past.
func until(t time.Time) time.Duration { return max(0, time.Until(t)) }
