package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	agents "mcp-toolset/internal/exec/agent"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/agent"
)

// inputs holds one call of each tool. A tool with "" prepares no call without a service.
var inputs = map[string]string{
	"Agent":            `{"description":"Find the parser","prompt":"x","subagent_type":"explore","name":"scout"}`,
	"AskUserQuestion":  `{"questions":[{"question":"Which?","header":"Colour","options":[{"label":"red","description":"r"},{"label":"blue","description":"b"}]}]}`,
	"Bash":             `{"command":"go test ./..."}`,
	"BashReadOnly":     `{"command":"go vet ./...","description":"Run the checks"}`,
	"Brief":            `{}`,
	"CallReadOnlyTool": `{"name":"Read"}`,
	"CallTool":         `{"name":"Read"}`,
	"Config":           `{"setting":"mode"}`,
	"CronCreate":       `{"cron":"0 9 * * *","prompt":"Look at the news"}`,
	"CronDelete":       `{"id":"c1"}`,
	"CronList":         `{}`,
	"Edit":             `{"file_path":"server/http.go","old_string":"a","new_string":"b"}`,
	"EnterPlanMode":    `{}`,
	"EnterWorktree":    `{"name":"fix"}`,
	"ExitPlanMode":     "",
	"ExitWorktree":     "",
	"Glob":             `{"pattern":"**/*.go"}`,
	"Grep":             `{"pattern":"TODO","path":"server"}`,
	"LSP":              `{"operation":"hover","filePath":"main.go","line":1,"character":1}`,
	"LSPApply":         "",
	"ListMcpResources": `{}`,
	"ListSessions":     `{}`,
	"Monitor":          `{"path":"app.log","description":"errors"}`,
	"NotebookEdit":     `{"notebook_path":"a.ipynb","new_source":"1"}`,
	"REPL":             `{"language":"python","code":"1+1"}`,
	"Read":             `{"file_path":"server/http.go"}`,
	"ReadMcpResource":  "",
	"RemoteTrigger":    `{"action":"list"}`,
	"SendMessage":      `{"to":"tester","message":"x","summary":"all passes"}`,
	"Skill":            `{"skill":"release"}`,
	"Sleep":            `{"duration_ms":90000}`,
	"SyntheticOutput":  "",
	"TaskCreate":       `{"subject":"Write tests","description":"x"}`,
	"TaskGet":          `{"taskId":"1"}`,
	"TaskInput":        `{"task_id":"b1","text":"y"}`,
	"TaskList":         `{}`,
	"TaskOutput":       `{"task_id":"b1"}`,
	"TaskStop":         `{"task_id":"b1"}`,
	"TaskUpdate":       `{"taskId":"1","status":"completed"}`,
	"TeamCreate":       `{"team_name":"red"}`,
	"TeamDelete":       `{"team_name":"red"}`,
	"TodoWrite":        `{"todos":[]}`,
	"ToolSearch":       `{"query":"files"}`,
	"Undo":             "",
	"WebFetch":         `{"url":"https://example.com/a"}`,
	"WebSearch":        `{"query":"go generics"}`,
	"Write":            `{"file_path":"a.txt","content":"x"}`,
}

// TestActivities compares the name and the activity text of each tool with a golden.
func TestActivities(t *testing.T) {
	dir := t.TempDir()
	env := &tools.Env{Session: session.New(session.Config{Roots: []string{dir}}).View(), Home: dir}
	var b strings.Builder
	o := Options{Agent: agent.Options{Agents: agents.New(agents.Options{ValidName: func(string) bool { return true }, Types: []agents.Type{{Name: "explore", Profile: &session.Profile{}}}})}}
	for _, tool := range List(o) {
		input, known := inputs[tool.Name]
		if !known {
			t.Errorf("%s has no input here", tool.Name)
		}
		if tool.Title == tool.Name {
			t.Errorf("%s has no title", tool.Name)
		}
		if input == "" {
			continue
		}
		call, err := tool.Parse([]byte(input))
		if err != nil {
			t.Errorf("%s: %v", tool.Name, err)
			continue
		}
		p, err := call.Prepare(env)
		if err != nil {
			t.Errorf("%s: %v", tool.Name, err)
			continue
		}
		doing, done := p.Activity(dir), p.Done(&tools.Response{}, dir)
		if doing == done {
			t.Errorf("%s: %q begins with no verb that the table has", tool.Name, p.Summary)
		}
		fmt.Fprintf(&b, "%s: %s | %s | %s\n", tool.Name, tool.Title, doing, done)
	}
	const golden = "testdata/activities.txt"
	got := strings.ReplaceAll(b.String(), filepath.Base(dir), "$ROOT")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("activities (-want +got):\n%s", diff)
	}
}
