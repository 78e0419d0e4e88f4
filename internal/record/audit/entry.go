// Package audit writes the audit log: one JSON line per call, written before
// the answer is sent.
//
// An Entry becomes a line in the caller's goroutine, where redact.go, secret.go
// and assign.go remove text that looks like a secret. One goroutine writes the
// lines in order of arrival (writer.go). The file is rotated by size and may be
// shared by several servers (file.go).
//
// A batch of lines is one write, and lines never change afterwards. Only rotation takes a
// lock, so a server that is stopped while rotating keeps no other from writing. A line
// that did not fit is cut off again, unless another server has written after it.
package audit

import (
	"encoding/json"
	"strconv"
	"time"
)

const (
	// mostText is the limit of a text other than the input, in bytes: names,
	// ids, rules.
	mostText = 4 << 10
	// mostHooks is the limit of the number of hook texts, and mostHook that of
	// each text in bytes.
	mostHooks = 32
	mostHook  = 1 << 10
)

// Outcomes of a call.
const (
	OK        = "ok"        // the tool answered
	Failed    = "failed"    // the tool returned an error
	Refused   = "refused"   // the decision was deny
	Cancelled = "cancelled" // the call was cancelled
	Invalid   = "invalid"   // the input was invalid, so there was no decision
	Permitted = "permitted" // allowed and not run: the program of an agent may do it by itself
	Asked     = "asked"     // the client was asked, and sends the call again with the answer
)

// Entry describes one call. In the log line, texts are redacted and truncated.
// Empty fields are left out, except numbers.
type Entry struct {
	Time       time.Time       `json:"time"`             // end of the call; the zero time means now
	Call       string          `json:"call,omitempty"`   // id of the call
	Parent     string          `json:"parent,omitempty"` // id of the call that made this one
	Session    string          `json:"session,omitempty"`
	Agent      string          `json:"agent,omitempty"` // name of the agent that made the call
	Principal  string          `json:"principal,omitempty"`
	User       string          `json:"user,omitempty"` // name of the principal, if its identity provider has one
	Tool       string          `json:"tool,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`    // as it ran; becomes a string if it is not JSON
	Original   string          `json:"original,omitempty"` // the text that a hook replaced
	Decision   Decision        `json:"decision,omitzero"`
	Hooks      []string        `json:"hooks,omitempty"` // a short text for each action of a hook
	DurationMS float64         `json:"duration_ms"`     // from arrival to answer
	Outcome    string          `json:"outcome,omitempty"`
	Bytes      int             `json:"bytes"` // size of the result's text
	Error      string          `json:"error,omitempty"`
}

// Decision describes the decision on a call, with its reason.
type Decision struct {
	Behavior string `json:"behavior,omitempty"` // "allow", "ask" or "deny"
	Layer    string `json:"layer,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Source   string `json:"source,omitempty"` // file of the rule
	Line     int    `json:"line,omitempty"`   // in that file, from 1
	Reason   string `json:"reason,omitempty"`
}

// line returns the entry as one line of JSON, including the line break. It is
// at most about 300 KiB long, whatever the entry holds.
func (e *Entry) line(now func() time.Time) []byte {
	at := e.Time
	if at.IsZero() {
		at = now()
	}
	b := builder(make([]byte, 0, 512+min(len(e.Input), mostInput)))
	b = append(b, `{"time":"`...)
	b = at.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = append(b, '"')
	b.text("call", e.Call)
	b.text("parent", e.Parent)
	b.text("session", e.Session)
	b.text("agent", e.Agent)
	b.text("principal", e.Principal)
	b.text("user", e.User)
	b.text("tool", e.Tool)
	if len(e.Input) > 0 {
		b.key("input")
		b = append(b, Redact(e.Input)...)
	}
	b.long("original", e.Original, mostString)
	if e.Decision != (Decision{}) {
		b.decision(e.Decision)
	}
	b.hooks(e.Hooks)
	b.key("duration_ms")
	b = strconv.AppendFloat(b, max(0, e.DurationMS), 'f', 3, 64)
	b.text("outcome", e.Outcome)
	b.number("bytes", e.Bytes)
	b.long("error", e.Error, mostString)
	return append(b, "}\n"...)
}

// builder is a line to which fields are appended.
type builder []byte

func (b *builder) key(name string) {
	if c := (*b)[len(*b)-1]; c != '{' && c != '[' {
		*b = append(*b, ',')
	}
	*b = append(*b, '"')
	*b = append(*b, name...)
	*b = append(*b, `":`...)
}

func (b *builder) number(name string, n int) {
	b.key(name)
	*b = strconv.AppendInt(*b, int64(n), 10)
}

func (b *builder) text(name, s string) { b.long(name, s, mostText) }

// long adds a text truncated to limit bytes. It leaves out an empty text.
func (b *builder) long(name, s string, limit int) {
	if s == "" {
		return
	}
	s, _ = redactText(s, limit)
	b.key(name)
	*b = appendQuoted(*b, s)
}

func (b *builder) decision(d Decision) {
	b.key("decision")
	*b = append(*b, '{')
	b.text("behavior", d.Behavior)
	b.text("layer", d.Layer)
	b.text("rule", d.Rule)
	b.text("source", d.Source)
	if d.Line != 0 {
		b.number("line", d.Line)
	}
	b.text("reason", d.Reason)
	*b = append(*b, '}')
}

func (b *builder) hooks(hooks []string) {
	if len(hooks) == 0 {
		return
	}
	b.key("hooks")
	*b = append(*b, '[')
	for i, hook := range hooks {
		if i > 0 {
			*b = append(*b, ',')
		}
		if i == mostHooks {
			*b = appendQuoted(*b, "and "+strconv.Itoa(len(hooks)-i)+" more")
			break
		}
		hook, _ = redactText(hook, mostHook)
		*b = appendQuoted(*b, hook)
	}
	*b = append(*b, ']')
}
