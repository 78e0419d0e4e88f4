package publish

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/exec/publish"
	"mcp-toolset/internal/exec/spool"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

func TestCases(t *testing.T) {
	toolstest.RunSeveral(t, func(*toolstest.Workspace) []*tools.Tool {
		ports := publish.New(publish.Options{Named: func(uint16) bool { return false }, Asks: func() bool { return true }, Events: event.New()})
		return []*tools.Tool{New(Options{Ports: ports, Tasks: task.New(time.Now)})}
	}, "testdata", func(text string) string { return text })
}

// job is a task that runs, with a network in which nothing listens.
type job struct {
	done chan struct{}
	err  error // of Listening
}

func (j job) Kind() string                                   { return "shell" }
func (j job) Title() string                                  { return "sleep 100" }
func (j job) Done() <-chan struct{}                          { return j.done }
func (j job) Status() task.Status                            { return task.Status{State: task.Running} }
func (j job) Stop(string) error                              { return nil }
func (j job) Output() *spool.Log                             { return nil }
func (j job) Release()                                       {}
func (j job) Network() task.Network                          { return j }
func (j job) Listening(context.Context) ([]uint16, error)    { return nil, j.err }
func (j job) Dial(context.Context, uint16) (net.Conn, error) { return nil, errors.ErrUnsupported }

// TestNothingListens checks the answers while no task listens on the port.
func TestNothingListens(t *testing.T) {
	for want, err := range map[string]error{
		"No background task listens on port 5173 yet. It is published when one does, and an event names the address.": nil,
		"the ports of the background tasks cannot be listed: no thread. Try again.":                                   errors.New("no thread"),
	} {
		w, tasks := toolstest.NewWorkspace(t), task.New(time.Now)
		if _, err := tasks.Add(session.Owner{Session: "test"}, job{make(chan struct{}), err}); err != nil {
			t.Fatal(err)
		}
		ports := publish.New(publish.Options{Named: func(uint16) bool { return false }, Asks: func() bool { return true }, Events: event.New()})
		resp, failed := w.Call(t.Context(), New(Options{Ports: ports, Tasks: tasks}), `{"port":5173}`)
		got := ""
		if failed != nil {
			got = failed.Error()
		} else {
			got = toolstest.Text(resp)
		}
		if got != want || (failed != nil) != (err != nil) {
			t.Errorf("%s, not %s", got, want)
		}
	}
}
