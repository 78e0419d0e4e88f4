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

	"mcp-toolset/internal/consent/question"
	"mcp-toolset/internal/consent/socket"
)

// The protocol of the socket: each connection carries one command and one
// answer. A command is a line of JSON. An answer is a JSON document, split
// into lines and terminated by an empty line. No line is longer than
// maxMessage, in bytes.
const (
	maxMessage = socket.MaxLine
	// maxAnswer is the limit of an answer, in bytes. It exceeds the size of
	// everything a server can hold, even with inputs in base64 and every
	// character of text escaped.
	maxAnswer = 8 * maxHeld

	// connectionFor is the timeout for a peer to read a short answer. perByte adds 1 s per MiB for
	// a long answer, for busy machines.
	connectionFor = 2 * time.Second
	perByte       = time.Second >> 20
)

// Operations of a command.
const (
	doList    = "list" // all, or those of one number
	doApprove = "approve"
	doDeny    = "deny"
	doReply   = "reply"
	doLift    = "lift"
)

// command is a request of another process.
type command struct {
	Do     string         `json:"do"`
	Number int            `json:"number,omitempty"`
	Always bool           `json:"always,omitempty"`
	Reply  question.Reply `json:"reply,omitzero"`   // to questions, with doReply
	Reason string         `json:"reason,omitempty"` // for the model, with doDeny
}

// answer is the answer to a question.
type answer struct {
	Refused  string    `json:"refused,omitempty"` // why nothing was done
	Fate     string    `json:"fate,omitempty"`    // outcome of the number asked for
	Pending  []int     `json:"pending,omitempty"` // numbers of pending approvals
	Items    []Item    `json:"items,omitempty"`
	Declined []Refusal `json:"declined,omitempty"`
}

var errMessage = errors.New("the message is not understood")

// parseCommand parses a command. It rejects unknown fields and invalid
// combinations.
func parseCommand(line []byte) (command, error) {
	var q command
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return command{}, errMessage
	}
	if _, err := d.Token(); err != io.EOF {
		return command{}, errMessage
	}
	switch {
	case q.Number < 0, q.Always && q.Do != doApprove, q.Reason != "" && q.Do != doDeny, q.Number == 0 && q.Do != doList:
		return command{}, errMessage
	}
	switch q.Do {
	case doList, doApprove, doDeny, doReply, doLift:
		return q, nil
	}
	return command{}, errMessage
}

// writeAnswer writes an answer in lines, followed by an empty line. data must
// not contain line breaks.
func writeAnswer(w io.Writer, data []byte) error {
	out := bufio.NewWriterSize(w, maxMessage)
	for part := range slices.Chunk(data, maxMessage-1) {
		_, _ = out.Write(part)
		_ = out.WriteByte('\n')
	}
	_ = out.WriteByte('\n')
	return out.Flush() // returns the error of any write
}

// readAnswer reads an answer of up to most bytes.
func readAnswer(r io.Reader, most int) (answer, error) {
	var a answer
	var data []byte
	in := bufio.NewReaderSize(r, maxMessage)
	for {
		line, err := socket.ReadLine(in)
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
