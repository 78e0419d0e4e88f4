package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"mcp-toolset/internal/exec/spool"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/pipeline"
	"mcp-toolset/session"
)

const (
	// maxOutput is the limit of the text of a part of an output, in characters.
	maxOutput = 64 << 10
	// stopWait is the time in which a task is expected to end.
	stopWait = 5 * time.Second
)

// tasks returns the background tasks of all sessions.
func (l *Local) tasks() []Task {
	out := []Task{}
	if l.Tasks == nil {
		return out
	}
	for _, t := range l.Tasks.All() {
		s := t.Status()
		printed, _ := t.Output().Bytes()
		out = append(out, Task{
			ID: t.ID, Kind: t.Kind(), Title: t.Title(), Owner: l.clientOf(t.Owner()), Session: t.Owner().Session, State: string(s.State), Detail: s.Detail,
			Started: ms(s.Started), Ended: ms(s.Ended), Bytes: printed,
		})
	}
	return out
}

// clientOf returns the name of the client of an owner.
func (l *Local) clientOf(o session.Owner) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if u := l.sessions[o]; u != nil {
		return nameOf(u.view)
	}
	return o.Principal + "-" + o.Session
}

// nameOf returns the name of the client or agent of a session.
func nameOf(v session.View) string {
	return cmp.Or(v.Named(), "client "+v.ID)
}

type stopped struct {
	Call uint64 `json:"call"`
	Task string `json:"task"`
}

// stop stops a call or a task in the name of the user.
func (l *Local) stop(ctx context.Context, s stopped) (any, error) {
	switch {
	case s.Call != 0 && s.Task == "":
		if !l.Scheduler.Stop(s.Call, pipeline.ErrStopped) {
			return nil, &Error{http.StatusConflict, fmt.Sprintf("call %d has ended", s.Call), "Nothing is left to stop."}
		}
		return Done{fmt.Sprintf("Asked call %d to stop. A change of a file that has begun is finished first.", s.Call)}, nil
	case s.Task != "" && s.Call == 0:
		t, err := l.findTask(s.Task)
		if err != nil {
			return nil, err
		}
		ended := make(chan error, 1)
		go func() { ended <- l.Tasks.Stop(t) }()
		select {
		case err = <-ended:
		case <-time.After(stopWait):
			return Done{"Asked task " + t.ID + " to stop."}, nil
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, &Error{http.StatusInternalServerError, "the task could not be stopped: " + plain.Line(err.Error()), "Look whether it still runs, then try again."}
		}
		return Done{"Stopped task " + t.ID + "."}, nil
	}
	return nil, Invalid("the request names no call and no task, or both", "Reload the page.")
}

// findTask returns the task with an id.
func (l *Local) findTask(id string) (*task.Task, error) {
	if l.Tasks != nil {
		all := l.Tasks.All()
		if i := slices.IndexFunc(all, func(t *task.Task) bool { return t.ID == id }); i >= 0 {
			return all[i], nil
		}
	}
	return nil, missing("there is no task "+plain.Key(id)+" any more", "Look at the list of tasks; one that has ended is forgotten after an hour.")
}

type taskQuery struct {
	ID   string `json:"id"`
	From int64  `json:"from"` // negative: so many bytes before the end
}

// Output is a part of the output of a task.
type Output struct {
	Text    string `json:"text"`
	Next    int64  `json:"next"` // where the next part begins
	More    bool   `json:"more"` // whether more is available now
	Done    bool   `json:"done"` // whether the task has ended and this is the end
	Binary  bool   `json:"binary"`
	Missing int64  `json:"missing"` // bytes before the text that were not stored
}

func (l *Local) taskOutput(ctx context.Context, q taskQuery) (any, error) {
	t, err := l.findTask(q.ID)
	if err != nil {
		return nil, err
	}
	ended := t.Status().State != task.Running // before reading, so that the end is not missed
	if q.From < 0 {
		printed, _ := t.Output().Bytes()
		q.From = max(0, printed+q.From)
	}
	p, err := t.Output().Read(ctx, spool.Query{Offset: q.From, Max: maxOutput, Partial: true})
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, missing("the output of the task was removed", "Look at the session's calls instead.")
	case err != nil:
		return nil, err
	}
	return Output{p.Text, p.Next, p.More, ended && !p.More, p.Binary, p.Missing}, nil
}
