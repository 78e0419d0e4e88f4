package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

const (
	// maxMessage is the limit of a message of a program, in bytes. The library takes 10 MB.
	maxMessage = 8 << 20
	// maxAsked is the limit of the requests of a program that have no answer yet.
	maxAsked = 32
	// maxGarbage is the limit of lines that are no messages: some programs print a greeting.
	maxGarbage = 100
)

// messages is the output of a program that speaks the Agent Client Protocol. It passes only
// requests, their cancellations and answers to the library. The library starts a goroutine for each
// request, without a limit, and ends the connection if it gets updates faster than it handles them.
// Updates are handled here, so a program that sends more than is handled waits.
type messages struct {
	in     *bufio.Reader
	update func(params json.RawMessage)
	begun  chan struct{} // closed when messages may be read
	rest   []byte        // of a message that was not read whole
	read   int64
	asked  atomic.Int32 // requests without an answer
	bad    int
	broken atomic.Bool            // a message could not be written
	fault  atomic.Pointer[string] // why no more is read; nil: the program has closed its output
}

func newMessages(in io.Reader, update func(json.RawMessage)) *messages {
	return &messages{in: bufio.NewReaderSize(in, 64<<10), update: update, begun: make(chan struct{})}
}

// Read implements io.Reader.
func (m *messages) Read(p []byte) (int, error) {
	<-m.begun
	for len(m.rest) == 0 {
		if err := m.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

func (m *messages) fail(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	m.fault.Store(&text)
	return errors.New(text)
}

// next reads a message. It sets rest if the library has to handle it.
func (m *messages) next() error {
	line, err := m.line()
	if err != nil {
		return err
	}
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	switch err := json.Unmarshal(line, &head); {
	case len(bytes.TrimSpace(line)) == 0:
	case err != nil || head.Method == "" && head.ID == nil:
		if m.bad++; m.bad > maxGarbage {
			return m.fail("it does not speak the Agent Client Protocol: %d lines are no messages", m.bad)
		}
	case head.ID == nil && head.Method == "session/update":
		m.update(head.Params)
	case head.ID == nil && head.Method != "$/cancel_request":
	case head.ID != nil && head.Method != "" && m.asked.Add(1) > maxAsked:
		return m.fail("it made more than %d requests at once", maxAsked)
	default:
		m.rest = line
	}
	return nil
}

// line reads a line with its end.
func (m *messages) line() (line []byte, err error) {
	for {
		part, err := m.in.ReadSlice('\n')
		line = append(line, part...)
		m.read += int64(len(part))
		switch {
		case len(line) > maxMessage:
			return nil, m.fail("it sent a message of more than %d MB", maxMessage>>20)
		case m.read > maxWritten:
			return nil, m.fail("it wrote more than %d MB", maxWritten>>20)
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// answers is the input of a program, to which the library writes one message at a time.
type answers struct {
	io.Writer
	m *messages
}

func (a answers) Write(p []byte) (int, error) {
	var head struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(p, &head) == nil && head.Method == "" {
		a.m.asked.Add(-1)
	}
	n, err := a.Writer.Write(p)
	if err != nil {
		a.m.broken.Store(true)
	}
	return n, err
}
