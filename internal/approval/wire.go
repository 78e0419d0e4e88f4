package approval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// The protocol at the socket: one connection, one question, which is a line of
// JSON, one answer, which is a JSON document cut into lines and ends with an
// empty one. No line is longer than maxMessage, in bytes.
const (
	maxMessage = 64 << 10
	// maxAnswer is more than what a server can hold takes: an input in base64, or
	// text whose every character is escaped.
	maxAnswer = 8 * maxHeld

	maxConnections = 16
	// connectionFor is how long a peer may take to ask, and again to read what is
	// short. A long answer has as much more as perByte gives it: 1 s per MiB, for
	// machines that do much else.
	connectionFor = 2 * time.Second
	perByte       = time.Second >> 20
)

// What a question is about.
const (
	doList    = "list" // all, or of one number
	doApprove = "approve"
	doDeny    = "deny"
	doLift    = "lift"
)

// question is what another process asks.
type question struct {
	Do     string `json:"do"`
	Number int    `json:"number,omitempty"`
	Always bool   `json:"always,omitempty"`
}

// answer is what it is told.
type answer struct {
	Refused  string    `json:"refused,omitempty"` // why nothing was done
	Fate     string    `json:"fate,omitempty"`    // what became of the number asked for
	Pending  []int     `json:"pending,omitempty"` // numbers
	Items    []Item    `json:"items,omitempty"`
	Declined []Refusal `json:"declined,omitempty"`
}

var errMessage = errors.New("the message is not understood")

// readQuestion reads a question, which is strict JSON of one line.
func readQuestion(r io.Reader) (question, error) {
	var q question
	line, err := readLine(bufio.NewReaderSize(r, maxMessage))
	if err != nil {
		return q, err
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return question{}, errMessage
	}
	if _, err := d.Token(); err != io.EOF {
		return question{}, errMessage
	}
	switch {
	case q.Number < 0, q.Always && q.Do != doApprove, q.Number == 0 && q.Do != doList:
		return question{}, errMessage
	}
	switch q.Do {
	case doList, doApprove, doDeny, doLift:
		return q, nil
	}
	return question{}, errMessage
}

// readLine reads one line of maxMessage bytes at most from a reader that has
// room for it.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, fmt.Errorf("a message is longer than %d bytes", maxMessage)
	}
	return line, err
}

// writeAnswer writes the document of an answer, which has no line breaks, in
// lines, and an empty one behind it.
func writeAnswer(w io.Writer, data []byte) error {
	out := bufio.NewWriterSize(w, maxMessage)
	for part := range slices.Chunk(data, maxMessage-1) {
		_, _ = out.Write(part)
		_ = out.WriteByte('\n')
	}
	_ = out.WriteByte('\n')
	return out.Flush() // which has the error of all
}

// readAnswer reads an answer of that many bytes at most.
func readAnswer(r io.Reader, most int) (answer, error) {
	var a answer
	var data []byte
	in := bufio.NewReaderSize(r, maxMessage)
	for {
		line, err := readLine(in)
		if err != nil {
			return a, err
		}
		if len(line) == 1 {
			return a, json.Unmarshal(data, &a)
		}
		if data = append(data, line[:len(line)-1]...); len(data) > most {
			return a, fmt.Errorf("the answer is longer than %d bytes", most)
		}
	}
}
