// A raw client of a stdio server: a process, and JSON-RPC messages in lines.

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// stopTime is how long a server may take to exit once its input has ended.
const stopTime = 5 * time.Second

type client struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr bytes.Buffer  // to be read after Wait
	ended  chan struct{} // closed when the server's output has ended

	writeMu sync.Mutex

	mu      sync.Mutex
	next    int64
	waiting map[int64]chan answer
	dead    bool
}

// answer is a message with the time it had arrived, before it was looked into.
type answer struct {
	line []byte
	at   time.Time
}

// start starts a server. When ctx ends, the server is killed, and with it
// every call ends.
func start(ctx context.Context, argv []string) (*client, error) {
	c := &client{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...), ended: make(chan struct{}), waiting: map[int64]chan answer{}}
	c.cmd.Stderr = &c.stderr
	c.cmd.WaitDelay = stopTime
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go c.readAll(out)
	return c, nil
}

// readAll hands every answer to the call that waits for it.
func (c *client) readAll(out io.Reader) {
	defer close(c.ended)
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		at := time.Now()
		if err != nil {
			break
		}
		line = bytes.TrimRight(line, "\r\n")
		if id, ok := answerID(line); ok {
			c.mu.Lock()
			ch := c.waiting[id]
			delete(c.waiting, id)
			c.mu.Unlock()
			if ch != nil {
				ch <- answer{line, at}
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
	for _, ch := range c.waiting {
		close(ch)
	}
}

var errDead = errors.New("the server has ended")

// call sends a request and waits for its answer: the message, and the time
// from before the request was written until the answer was there.
func (c *client) call(method string, params json.RawMessage) ([]byte, time.Duration, error) {
	ch := make(chan answer, 1)
	c.mu.Lock()
	if c.dead {
		c.mu.Unlock()
		return nil, 0, errDead
	}
	c.next++
	id := c.next
	c.waiting[id] = ch
	c.mu.Unlock()
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
	sent := time.Now()
	if err := c.write(line); err != nil {
		return nil, 0, err
	}
	a, ok := <-ch
	if !ok {
		return nil, 0, errDead
	}
	return a.line, a.at.Sub(sent), nil
}

func (c *client) notify(method string) error {
	return c.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q}`+"\n", method))
}

func (c *client) write(line []byte) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	_, err := c.in.Write(line)
	return err
}

// stop ends the input and waits for the server to exit, which it must do by
// itself. What it had to say is part of an error.
func (c *client) stop() error {
	_ = c.in.Close()
	late := time.AfterFunc(stopTime, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	<-c.ended // Wait closes the pipe that readAll reads
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, lastLine(c.stderr.String()))
	}
	return nil
}

// terminate tells the server to stop, its input still open, and takes the time
// until it is gone. How it exits is its own business: the peer dies of the signal.
func (c *client) terminate() (ms float64, err error) {
	begin := time.Now()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, fmt.Errorf("sending SIGTERM: %w", err)
	}
	late := time.AfterFunc(stopTime, func() { _ = c.cmd.Process.Kill() })
	<-c.ended
	ms = millis(time.Since(begin))
	_ = c.cmd.Wait()
	if !late.Stop() {
		return ms, errors.New("the server did not stop on SIGTERM")
	}
	return ms, nil
}
