// Package classifier asks a program, a server on this machine or a model for an
// opinion on a call. The settings name it. If anything fails, it has no opinion: a
// failure is never a reason to allow or refuse a call.
package classifier

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/internal/text/strictjson"
	"mcp-toolset/policy"
	"mcp-toolset/session"
)

const (
	// mostAnswer is the limit of a stage's answer, in bytes.
	mostAnswer = 64 << 10
	// mostReason is the limit of a reason that is shown, in characters.
	mostReason = 300
)

var errLong = fmt.Errorf("it answered more than %d bytes", mostAnswer)

// Config holds the settings of a Classifier.
type Config struct {
	Stages []Stage      // classifiers in the order of asking; none means no opinion
	Log    *slog.Logger // receives reasons for a missing opinion; nil discards them
	// Model asks a model of the settings by its name, such as "small", and returns the text of its
	// answer. It is nil without models.
	Model func(ctx context.Context, name string, p Prompt) (string, error)
}

// Classifier asks for opinions. It stores nothing between questions and is safe
// for concurrent use.
type Classifier struct {
	stages []Stage
	log    *slog.Logger
	client *http.Client
	model  func(context.Context, string, Prompt) (string, error)
}

// Question describes the call to judge.
type Question struct {
	Tool    string `json:"tool"`    // its name
	Summary string `json:"summary"` // the input for users
	Input   string `json:"input"`   // the complete input for classifiers, as the tool presents it
	Mode    string `json:"mode"`    // the permission mode
	Dir     string `json:"cwd"`     // working directory of the session

	Owner session.Owner `json:"-"` // whose budgets pay for a model
}

// Answer is an opinion.
type Answer struct {
	Behavior policy.Behavior
	Reason   string // one line, safe to show, at most 300 characters; "" if none was given
	Stage    int    // the stage that gave it, from 1
}

// New returns a Classifier.
func New(c Config) *Classifier {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Classifier{stages: c.Stages, log: c.Log, client: newClient(), model: c.Model}
}

// Ask returns an opinion on a call, or false if there is none. It asks stages
// in order until one allows the call, and returns the last opinion. Ask takes
// at most the sum of the timeouts of its stages, and little more to end a
// command. A nil Classifier has no opinion.
func (c *Classifier) Ask(ctx context.Context, q Question) (answer Answer, ok bool) {
	if c == nil || len(c.stages) == 0 {
		return Answer{}, false
	}
	line, err := encode(q)
	if err != nil {
		c.log.Warn("the classifier was not asked", "tool", q.Tool, "error", err)
		return Answer{}, false
	}
	for i, stage := range c.stages {
		if ok && answer.Behavior == policy.Allow || ctx.Err() != nil {
			break
		}
		a, err := c.ask(ctx, stage, q, line)
		if err != nil && ctx.Err() != nil {
			break // the call was cancelled, which is no failure of the stage
		}
		if err != nil {
			c.log.Warn("the classifier has no opinion", "stage", i+1, "tool", q.Tool, "error", err)
			continue
		}
		a.Stage = i + 1
		answer, ok = a, true
	}
	return answer, ok
}

// encode returns the question as one line of JSON. Shell operators such as &
// and < are not escaped.
func encode(q Question) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(q); err != nil {
		return nil, fmt.Errorf("encoding the question: %w", err)
	}
	return b.Bytes(), nil
}

func (c *Classifier) ask(ctx context.Context, stage Stage, q Question, line []byte) (Answer, error) {
	limit := fmt.Errorf("it took longer than %v", stage.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, stage.Timeout, limit)
	defer cancel()
	var data []byte
	var err error
	switch {
	case len(stage.Command) > 0:
		data, err = run(ctx, stage, line)
	case stage.Model != "":
		data, err = c.askModel(ctx, stage, q, line)
	default:
		data, err = c.post(ctx, stage.URL, line)
	}
	switch {
	case ctx.Err() != nil:
		return Answer{}, context.Cause(ctx)
	case err != nil:
		return Answer{}, err
	}
	a, err := parse(data)
	if err != nil {
		return Answer{}, fmt.Errorf("reading the answer %s: %w", plain.Line(string(data[:min(len(data), 200)])), err)
	}
	if stage.Model == "small" && a.Behavior == policy.Deny { // it only passes calls on
		a.Behavior = policy.Ask
	}
	return a, nil
}

// parse decodes an answer: one object without unknown keys.
func parse(data []byte) (Answer, error) {
	fields, err := strictjson.Fields(data)
	if err != nil {
		return Answer{}, err
	}
	found := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if key != "decision" && key != "reason" {
			return Answer{}, fmt.Errorf("it has the key %s; only decision and reason may be there", plain.Line(key))
		}
		var text string
		if raw := fields[key]; raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
			return Answer{}, fmt.Errorf("its %s is not a string", key)
		}
		found[key] = text
	}
	for _, b := range []policy.Behavior{policy.Deny, policy.Ask, policy.Allow} {
		if found["decision"] == b.String() {
			return Answer{Behavior: b, Reason: shorten(found["reason"])}, nil
		}
	}
	return Answer{}, errors.New(`its decision is not "allow", "deny" or "ask"`)
}

// shorten makes a reason safe to show and truncates it.
func shorten(reason string) string {
	return plain.Cut(plain.Text(reason), mostReason)
}
