package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
)

const (
	// maxTable is the limit of a table, in bytes. It exceeds any table that users write.
	maxTable = 10 << 20
	// maxWrong is the limit of malformed lines shown.
	maxWrong = 20
)

var (
	rowKeys   = []string{"tool", "input", "expect", "layer", "rule", "why"}
	behaviors = []string{policy.Allow.String(), policy.Ask.String(), policy.Deny.String()}
	// rowLayers lists the layers that can decide when no hook, classifier or user is asked.
	rowLayers = []string{
		policy.LayerRule, policy.LayerPath, policy.LayerSite, policy.LayerMode, policy.LayerReadOnly, policy.LayerDefault, policy.LayerTool, policy.LayerSandbox, policy.LayerInput,
	}
)

// expectation is a row of a table: a call and the expected decision.
type expectation struct {
	line   int // 1-based
	tool   string
	input  json.RawMessage
	expect string
	layer  string  // "" accepts any
	rule   *string // exact text; nil accepts any
	why    string
}

// met reports whether a decision is as expected. An invalid call was not decided on, so it meets
// only an expectation with the layer input.
func (x *expectation) met(e pipeline.Explanation) bool {
	d := e.Decision
	switch {
	case e.Error != "" && x.layer != policy.LayerInput:
		return false
	case x.expect != d.Behavior.String(), x.layer != "" && x.layer != d.Layer, x.rule != nil && *x.rule != d.Rule:
		return false
	}
	return true
}

// wanted describes the expectation.
func (x *expectation) wanted() string {
	text := x.expect
	if x.layer != "" {
		text += " by the layer " + x.layer
	}
	switch {
	case x.rule == nil:
	case *x.rule == "":
		text += " by no rule"
	default:
		text += " by the rule " + plain.Line(*x.rule)
	}
	return text
}

// malformed holds the error of a line.
type malformed struct {
	line int
	err  error
}

// readTable reads a whole table. err is set if it could not be read.
func readTable(ctx context.Context, in io.Reader) (rows []expectation, wrong []malformed, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	bounded := &io.LimitedReader{R: in, N: maxTable + 1}
	lines := make(chan line)
	go readLines(ctx, bounded, lines) // a read cannot be interrupted, waiting for it can
	for number := 1; ; number++ {
		var l line
		select {
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case l = <-lines:
		}
		switch {
		case errors.Is(l.err, io.EOF):
			return ended(rows, wrong, bounded.N)
		case l.err != nil:
			return nil, nil, l.err
		}
		row, err := readRow(l)
		switch {
		case err != nil:
			wrong = append(wrong, malformed{number, err})
		case row != nil:
			row.line = number
			rows = append(rows, *row)
		}
	}
}

var errNoRows = errors.New("there is no row in it")

// ended returns the result of readTable at the end of the input. left is the number of bytes left
// of the limit.
func ended(rows []expectation, wrong []malformed, left int64) ([]expectation, []malformed, error) {
	switch {
	case left == 0:
		return nil, nil, fmt.Errorf("it is longer than %d bytes", maxTable)
	case len(rows)+len(wrong) == 0:
		return nil, nil, errNoRows // the test would pass whatever is decided
	}
	return rows, wrong, nil
}

// readRow parses a line. It returns nil for an empty line or a comment. It rejects lines that
// another reader could understand differently.
func readRow(l line) (*expectation, error) {
	text := bytes.TrimSpace(l.text)
	switch {
	case l.long:
		return nil, fmt.Errorf("the line has more than %d bytes", maxLine)
	case len(text) == 0, text[0] == '#':
		return nil, nil
	}
	values, others, err := readKeys(text, rowKeys...)
	if err != nil {
		return nil, err
	}
	if len(others) > 0 {
		return nil, unknownKey(others[0])
	}
	x := &expectation{input: values["input"]}
	rule := ""
	for _, s := range []struct {
		key string
		to  *string
	}{{"tool", &x.tool}, {"expect", &x.expect}, {"layer", &x.layer}, {"rule", &rule}, {"why", &x.why}} {
		value := values[s.key]
		if value != nil && (value[0] != '"' || json.Unmarshal(value, s.to) != nil) {
			return nil, fmt.Errorf("%s is not a string", s.key)
		}
	}
	if values["rule"] != nil {
		x.rule = &rule
	}
	return x, x.check(values["layer"] != nil)
}

// check returns an error for a row that has no meaning.
func (x *expectation) check(layered bool) error {
	switch {
	case x.tool == "":
		return errNoTool
	case x.input != nil && x.input[0] != '{':
		return errors.New("input is not an object")
	case !slices.Contains(behaviors, x.expect):
		return fmt.Errorf("expect is %q; use %s", x.expect, strings.Join(behaviors, ", "))
	case layered && !slices.Contains(rowLayers, x.layer):
		return fmt.Errorf("layer is %q; what can decide here is %s", x.layer, strings.Join(rowLayers, ", "))
	}
	return nil
}

func unknownKey(key string) error {
	if near := nearest.Names(key, rowKeys, 1); len(near) == 1 {
		return fmt.Errorf("there is no key %q; did you mean %s?", key, near[0])
	}
	return fmt.Errorf("there is no key %q; there are %s", key, strings.Join(rowKeys, ", "))
}
