package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"mcp-toolset/internal/text/strictjson"
	"mcp-toolset/policy"
)

// output holds the decoded output of a hook. The zero value has no effect.
type output struct {
	decided  bool // before the call
	behavior policy.Behavior
	blocked  bool   // after the call
	reason   string // of the decision or block; "" if none was given
	input    json.RawMessage
	context  string
	replace  json.RawMessage
	message  string   // for the server's log
	ignored  []string // keys that have no effect
}

// parseOutput decodes a JSON object that a hook printed. If it returns an
// error, no part of the object has an effect. Unknown keys are not an error,
// because hooks are also written for other programs.
func parseOutput(event Event, text []byte) (output, error) {
	var o output
	top, err := readFields(text)
	if err != nil {
		return o, err
	}
	decision, reason := top.text("decision"), top.text("reason")
	goOn, given := top.boolean("continue")
	stop := top.text("stopReason")
	o.message = top.text("systemMessage")
	top.take("suppressOutput")
	if raw := top.take("hookSpecificOutput"); raw != nil && top.err == nil {
		top.err = o.specific(event, raw)
	}
	switch {
	case top.err != nil:
		return output{}, top.err
	case decision == "block":
		o.object(event, reason)
	case decision == "approve":
		o.decide(event, policy.Allow, reason)
	case decision != "":
		return output{}, fmt.Errorf(`decision is %q, want "approve" or "block"`, decision)
	}
	if given && !goOn {
		o.object(event, stop)
	}
	o.ignored = append(o.ignored, top.rest("")...)
	return o, nil
}

// specific decodes hookSpecificOutput.
func (o *output) specific(event Event, raw json.RawMessage) error {
	f, err := readFields(raw)
	if err != nil {
		return fmt.Errorf("hookSpecificOutput: %w", err)
	}
	name := f.text("hookEventName")
	o.context = f.text("additionalContext")
	var decision, reason string
	switch event {
	case PreToolUse:
		decision, reason = f.text("permissionDecision"), f.text("permissionDecisionReason")
		o.input = f.take("updatedInput")
	case PostToolUse:
		o.replace = f.take("updatedToolOutput")
	}
	switch {
	case f.err != nil:
		return fmt.Errorf("hookSpecificOutput: %w", f.err)
	case name != string(event):
		return fmt.Errorf("hookSpecificOutput: hookEventName is %q, want %q", name, event)
	case o.input != nil && o.input[0] != '{':
		return errors.New("hookSpecificOutput: updatedInput is not an object")
	}
	switch decision {
	case "":
	case policy.Allow.String():
		o.decide(event, policy.Allow, reason)
	case policy.Ask.String():
		o.decide(event, policy.Ask, reason)
	case policy.Deny.String():
		o.decide(event, policy.Deny, reason)
	default:
		return fmt.Errorf(`hookSpecificOutput: permissionDecision is %q, want "allow", "ask" or "deny"`, decision)
	}
	o.ignored = f.rest("hookSpecificOutput.")
	return nil
}

// object makes the hook deny the call, or block its result.
func (o *output) object(event Event, reason string) {
	if event == PreToolUse {
		o.decide(event, policy.Deny, reason)
		return
	}
	if !o.blocked || o.reason == "" {
		o.blocked, o.reason = true, reason
	}
}

// decide records a decision before the call. Of several decisions in one
// output, the most severe counts.
func (o *output) decide(event Event, b policy.Behavior, reason string) {
	if event != PreToolUse {
		return
	}
	if !o.decided || b < o.behavior || b == o.behavior && o.reason == "" {
		o.decided, o.behavior, o.reason = true, b, reason
	}
}

// fields holds the fields of a JSON object. Each can be taken once. A null
// counts as a missing field. The first error is stored.
type fields struct {
	raw map[string]json.RawMessage
	err error
}

// readFields decodes an object. Duplicate keys are an error, because which of
// them counts would be a guess.
func readFields(text []byte) (*fields, error) {
	raw, err := strictjson.Fields(text)
	return &fields{raw: raw}, err
}

func (f *fields) take(key string) json.RawMessage {
	value := f.raw[key]
	delete(f.raw, key)
	if string(value) == "null" {
		return nil
	}
	return value
}

// text takes a string, or "" if there is none.
func (f *fields) text(key string) string {
	var s string
	f.decode(key, &s, "a string")
	return s
}

// boolean takes a boolean. given reports whether there is one.
func (f *fields) boolean(key string) (value, given bool) {
	given = f.decode(key, &value, "a boolean")
	return value, given
}

func (f *fields) decode(key string, to any, want string) bool {
	raw := f.take(key)
	if raw == nil || f.err != nil {
		return false
	}
	if err := json.Unmarshal(raw, to); err != nil {
		f.err = fmt.Errorf("%s is not %s", key, want)
		return false
	}
	return true
}

// rest returns the keys that were not taken, with a prefix added.
func (f *fields) rest(prefix string) []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(f.raw)) {
		keys = append(keys, prefix+key)
	}
	return keys
}
