package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"mcp-toolset/internal/text/strictjson"
	"mcp-toolset/pipeline"
)

// maxLine is the limit of a call to explain, in bytes. Longer lines are read but not stored.
const maxLine = 1 << 20

var errTooLong = fmt.Errorf("the call is too long: more than %d bytes", maxLine)

// batch explains each line of a stream, in order. Every line gets one answer, whatever it holds.
func (x *explainer) batch(ctx context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan line)
	go readLines(ctx, in, lines) // a read cannot be interrupted, waiting for it can
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case l := <-lines:
			switch {
			case errors.Is(l.err, io.EOF):
				return nil
			case l.err != nil:
				return fmt.Errorf("reading calls: %w", l.err)
			}
			if err := x.print(ctx, x.line(ctx, l)); err != nil {
				return err
			}
		}
	}
}

func (x *explainer) line(ctx context.Context, l line) (e pipeline.Explanation) {
	if l.long {
		notACall(&e, errTooLong)
		return e
	}
	tool, input, err := parseCall(l.text)
	if err != nil {
		notACall(&e, err)
		return e
	}
	return x.explain(ctx, tool, input)
}

// parseCall parses {"tool": ..., "input": ...}. The keys are case-sensitive and must not occur
// twice: the explanation must be about the call that any other reader would run. The tool parses
// its input as strictly. Without an input the call has no arguments.
func parseCall(text []byte) (tool string, input json.RawMessage, err error) {
	values, _, err := readKeys(text, "tool", "input")
	if err != nil {
		return "", nil, err
	}
	name := values["tool"]
	switch {
	case name == nil:
		return "", nil, errNoTool
	case name[0] != '"' || json.Unmarshal(name, &tool) != nil:
		return "", nil, errors.New("the tool is not a string")
	}
	return tool, values["input"], nil
}

var errNoTool = errors.New(`the line names no tool; write {"tool": NAME, "input": {...}}`)

// readKeys returns the values of the given keys of an object, each of which may occur once, and the
// names of the other keys.
func readKeys(text []byte, keys ...string) (values map[string]json.RawMessage, others []string, err error) {
	if !utf8.Valid(text) {
		return nil, nil, errors.New("the line is not UTF-8")
	}
	list, err := strictjson.Members(text)
	if e, bad := errors.AsType[*strictjson.Error](err); bad && e.Kind == strictjson.NotObject {
		return nil, nil, errors.New(`the line is not an object; write {"tool": NAME, "input": {...}}`)
	}
	if err != nil {
		return nil, nil, errors.New(strictjson.Describe(err, "the line"))
	}
	values = map[string]json.RawMessage{}
	for _, m := range list {
		switch {
		case !slices.Contains(keys, m.Key):
			others = append(others, m.Key)
		case values[m.Key] != nil:
			return nil, nil, fmt.Errorf("the key %q is given twice", m.Key)
		default:
			values[m.Key] = text[m.From:m.To]
		}
	}
	return values, others, nil
}

// line holds a line without its line ending. If err is set, there is no line.
type line struct {
	text []byte
	long bool // whether it exceeds maxLine; text is then empty
	err  error
}

// readLines sends lines until one has an err or ctx ends. The last line it sends has the err.
func readLines(ctx context.Context, in io.Reader, lines chan<- line) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		l := readLine(r)
		select {
		case lines <- l:
		case <-ctx.Done():
			return
		}
		if l.err != nil {
			return
		}
	}
}

// readLine reads up to the end of a line. It also returns a last line without a line ending, unless
// that is empty.
func readLine(r *bufio.Reader) (l line) {
	for begun := false; ; begun = true {
		part, err := r.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		last := errors.Is(err, io.EOF) && (begun || len(part) > 0)
		if err != nil && !more && !last {
			return line{err: err}
		}
		part = bytes.TrimSuffix(part, []byte("\n"))
		if l.long = l.long || len(l.text)+len(part) > maxLine; l.long {
			l.text = nil
		} else {
			l.text = append(l.text, part...)
		}
		if !more {
			return l
		}
	}
}
