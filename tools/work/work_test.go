package work

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/exec/spool"
	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/worklist"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

func own() Options {
	return Options{Own: new(worklist.Memory), Server: "srv", Tasks: tasks.New(time.Now)}
}

// shared returns the options of a server whose sessions share the list "team" in a state
// folder.
func shared(state, server string) Options {
	o := own()
	o.Server = server
	o.Shared = worklist.NewShared(state, "team", filelock.New(filepath.Join(state, "locks")))
	return o
}

func TestOwnCases(t *testing.T) {
	toolstest.RunSeveral(t, func(*toolstest.Workspace) []*tools.Tool { return New(own()) }, "testdata/own")
}

func TestSharedCases(t *testing.T) {
	toolstest.RunSeveral(t, func(*toolstest.Workspace) []*tools.Tool {
		o := shared(filepath.Join(t.TempDir(), "state"), "srv")
		if err := o.Shared.Update(t.Context(), func(l *worklist.List) error {
			for _, subject := range []string{"First", "Second"} {
				if _, err := l.Create(worklist.Draft{Subject: subject}); err != nil {
					return err
				}
			}
			_, err := l.Update(worklist.Change{ID: "1", Status: worklist.InProgress}, "claude-code-other-1")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return New(o)
	}, "testdata/shared")
}

// client is a session of a server.
type client struct {
	t     *testing.T
	w     *toolstest.Workspace
	tools []*tools.Tool
}

func connect(t *testing.T, o Options, c session.Config, name string) *client {
	t.Helper()
	w := toolstest.NewWorkspace(t)
	w.Session = session.New(c)
	w.Session.SetClient(name)
	return &client{t, w, New(o)}
}

// do makes a call and returns the text of its answer or error.
func (c *client) do(tool, args string) string {
	c.t.Helper()
	resp := c.answer(tool, args)
	if resp == nil {
		return ""
	}
	return toolstest.Text(resp)
}

func (c *client) answer(tool, args string) *tools.Response {
	c.t.Helper()
	i := slices.IndexFunc(c.tools, func(t *tools.Tool) bool { return t.Name == tool })
	resp, err := c.w.Call(c.t.Context(), c.tools[i], args)
	if err != nil {
		return &tools.Response{Content: []tools.Content{tools.Text{Text: "error: " + err.Error()}}}
	}
	return resp
}

// want checks the answer to a call.
func (c *client) want(tool, args, want string) {
	c.t.Helper()
	if diff := cmp.Diff(want, c.do(tool, args)); diff != "" {
		c.t.Errorf("%s %s (-want +got):\n%s", tool, args, diff)
	}
}

const (
	add    = `{"subject": "a", "description": ""}`
	claim  = `{"taskId": "1", "status": "in_progress"}`
	give   = `{"taskId": "1", "status": "pending"}`
	empty  = "[there are no tasks: TaskCreate adds one]"
	others = ". Take another task; only if that owner has stopped, set this one to pending first."
)

// TestSessions checks that each session has its own list, that requests without a session
// have one together, and that a list is gone with its session.
func TestSessions(t *testing.T) {
	o := own()
	one, two := connect(t, o, session.Config{ID: "1", Principal: "p"}, "x"), connect(t, o, session.Config{ID: "2", Principal: "p"}, "x")
	one.want("TaskCreate", add, "Task 1 created: a")
	one.want("TaskUpdate", claim, "Task 1 updated [in_progress]: a")
	two.want("TaskList", "{}", empty)
	three, four := connect(t, o, session.Config{ID: "3", Principal: "p", Stateless: true}, ""), connect(t, o, session.Config{ID: "4", Principal: "p", Stateless: true}, "")
	three.want("TaskCreate", `{"subject": "b", "description": ""}`, "Task 1 created: b")
	four.want("TaskUpdate", claim, "Task 1 updated [in_progress]: b")
	four.want("TodoWrite", `{"todos": [{"content": "c", "status": "pending", "activeForm": "c"}]}`, "The list has 1 pending.")
	three.want("TaskList", "{}", "2 [pending] c")
	five := connect(t, o, session.Config{ID: "5", Principal: "p", Stateless: true}, "")
	five.w.Session.Narrow("handle")
	five.want("TaskList", "{}", empty)
	o.Own.Forget(one.w.Session.View().Owner())
	one.want("TaskList", "{}", empty)
	three.want("TaskList", "{}", "2 [pending] c")
}

// TestSharedSessions checks who owns what in a list that two servers share.
func TestSharedSessions(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	first, second := shared(state, "s1"), shared(state, "s2")
	one, two := connect(t, first, session.Config{ID: "1"}, "Claude Code (beta)"), connect(t, first, session.Config{ID: "2"}, "\u202e\n")
	three := connect(t, second, session.Config{ID: "1"}, "Claude Code (beta)")
	none := connect(t, second, session.Config{ID: "2", Stateless: true}, "")
	one.want("TaskCreate", add, "Task 1 created: a")
	two.want("TaskUpdate", claim, "Task 1 updated [in_progress, owner session-s1-2]: a")
	three.want("TaskUpdate", claim, "error: task 1 is in progress by session-s1-2"+others)
	two.want("TaskUpdate", give, "Task 1 updated [pending]: a")
	three.want("TaskUpdate", claim, "Task 1 updated [in_progress, owner Claude-Code-beta-s2-1]: a")
	one.want("TaskUpdate", claim, "error: task 1 is in progress by Claude-Code-beta-s2-1"+others)
	one.want("TaskUpdate", give, "Task 1 updated [pending]: a")
	const named = "error: the list is shared, and the call belongs to no session that could own the task. Give owner, a name of your own."
	none.want("TaskUpdate", claim, named)
	none.want("TaskUpdate", `{"taskId": "1", "status": "in_progress", "owner": ""}`, named)
	none.want("TaskUpdate", `{"taskId": "1", "status": "in_progress", "owner": "me"}`, "Task 1 updated [in_progress, owner me]: a")
	none.want("TodoWrite", `{"todos": []}`, "error: the list is shared, and the call belongs to no session whose entries it could replace. Use TaskCreate and TaskUpdate.")
	handle := connect(t, second, session.Config{ID: "3", Stateless: true}, "")
	handle.w.Session.Narrow("secret")
	handle.want("TaskUpdate", claim, "error: task 1 is in progress by me"+others)
	handle.want("TaskUpdate", give, "Task 1 updated [pending]: a")
	handle.want("TaskUpdate", claim, "Task 1 updated [in_progress, owner session-2bb80d537b]: a")
	handle.want("TodoWrite", `{"todos": []}`, "The list has 1 in_progress.")
	handle.want("TaskUpdate", give, "Task 1 updated [pending]: a")
	none.want("TaskUpdate", `{"taskId": "1", "status": "in_progress", "owner": "me"}`, "Task 1 updated [in_progress, owner me]: a")
	two.want("TodoWrite", `{"todos": [{"content": "b", "status": "in_progress", "activeForm": "b"}]}`, "The list has 2 in_progress.")
	one.want("TodoWrite", `{"todos": []}`, "The list has 2 in_progress.")
	// A server that starts later finds the same.
	late := connect(t, shared(state, "s3"), session.Config{ID: "1"}, "late")
	late.want("TaskList", "{}", "1 [in_progress, owner me] a\n2 [in_progress, owner session-s1-2] b")
	late.want("TaskCreate", add, "Task 3 created: a")
}

func TestLongTodo(t *testing.T) {
	c := connect(t, own(), session.Config{ID: "1"}, "")
	for name, args := range map[string]string{
		"content": `{"content": "%s", "status": "pending", "activeForm": "x"}`, "activeForm": `{"content": "x", "status": "pending", "activeForm": "%s"}`,
	} {
		args = fmt.Sprintf(args, strings.Repeat("é", 201))
		c.want("TodoWrite", `{"todos": [{"content": "x", "status": "pending", "activeForm": "x"}, `+args+`]}`, "error: todos[1]."+name+" has 201 characters, and the most is 200. Shorten it.")
	}
}

// TestData checks the data for programs.
func TestData(t *testing.T) {
	c := connect(t, own(), session.Config{ID: "1"}, "")
	for _, s := range []struct{ tool, args, data, meta string }{
		{"TaskList", `{}`, `{"tasks":[]}`, `{"mcp-toolset/items":[]}`},
		{"TaskCreate", `{"subject":"a","description":"d","activeForm":"f","metadata":{"n":12345678901234567890}}`,
			`{"task":{"id":"1","subject":"a","status":"pending"}}`, `{"mcp-toolset/item":{"id":"1","subject":"a","status":"pending"}}`},
		{"TaskCreate", add, `{"task":{"id":"2","subject":"a","status":"pending"}}`, `{"mcp-toolset/item":{"id":"2","subject":"a","status":"pending"}}`},
		{"TaskUpdate", `{"taskId":"1","owner":"bob","addBlockedBy":["2"]}`, `{"task":{"id":"1","subject":"a","status":"pending","owner":"bob","blockedBy":["2"]}}`,
			`{"mcp-toolset/item":{"id":"1","subject":"a","status":"pending","owner":"bob","blockedBy":["2"]}}`},
		{"TaskUpdate", `{"taskId":"2","status":"completed"}`, `{"task":{"id":"2","subject":"a","status":"completed"}}`, `{"mcp-toolset/item":{"id":"2","subject":"a","status":"completed"}}`},
		{"TaskGet", `{"taskId":"1"}`, `{"task":{"id":"1","subject":"a","description":"d","activeForm":"f","status":"pending","owner":"bob","blockedBy":["2"],"metadata":{"n":12345678901234567890}}}`,
			`{"mcp-toolset/item":{"id":"1","subject":"a","status":"pending","owner":"bob"}}`},
		{"TaskGet", `{"taskId":"2"}`, `{"task":{"id":"2","subject":"a","description":"","status":"completed","blocks":["1"]}}`, `{"mcp-toolset/item":{"id":"2","subject":"a","status":"completed"}}`},
		{"TaskUpdate", `{"taskId":"2","status":"deleted"}`, `{"task":{"id":"2","subject":"a","status":"deleted"}}`, `{"mcp-toolset/item":{"id":"2","subject":"a","status":"deleted"}}`},
		{"TodoWrite", `{"todos":[{"content":"b","status":"pending","activeForm":"b"}]}`, `{"tasks":[{"id":"3","subject":"b","status":"pending"}]}`, `{"mcp-toolset/items":[{"id":"3","subject":"b","status":"pending"}]}`},
	} {
		resp := c.answer(s.tool, s.args)
		if resp.Structured == nil {
			t.Fatal(toolstest.Text(resp))
		}
		data, err := resp.Structured()
		meta, metaErr := json.Marshal(resp.Meta)
		if err != nil || metaErr != nil || string(data) != s.data || string(meta) != s.meta {
			t.Errorf("%s %s:\ndata %s\nwant %s\nmeta %s\nwant %s", s.tool, s.args, data, s.data, meta, s.meta)
		}
	}
}

func TestDefinitions(t *testing.T) {
	for i, want := range []struct {
		name  string
		hints tools.Hints
		safe  bool
		args  string
	}{
		{"TaskCreate", tools.Hints{ReadOnly: true}, false, add},
		{"TaskGet", tools.Hints{ReadOnly: true, Idempotent: true}, true, `{"taskId": "1"}`},
		{"TaskUpdate", tools.Hints{ReadOnly: true, Idempotent: true}, false, claim},
		{"TaskList", tools.Hints{ReadOnly: true, Idempotent: true}, true, "{}"},
		{"TodoWrite", tools.Hints{ReadOnly: true, Idempotent: true}, false, `{"todos": []}`},
	} {
		tool := New(own())[i]
		if tool.Name != want.name || tool.Hints != want.hints || tool.Loading != tools.LoadDeferred {
			t.Errorf("%s, %+v, %v", tool.Name, tool.Hints, tool.Loading)
		}
		c, err := tool.Parse(json.RawMessage(want.args))
		if err != nil {
			t.Fatal(err)
		}
		if got := toolstest.Prepare(t, c, toolstest.NewWorkspace(t).Env()).Facts.ConcurrencySafe; got != want.safe {
			t.Errorf("%s may run beside others: %v", tool.Name, got)
		}
	}
}

// job is a background task that runs until done is closed.
type job struct{ done chan struct{} }

func (j job) Kind() string          { return "shell" }
func (j job) Title() string         { return "sleep 1000" }
func (j job) Done() <-chan struct{} { return j.done }
func (j job) Stop(string) error     { return nil }
func (j job) Output() *spool.Log    { return nil }
func (j job) Release()              {}
func (j job) Status() tasks.Status {
	select {
	case <-j.done:
		return tasks.Status{State: tasks.Completed}
	default:
		return tasks.Status{State: tasks.Running}
	}
}

// TestBackground checks the last line of TaskList, which counts the background tasks of the
// session.
func TestBackground(t *testing.T) {
	o := own()
	c := connect(t, o, session.Config{ID: "1"}, "")
	start := func(session string) job {
		j := job{make(chan struct{})}
		v := c.w.Session.View()
		v.ID = session
		if _, err := o.Tasks.Add(v.Owner(), j); err != nil {
			t.Fatal(err)
		}
		return j
	}
	start("2")
	c.want("TaskList", "{}", empty)
	first := start("1")
	c.want("TaskList", "{}", empty+"\n[1 background task is running: call TaskOutput]")
	start("1")
	c.want("TaskCreate", add, "Task 1 created: a")
	c.want("TaskList", "{}", "1 [pending] a\n[2 background tasks are running: call TaskOutput]")
	close(first.done)
	c.want("TaskList", "{}", "1 [pending] a\n[1 background task is running: call TaskOutput]")
}

// TestCancelled checks that a cancelled call on a shared list changes nothing.
func TestCancelled(t *testing.T) {
	o := shared(filepath.Join(t.TempDir(), "state"), "s")
	c := connect(t, o, session.Config{ID: "1"}, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.w.Call(ctx, c.tools[0], add); err != context.Canceled {
		t.Error(err)
	}
	c.want("TaskList", "{}", empty)
}
