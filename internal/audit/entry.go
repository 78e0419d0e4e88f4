// Package audit is the log of calls: one JSON line for each, written before
// the answer is sent.
//
// An Entry becomes a line in the caller's goroutine (redact.go, secret.go,
// assign.go take out what looks like a secret), one goroutine writes the lines
// in the order they came (writer.go), and the file is rotated by size and may
// be shared by several servers (file.go).
package audit

import (
	"encoding/json"
	"strconv"
	"time"
)

const (
	// mostText bounds a text that is not the input, in bytes: names, ids, rules.
	mostText = 4 << 10
	// mostHooks bounds the texts of hooks, and mostHook each of them in bytes.
	mostHooks = 32
	mostHook  = 1 << 10
)

// The outcomes of a call.
const (
	OK        = "ok"        // the tool answered
	Failed    = "failed"    // the tool gave an error
	Refused   = "refused"   // the decision was no
	Cancelled = "cancelled" // it was broken off
	Invalid   = "invalid"   // the input was never judged
	Asked     = "asked"     // its client was asked, and sends it again with the answer
)

// Entry is one call. As a line, texts are redacted and bounded, and what is
// empty is left out, but for the figures.
type Entry struct {
	Time       time.Time       `json:"time"`              // when it ended; the zero time is now
	Call       string          `json:"call,omitempty"`    // its id
	Parent     string          `json:"parent,omitempty"`  // id of the call that made it
	Session    string          `json:"session,omitempty"` //
	Principal  string          `json:"principal,omitempty"`
	Tool       string          `json:"tool,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`    // as it ran; what is not JSON becomes a string
	Original   string          `json:"original,omitempty"` // the text that a hook replaced
	Decision   Decision        `json:"decision,omitzero"`
	Hooks      []string        `json:"hooks,omitempty"` // what hooks did, a short text each
	DurationMS float64         `json:"duration_ms"`     // from arrival to answer
	Outcome    string          `json:"outcome,omitempty"`
	Bytes      int             `json:"bytes"` // of the result's text
	Error      string          `json:"error,omitempty"`
}

// Decision is what was decided on a call, and why.
type Decision struct {
	Behavior string `json:"behavior,omitempty"` // "allow", "ask" or "deny"
	Layer    string `json:"layer,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Source   string `json:"source,omitempty"` // file of the rule
	Line     int    `json:"line,omitempty"`   // in that file, from 1
	Reason   string `json:"reason,omitempty"`
}

// line is the entry as one line of JSON with its line break. It is at most
// some 300 KiB long, whatever the entry holds.
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
	b.text("principal", e.Principal)
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

// builder is a line that grows by fields.
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

// long adds a text of at most limit bytes; an empty one is left out.
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
