package brief

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/internal/record/journal"
	"mcp-toolset/internal/record/undo"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

func code(n int) tools.Did { return tools.Did{ExitCode: &n} }

func TestBrief(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	items := []string{}
	o := Options{Journal: journal.New(), Tasks: task.New(time.Now), Items: func(context.Context, session.View) ([]string, error) {
		if items == nil {
			return nil, errors.New("the list is damaged")
		}
		return items, nil
	}}
	mode := "default"
	var waiting, scheduled []string
	var net []undo.Net
	o.Mode = func(session.View) string { return mode }
	o.Waiting = func(session.View) []string { return slices.Clone(waiting) }
	o.Later = func(session.View) []string { return slices.Clone(scheduled) }
	o.Changes = func(_ session.View, since time.Time) ([]undo.Net, error) { return net, nil }
	tool := New(o)
	call := func(arguments, want string) {
		t.Helper()
		resp, err := w.Call(t.Context(), tool, arguments)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = toolstest.Text(resp)
		}
		if want = strings.ReplaceAll(want, "$NOW", "Now: in "+w.Root+"; mode "+mode+".\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", arguments, got, want)
		}
	}
	call(`{}`, "$NOWThere were no calls.")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	for i, e := range []journal.Entry{
		{Tool: "Read", Title: "Read a.go", Path: w.Root + "/a.go", ReadOnly: true},
		{Tool: "Glob", Title: "Find *.go", Path: w.Root, ReadOnly: true},
		{Tool: "Edit", Title: "Edit a.go", Path: w.Root + "/a.go", Did: tools.Did{Added: 3, Removed: 1}},
		{Tool: "Write", Title: "Write b.go", Path: w.Root + "/b.go", Did: tools.Did{Created: true, Added: 20}},
		{Tool: "Edit", Title: "Edit a.go", Path: w.Root + "/a.go", Did: tools.Did{Added: 1}},
		{Tool: "Bash", Title: "Run the tests: go test", Outcome: audit.Failed, Did: code(1)},
		{Tool: "Bash", Title: "serve", Did: tools.Did{Task: "k3x9ab"}},
		{Tool: "Edit", Title: "Edit /etc/passwd", Path: "/etc/passwd", Outcome: audit.Refused, Reason: "the user declined"},
		{Tool: "Write", Title: "Write /tmp/x", Path: "/tmp/x", Agreed: true, Did: tools.Did{Created: true}},
		{Tool: "Brief", Title: "Summarize the session", ReadOnly: true},
		{Tool: "Read", Title: "Read nothing", Path: w.Root + "/nothing", ReadOnly: true, Outcome: audit.Failed, Reason: "no such file"},
		{Tool: "AskUserQuestion", Title: "Ask about Library", ReadOnly: true, Did: tools.Did{Answer: "Library: B; Systems: Linux"}},
	} {
		e.Time = at.Add(time.Duration(i) * time.Minute)
		if e.Outcome == "" {
			e.Outcome = audit.OK
		}
		o.Journal.Add(w.Session.View().Owner(), e)
	}
	const commands = `Commands:
- 03:09:05 Run the tests: go test: exit code 1
- 03:10:05 serve: task k3x9ab
`
	const rest = `Failed:
- 03:14:05 Read nothing: no such file
Refused:
- 03:11:05 Edit /etc/passwd: the user declined
Allowed by the user:
- 03:12:05 Write /tmp/x
Answers of the user:
- 03:15:05 AskUserQuestion: Library: B; Systems: Linux
`
	const last = "[the last call is number 12; since 12 summarizes later ones]"
	call(`{}`, `$NOW11 calls from 2026-01-02 03:04:05 on.
Changed, the latest last:
- b.go created, +20 -0
- a.go +4 -1 in 2 changes
- /tmp/x created, +0 -0
`+commands+rest+`Read, the latest last:
- a.go
`+last)
	const later = `$NOW6 calls from 2026-01-02 03:09:05 on.
Changed, the latest last:
- /tmp/x created, +0 -0
` + commands + rest + last
	call(`{"since":"5"}`, later)
	call(`{"since":"`+at.Add(5*time.Minute).Format(time.RFC3339)+`"}`, later)
	call(`{"since":"12"}`, "$NOWThere were no calls.")
	items = []string{"1 [pending] a", "2 [completed] b"}
	call(`{"since":"12"}`, "$NOWList of work:\n- 1 [pending] a\n- 2 [completed] b\nThere were no calls.")
	items = nil
	call(`{"since":"12"}`, "$NOWList of work:\n- the list is damaged\nThere were no calls.")
	items = []string{}
	mode, waiting, scheduled = "plan", []string{"approval 7: Write /etc/x"}, []string{"schedule 1 [*/5 * * * *] check"}
	net = []undo.Net{{Path: w.Root + "/use.ts", What: "deleted", Number: 4}, {Path: w.Root + "/a.go", Undone: true}, {Path: w.Root + "/b.go", What: "changed", Undone: true}, {Path: w.Root + "/gone", Undone: true}}
	call(`{"since":"3"}`, `$NOWWaits for the user:
- approval 7: Write /etc/x
Schedules and triggers:
- schedule 1 [*/5 * * * *] check
8 calls from 2026-01-02 03:07:05 on.
Changed, the latest last:
- b.go changed
- /tmp/x created, +0 -0
- use.ts deleted (undo 4)
`+commands+rest+last)
	call(`{"since":"yesterday"}`, `since is "yesterday", which is no number and no time. Give the number at the end of an earlier summary, or a time such as 14:30 or 2026-01-31T14:30:00Z.`)
}

// TestLimit checks that a summary of many calls has at most maxText characters.
func TestLimit(t *testing.T) {
	var all []journal.Entry
	for i := range 5000 {
		e := journal.Entry{ID: i + 1, Tool: "Bash", Title: strings.Repeat("é", 1+i%700), Outcome: audit.OK, Reason: strings.Repeat("x", 600), Agreed: true, ReadOnly: i%2 == 0}
		switch i % 4 {
		case 0:
			e.Did = code(i)
		case 1:
			e.Outcome = audit.Refused
		case 2:
			e.Outcome = audit.Failed
		case 3:
			e.Tool, e.Path = "Read", fmt.Sprintf("/%0300d", i)
			e.ReadOnly = i%8 == 3
		}
		if i%5 == 0 {
			e.Did.Answer = strings.Repeat("z", 400)
		}
		all = append(all, e)
	}
	s := newSummary(all, "/")
	s.now(session.View{Dir: "/" + strings.Repeat("w", 500)}, "default")
	for _, title := range []string{"Waits for the user", "Schedules and triggers"} {
		s.add(title, 250, slices.Repeat([]string{strings.Repeat("z", 60)}, 50))
	}
	s.addCalls(all, nil)
	s.add("List of work", 300, slices.Repeat([]string{strings.Repeat("z", 60)}, 50))
	s.add("Background tasks", 300, []string{strings.Repeat("x", 1000), strings.Repeat("y", 1000)})
	text := s.text()
	if n := utf8.RuneCountInString(text); n > maxText || n < maxText/2 {
		t.Errorf("%d characters:\n%s", n, text)
	}
	if !strings.Contains(text, "earlier ones left out") || !strings.HasSuffix(text, "[the last call is number 5000; since 5000 summarizes later ones]") {
		t.Error(text)
	}
}
