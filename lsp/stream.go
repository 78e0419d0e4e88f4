package lsp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of the connection to a server.
const (
	// maxMessage is the limit of a message of a server, in bytes.
	maxMessage = 16 << 20
	// maxHeader is the limit of the header of a message, in bytes.
	maxHeader = 4 << 10
	// maxUnsent is the limit of messages that the server has not read yet, in bytes.
	maxUnsent = 64 << 20
)

// stream is a jsonrpc2.ObjectStream over the pipes of a server. WriteObject never waits for
// the server: jsonrpc2 holds a lock meanwhile, so a server that stops reading would block
// each later message, and the end of the connection.
type stream struct {
	in    *bufio.Reader
	out   io.WriteCloser
	asked atomic.Int64 // when the first request after the last byte from the server was made; 0: none

	mu     sync.Mutex
	queue  [][]byte
	unsent int
	closed bool
	fault  error         // why messages cannot be read; nil: the server ended the stream
	wake   chan struct{} // has room for one; wakes send for a message or the end
}

func newStream(in io.Reader, out io.WriteCloser) *stream {
	s := &stream{out: out, wake: make(chan struct{}, 1)}
	s.in = bufio.NewReaderSize(heard{in, s}, 64<<10)
	go s.send()
	return s
}

// heard is the output of a server.
type heard struct {
	io.Reader
	s *stream
}

// Read reads from the server, and records that it has sent something.
func (h heard) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if n > 0 {
		h.s.asked.Store(0)
	}
	return n, err
}

// ask records that the server gets a request.
func (s *stream) ask() { s.asked.CompareAndSwap(0, time.Now().UnixNano()) }

// silent returns for how long the server has sent nothing although it was asked.
func (s *stream) silent() time.Duration {
	if at := s.asked.Load(); at != 0 {
		return time.Since(time.Unix(0, at))
	}
	return 0
}

// WriteObject queues a message.
func (s *stream) WriteObject(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return io.ErrClosedPipe
	case s.unsent+len(data) > maxUnsent:
		return errors.New("it does not read what it is sent")
	}
	message := fmt.Appendf(make([]byte, 0, len(data)+30), "Content-Length: %d\r\n\r\n", len(data))
	s.queue = append(s.queue, append(message, data...))
	s.unsent += len(data)
	s.tell()
	return nil
}

func (s *stream) tell() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// send writes the queued messages until the stream is closed.
func (s *stream) send() {
	for range s.wake {
		for {
			s.mu.Lock()
			if s.closed {
				s.mu.Unlock()
				return
			}
			if len(s.queue) == 0 {
				s.mu.Unlock()
				break
			}
			message := s.queue[0]
			s.queue = s.queue[1:]
			s.mu.Unlock()
			if _, err := s.out.Write(message); err != nil {
				_ = s.Close()
				return
			}
			s.mu.Lock()
			s.unsent -= len(message)
			s.mu.Unlock()
		}
	}
}

// ReadObject reads a message.
func (s *stream) ReadObject(v any) error {
	err := s.read(v)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, os.ErrClosed) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fault = err
	}
	return err
}

// reason returns why messages could not be read, or nil.
func (s *stream) reason() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

func (s *stream) read(v any) error {
	length, err := s.header()
	if err != nil {
		return err
	}
	data := new(bytes.Buffer)
	if _, err := io.CopyN(data, s.in, length); err != nil {
		return err
	}
	if err := json.Unmarshal(data.Bytes(), v); err != nil {
		return fmt.Errorf("it sent a message that is no JSON-RPC: %w", err)
	}
	return nil
}

// header reads the header of a message and returns the length of its content.
func (s *stream) header() (length int64, err error) {
	length = -1
	for size := 0; ; {
		line, err := s.in.ReadSlice('\n')
		if size += len(line); errors.Is(err, bufio.ErrBufferFull) || size > maxHeader {
			return 0, errors.New("it sent something else than messages of the protocol")
		}
		if err != nil {
			return 0, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		name, value, ok := strings.Cut(text, ":")
		switch {
		case text == "" && length > 0:
			return length, nil
		case !ok:
			return 0, errors.New("it sent something else than messages of the protocol")
		case strings.EqualFold(name, "Content-Length"):
			length, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			if err != nil || length <= 0 || length > maxMessage {
				return 0, fmt.Errorf("it sent a message with a length that is not between 1 and %d bytes", maxMessage)
			}
		}
	}
}

// Close closes the pipe to the server.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed, s.queue = true, nil
	s.tell()
	return s.out.Close()
}
