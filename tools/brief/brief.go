// Package brief provides the tool Brief, which summarizes a session from its records.
package brief

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/record/journal"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// Options holds the records that the tool reads. A call requires all of them.
type Options struct {
	Journal *journal.Journal
	Tasks   *task.Registry
	Items   func(context.Context, session.View) ([]string, error) // lines on the list of work
	// Narrate returns a paragraph by a model about a summary, framed as data, and the name of the
	// model. o pays. nil: there is no model.
	Narrate func(ctx context.Context, o session.Owner, summary string) (text, model string, err error)
}

// Input holds the arguments of Brief.
type Input struct {
	Since     string `json:"since,omitempty" jsonschema:"Number of a call, or a time: only later calls are summarized"`
	Narrative bool   `json:"narrative,omitempty" jsonschema:"Begin with a paragraph that the user's small model writes from the summary"`
}

// Output holds the result of Brief.
type Output struct {
	Calls int    `json:"calls" jsonschema:"Number of calls that are summarized"`
	Last  int    `json:"last" jsonschema:"Number of the last call, for since"`
	Text  string `json:"text" jsonschema:"The summary"`
}

//go:embed prompt.md
var prompt string

// New returns the tool Brief.
func New(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[Input, prepared, Output]{
		Name:              "Brief",
		Title:             "Summarize the session",
		Prompt:            prompt,
		Loading:           tools.LoadDeferred,
		Collects:          true,
		SearchHint:        "summary of session history files commands after compaction",
		Description:       func(prepared) string { return "Summarize the session" },
		IsReadOnly:        tools.Always[prepared](),
		IsConcurrencySafe: tools.Always[prepared](),
		IsIdempotent:      tools.Always[prepared](),
		IsOpenWorld:       tools.When(func(_ *tools.Env, in prepared) bool { return in.Narrative }),
		Prepare:           prepare,
		Call: func(ctx context.Context, env *tools.Env, in prepared) (tools.Result[Output], error) {
			owner := env.Session.Owner()
			s := summarize(in.after(o.Journal.Entries(owner)), env.Session.Dir)
			s.addTasks(o.Tasks.List(owner))
			items, err := o.Items(ctx, env.Session)
			if err != nil {
				items = []string{plain.Line(err.Error())}
			}
			s.add("List of work", 350, items)
			text := s.text()
			if in.Narrative {
				text = o.narrative(ctx, env, text) + text
			}
			return tools.Result[Output]{Data: Output{Calls: s.calls, Last: s.last, Text: text}, Private: true}, nil
		},
		Render: func(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.Text}} },
	})
}

// narrateTime is the timeout of a narrative. The call waits for it.
const narrateTime = 20 * time.Second

// narrative returns a paragraph by a model about a summary, or a line with the reason why there is none.
func (o Options) narrative(ctx context.Context, env *tools.Env, summary string) string {
	if o.Narrate == nil {
		return "[There is no narrative: no language model is configured.]\n"
	}
	ctx, cancel := context.WithTimeoutCause(ctx, narrateTime, fmt.Errorf("the model did not answer within %v", narrateTime))
	defer cancel()
	text, model, err := o.Narrate(ctx, env.Session.Payer(), summary)
	if err != nil {
		return "[There is no narrative: " + strings.TrimSuffix(plain.Line(err.Error()), ".") + ".]\n"
	}
	return fmt.Sprintf("[The model %s writes about the records below. It may be wrong.]\n%s\n", plain.Line(model), text)
}

// prepared is the input with since parsed. At most one of the fields is set.
type prepared struct {
	Input
	call int
	time time.Time
}

func prepare(_ *tools.Env, in Input) (prepared, error) {
	p := prepared{Input: in}
	if in.Since == "" {
		return p, nil
	}
	if n, err := strconv.Atoi(in.Since); err == nil && n >= 0 {
		p.call = n
		return p, nil
	}
	if at, err := time.Parse(time.RFC3339, in.Since); err == nil {
		p.time = at
		return p, nil
	}
	if at, err := time.ParseInLocation("15:04", in.Since, time.Local); err == nil {
		now := time.Now()
		p.time = time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), 0, 0, time.Local)
		if p.time.After(now) {
			p.time = p.time.AddDate(0, 0, -1)
		}
		return p, nil
	}
	return p, fault.New("since is "+plain.Line(strconv.Quote(in.Since))+", which is no number and no time", "Give the number at the end of an earlier summary, or a time such as 14:30 or 2026-01-31T14:30:00Z.")
}

// after returns the entries that the input selects, without those of Brief itself.
func (p prepared) after(all []journal.Entry) []journal.Entry {
	return slices.DeleteFunc(all, func(e journal.Entry) bool {
		return e.ID <= p.call || e.Time.Before(p.time) || e.Tool == "Brief"
	})
}
