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
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Exit codes of a supervisor.
const (
	exitUsage = 2
	exitPanic = 84
)

// usage is shown to users who run the command by hand.
const usage = Arg + " is how the server starts and ends one command; it is not for use by hand"

// Confine applies the content of Spec.Confine permanently to one thread of the
// supervisor, or to all threads. On that thread it calls join before it applies
// anything, and start afterwards. join moves the thread into Spec.Network, and start
// starts the command, by the program and arguments in launcher if there are any. The
// thread must live on: the command ends with it.
type Confine func(spec json.RawMessage, join func() error, start func(launcher ...string) error) error

// Serve runs a supervisor and returns its exit code. The process must do nothing
// else.
func Serve(confine Confine) int {
	// This thread starts the command: settings that apply to one thread are made
	// here, and the command ends with the thread.
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
	runtime.GOMAXPROCS(2) // the supervisor mostly waits, and creating threads would delay its start
	// Catch and ignore every signal that can be caught: the command may send any.
	// In the command, caught signals have their default action again.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals)
	catchReserved()
	c := &channel{}
	var first order
	if err := c.receive(&first); err != nil || first.Setup == nil {
		return 0 // the server has ended
	}
	sys, err := prepare(*first.Setup)
	if err != nil {
		c.fail(err)
		return 1
	}
	if first.Setup.Spawner {
		newSpawnServer().serve(c, signals)
		return 0
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
	if t.relay != nil {
		t.relay.finish()
	}
	c.send(report{Exit: &exit})
	return 0
}

// channel is the supervisor's end of the socket. It does its own buffering, since a
// line and a descriptor are read with one call.
type channel struct {
	rest    []byte
	files   []int // descriptors that came with the last message
	sending sync.Mutex
}

// receive waits for an order or a request and decodes it.
func (c *channel) receive(o any) error {
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
			return errServerEnded
		}
		c.rest = append(c.rest, buf[:n]...)
		if oobn > 0 {
			if fds, err := rights(oob[:oobn]); err == nil {
				c.files = fds
			}
		}
	}
}

var errServerEnded = errors.New("the server is gone")

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

// descriptors returns the number of descriptors that come with the command.
func (c *command) descriptors() int {
	n := 1
	if c.Input {
		n++
	}
	if c.Errors {
		n++
	}
	if c.Network {
		n++
	}
	return n
}

// send sends a report. It ignores errors: listen notices that the server has ended.
func (c *channel) send(r report) {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	c.sending.Lock()
	defer c.sending.Unlock()
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

// listen passes on orders to end, and interrupts the command. When the server has ended it
// sends a last order, as often as one is received. If the command is not being started yet,
// it exits instead, so that the command never starts.
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
			switch {
			case json.Unmarshal(line, &o) != nil:
			case o.Interrupt:
				t.interrupt()
				c.send(report{Interrupted: true})
			case o.End != nil:
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
				t.orders <- ending{} // repeated for every receiver
			}
		}
		c.rest = append(c.rest, buf[:n]...)
	}
}

// watchParent sends the order to end when the parent has died. The system announces
// that by a signal that any process could send, so watchParent checks the parent.
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

// until returns the time until t, or 0 if t has passed.
func until(t time.Time) time.Duration { return max(0, time.Until(t)) }
