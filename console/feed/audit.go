package feed

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/record/audit"
	"mcp-toolset/internal/text/plain"
)

// maxEntries is the limit and the default of the entries of an answer.
const (
	maxEntries     = 500
	defaultEntries = 100
	// maxTitle is the limit of a title that is made of an input, in bytes.
	maxTitle = 200
)

type auditQuery struct {
	Q       string `json:"q"`
	Tool    string `json:"tool"`
	Outcome string `json:"outcome"`
	Before  int64  `json:"before"`
	Limit   int    `json:"limit"`
}

// Audit is a part of the audit log.
type Audit struct {
	Entries []Logged `json:"entries"`
	Counts  *Counts  `json:"counts"` // of all entries that the query selects; nil for a later part
	Next    int64    `json:"next"`   // before, for the next part; 0: there is none
	File    string   `json:"file"`
	Problem string   `json:"problem"` // why entries are missing; may be ""
}

// Logged is an entry of the audit log.
type Logged struct {
	Server   string  `json:"server,omitempty"` // set if several servers were asked
	Time     int64   `json:"time"`
	Client   string  `json:"client"`
	Session  string  `json:"session"`
	Tool     string  `json:"tool"`
	Title    string  `json:"title"`
	Decision string  `json:"decision"`
	Layer    string  `json:"layer"`
	Rule     string  `json:"rule"`
	Outcome  string  `json:"outcome"`
	MS       float64 `json:"ms"`
	Reason   string  `json:"reason"`
	Error    string  `json:"error"`
	Input    string  `json:"input"`
}

// Counts holds figures of calls.
type Counts struct {
	Calls  int      `json:"calls"`
	Denied int      `json:"denied"`
	Failed int      `json:"failed"`
	ByTool []ByTool `json:"byTool"`
}

// Add adds the figures of another log. A median becomes the average, a percentile the larger one.
func (c *Counts) Add(o *Counts) {
	c.Calls += o.Calls
	c.Denied += o.Denied
	c.Failed += o.Failed
	for _, t := range o.ByTool {
		i := slices.IndexFunc(c.ByTool, func(have ByTool) bool { return have.Tool == t.Tool })
		if i < 0 {
			c.ByTool = append(c.ByTool, t)
			continue
		}
		have := &c.ByTool[i]
		have.Median = (have.Median*float64(have.Calls) + t.Median*float64(t.Calls)) / float64(max(1, have.Calls+t.Calls))
		have.P95 = max(have.P95, t.P95)
		have.Calls += t.Calls
		have.Denied += t.Denied
		have.Failed += t.Failed
	}
	slices.SortStableFunc(c.ByTool, func(a, b ByTool) int { return b.Calls - a.Calls })
}

// ByTool holds figures of the calls of a tool. Median and P95 are times in ms.
type ByTool struct {
	Tool   string  `json:"tool"`
	Calls  int     `json:"calls"`
	Denied int     `json:"denied"`
	Failed int     `json:"failed"`
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
}

const noAudit = "This server writes no audit log. Start it with --audit FILE to have one."

func (l *Local) audit(_ context.Context, q auditQuery) (any, error) {
	out := Audit{Entries: []Logged{}, File: l.AuditFile}
	if l.Audit == nil {
		out.Problem = noAudit
		return out, nil
	}
	if q.Limit <= 0 {
		q.Limit = defaultEntries
	}
	query := audit.Query{Text: q.Q, Tool: q.Tool, Outcome: q.Outcome, Limit: min(q.Limit, maxEntries)}
	if q.Before > 0 {
		query.Before = time.UnixMilli(q.Before)
	}
	found, err := l.Audit(query)
	if err != nil {
		out.Problem = plain.Line(err.Error())
	} else if found.Cut {
		out.Problem = "The log is long: older entries were not looked at."
	}
	clients := l.auditClients()
	for i := range found.Entries {
		e := &found.Entries[i]
		out.Entries = append(out.Entries, Logged{
			"", ms(e.Time), clientName(e, clients), e.Session, e.Tool, titleOf(e.Input), e.Decision.Behavior, e.Decision.Layer, e.Decision.Rule, e.Outcome, e.DurationMS, e.Decision.Reason, e.Error, string(e.Input),
		})
	}
	if q.Before == 0 {
		out.Counts = &Counts{ByTool: []ByTool{}}
		for _, c := range found.Tools {
			out.Counts.Calls += c.Calls
			out.Counts.Denied += c.Denied
			out.Counts.Failed += c.Failed
			out.Counts.ByTool = append(out.Counts.ByTool, ByTool(c))
		}
	}
	out.Next = ms(found.Next)
	return out, nil
}

// auditClients returns the names of clients by the ids of their sessions in the audit log.
func (l *Local) auditClients() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]string{}
	for _, u := range l.sessions {
		out[l.Instance+"-"+u.view.ID] = nameOf(u.view)
	}
	return out
}

func clientName(e *audit.Entry, clients map[string]string) string {
	switch name := clients[e.Session]; {
	case e.Agent != "":
		return "agent " + e.Agent
	case name != "":
		return name
	}
	return e.Session
}

// titled lists the properties of inputs that describe a call best, in order of preference.
var titled = []string{"command", "file_path", "notebook_path", "path", "url", "query", "pattern", "task_id", "prompt"}

// titleOf returns one line on an input.
func titleOf(input json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return ""
	}
	for _, name := range titled {
		if text := stringOf(fields[name]); text != "" {
			line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
			return plain.Cut(line, maxTitle)
		}
	}
	return ""
}

func stringOf(raw json.RawMessage) (text string) {
	_ = json.Unmarshal(raw, &text)
	return text
}

// agreed returns the entries of calls that the user agreed to.
func (l *Local) agreed() ([]audit.Entry, error) {
	found, err := l.Audit(audit.Query{Text: `"layer":"approval"`, Outcome: audit.OK, Limit: maxEntries})
	return slices.DeleteFunc(found.Entries, func(e audit.Entry) bool {
		return e.Decision.Behavior != "allow" || e.Decision.Layer != "approval"
	}), err
}
