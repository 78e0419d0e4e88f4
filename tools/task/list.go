package task

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

const (
	// mostEnded is the limit of ended tasks in a list: those that ended last.
	mostEnded = 50
	// maxTitle is the limit of a title, in characters.
	maxTitle = 200
)

// Entry describes one task.
type Entry struct {
	TaskID   string `json:"task_id" jsonschema:"The task"`
	Kind     string `json:"kind" jsonschema:"Kind of task, such as shell"`
	Title    string `json:"title" jsonschema:"What it runs"`
	Status   string `json:"status" enum:"running,completed,failed,stopped,timed out" jsonschema:"Status of the task"`
	Detail   string `json:"detail" jsonschema:"The same in a few words"`
	ExitCode *int   `json:"exit_code,omitempty" jsonschema:"Its exit code, if it ended with one"`
}

// list answers a call of TaskOutput without task_id with tasks in start order.
func list(all []*tasks.Task, now time.Time) tools.Result[Output] {
	states := make([]tasks.Status, len(all))
	var ended []time.Time
	for i, t := range all {
		if states[i] = t.Status(); states[i].State != tasks.Running {
			ended = append(ended, states[i].Ended)
		}
	}
	var first time.Time // tasks that ended before are left out
	if over := len(ended) - mostEnded; over > 0 {
		slices.SortFunc(ended, time.Time.Compare)
		first = ended[over]
	}
	entries, left := []Entry{}, 0
	var b strings.Builder
	for i, t := range all {
		s := states[i]
		detail := how(s, now)
		if s.State != tasks.Running {
			if s.Ended.Before(first) {
				left++
				continue
			}
			if !s.Ended.IsZero() {
				detail += ", ended " + duration(now.Sub(s.Ended)) + " ago"
			}
		}
		e := Entry{TaskID: t.ID, Kind: t.Kind(), Title: title(t), Status: string(s.State), Detail: detail, ExitCode: exitCode(s)}
		entries = append(entries, e)
		fmt.Fprintf(&b, "%s %s, %s: %s\n", e.TaskID, e.Kind, e.Detail, e.Title)
	}
	if left > 0 {
		fmt.Fprintf(&b, "[left out: %d that ended earlier]\n", left)
	}
	if len(all) == 0 {
		b.WriteString("[there are no background tasks]\n")
	}
	text := strings.TrimSuffix(b.String(), "\n")
	return tools.Result[Output]{Data: Output{Output: text, Tasks: entries, text: text}, Meta: map[string]any{MetaTasks: entries}}
}

// title returns a task's title in one line, truncated to maxTitle.
func title(t *tasks.Task) string {
	text := plain.Text(t.Title())
	if utf8.RuneCountInString(text) <= maxTitle {
		return text
	}
	return string([]rune(text)[:maxTitle-1]) + "…"
}

// notes returns the notes of a status, one per line.
func notes(s tasks.Status) string {
	var b strings.Builder
	for _, n := range s.Notes {
		b.WriteString("[" + plain.Line(n) + "]\n")
	}
	return b.String()
}
