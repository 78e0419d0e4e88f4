//go:build linux || darwin

package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// drainWait is the timeout to copy the rest of a terminal's output after its processes have ended.
const drainWait = 5 * time.Second

// relay copies between a terminal and the pipes of a command, in its supervisor. It only reads and
// writes master, which the command cannot have.
type relay struct {
	master, slave int // slave stays open, so that the terminal lasts until finish
	input, output int
	shown         chan struct{} // closed when all output of the terminal is in output
}

// newRelay makes a terminal, in the /dev/pts that the calling thread has. The relay owns the
// descriptors.
func newRelay(size TerminalSize, input, output int) (*relay, error) {
	master, slave, err := openTerminal(size)
	if err != nil {
		return nil, err
	}
	return &relay{master: master, slave: slave, input: input, output: output, shown: make(chan struct{})}, nil
}

// start copies until the end of the terminal or of the pipes. A program that does not read
// makes the pipe for input fill up, a server that does not read the one for output.
func (r *relay) start() {
	go func() {
		defer close(r.shown)
		defer unix.Close(r.output)
		copyAll(r.output, r.master)
	}()
	go copyAll(r.master, r.input)
}

// finish waits for the end of the output. All processes of the command have ended.
func (r *relay) finish() {
	_ = unix.Close(r.slave)
	select {
	case <-r.shown:
	case <-time.After(drainWait): // the server does not read
	}
}

// copyAll copies until one of the descriptors ends.
func copyAll(to, from int) {
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.Read(from, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return
		}
		for rest := buf[:n]; len(rest) > 0; {
			n, err := unix.Write(to, rest)
			if err == unix.EINTR {
				continue
			}
			if err != nil || n <= 0 {
				return
			}
			rest = rest[n:]
		}
	}
}
