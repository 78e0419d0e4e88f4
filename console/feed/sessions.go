package feed

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"mcp-toolset/internal/record/undo"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

// maxSets is the limit of change sets of a session that are shown.
const maxSets = 500

// list returns the sessions, in order of their first use.
func (l *Local) list() []Session {
	l.mu.Lock()
	all := make([]*used, 0, len(l.sessions))
	for _, u := range l.sessions {
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b *used) int { return cmp.Or(a.since.Compare(b.since), strings.Compare(a.view.ID, b.view.ID)) })
	out := []Session{}
	for _, u := range all {
		v := u.view
		if last := l.Journal.Last(v.Owner()); last != u.last {
			u.last, u.files = last, l.files(v.Owner())
		}
		root := ""
		if len(v.Roots) > 0 {
			root = v.Roots[0]
		}
		out = append(out, Session{
			ID: v.Owner().Session, Client: nameOf(v), Root: root, Roots: v.Roots, Dir: v.Dir, Mode: l.modeOf(v), Calls: u.last, Files: u.files, Since: ms(u.since),
		})
	}
	l.mu.Unlock()
	return out
}

// modeOf returns the permission mode of a session.
func (l *Local) modeOf(v session.View) string {
	switch {
	case v.Planning:
		return "plan"
	case v.AcceptEdits:
		return "acceptEdits"
	}
	return l.Mode
}

// files returns the number of files that the calls of an owner have changed.
func (l *Local) files(o session.Owner) int {
	paths := map[string]bool{}
	for _, e := range l.Journal.Entries(o) {
		if e.Path != "" && !e.ReadOnly && e.Outcome == "ok" {
			paths[e.Path] = true
		}
	}
	return len(paths)
}

// find returns the owner and the view of the session with an id.
func (l *Local) find(id string) (o session.Owner, v session.View, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for o, u := range l.sessions {
		if o.Session == id {
			return o, u.view, nil
		}
	}
	return o, v, missing("session "+plain.Key(id)+" has ended", "Look at the list of sessions.")
}

type sessionQuery struct {
	ID string `json:"id"`
}

// History describes the past of a session.
type History struct {
	Calls   []Past   `json:"calls"`
	Changes []Change `json:"changes"`
	Work    []Work   `json:"work"`
	Events  []Event  `json:"events"`
	Problem string   `json:"problem"` // why something is missing; may be ""
}

// Past is a call that has ended.
type Past struct {
	ID       int    `json:"id"`
	Time     int64  `json:"time"`
	Tool     string `json:"tool"`
	Title    string `json:"title"`
	Path     string `json:"path"`
	ReadOnly bool   `json:"readOnly"`
	Outcome  string `json:"outcome"`
	Reason   string `json:"reason"`
	Agreed   bool   `json:"agreed"` // the user has allowed it
}

// Change is a change set.
type Change struct {
	N       int    `json:"n"`
	Time    int64  `json:"time"`
	Tool    string `json:"tool"`
	Title   string `json:"title"`
	Summary string `json:"summary"`
	Undoes  []int  `json:"undoes"` // the change sets that it undoes
	Undone  bool   `json:"undone"`
}

// Work is an item of a work list.
type Work struct {
	ID      int    `json:"id"`
	Subject string `json:"subject"`
	Status  string `json:"status"`
	Owner   string `json:"owner"`
}

// Event is an event of a session.
type Event struct {
	Time   int64  `json:"time"`
	Source string `json:"source"`
	Text   string `json:"text"`
	Data   bool   `json:"data"` // another program or session wrote the text
}

func (l *Local) session(ctx context.Context, q sessionQuery) (any, error) {
	o, v, err := l.find(q.ID)
	if err != nil {
		return nil, err
	}
	h := History{Calls: []Past{}, Changes: []Change{}, Work: []Work{}, Events: []Event{}}
	for _, e := range l.Journal.Entries(o) {
		h.Calls = append(h.Calls, Past{e.ID, ms(e.Time), e.Tool, e.Title, e.Path, e.ReadOnly, e.Outcome, e.Reason, e.Agreed})
	}
	for _, e := range l.Events.Recent(o) {
		h.Events = append(h.Events, Event{ms(e.Time), e.Source, e.Text, e.Data})
	}
	if h.Changes, err = l.changes(o); err != nil {
		h.Problem = "the changes cannot be read: " + plain.Line(err.Error())
	}
	if l.Work != nil {
		items, err := l.Work(ctx, v)
		if err != nil {
			h.Problem = "the work list cannot be read: " + plain.Line(err.Error())
		}
		for _, it := range items {
			h.Work = append(h.Work, Work{it.ID, it.Subject, string(it.Status), it.Owner})
		}
	}
	return h, nil
}

// changes returns the change sets of a session, the newest first.
func (l *Local) changes(o session.Owner) ([]Change, error) {
	out := []Change{}
	if l.Undo == nil {
		return out, nil
	}
	undone := map[int]int{} // number of paths
	list, err := l.Undo.List(maxSets, func(h *undo.Header) bool {
		// The undo of an undo makes its change sets hold again. Several sets are undone as a whole.
		if len(h.Undoes) > 0 && !h.Unfinished && undone[h.Number] == 0 {
			for _, n := range h.Undoes {
				if undone[n] += h.Paths; len(h.Undoes) > 1 {
					undone[n] = math.MaxInt
				}
			}
		}
		return l.Undo.Mine(h, o) || l.Undo.Mine(h, consoleOwner)
	})
	mine := map[int]bool{}
	for _, h := range list {
		if l.Undo.Mine(&h, o) {
			mine[h.Number] = true
		}
	}
	for _, h := range list {
		if !mine[h.Number] && !slices.ContainsFunc(h.Undoes, func(n int) bool { return mine[n] }) {
			continue // an undo from here of another session's changes
		}
		summary := fmt.Sprintf("%d paths", h.Paths)
		if h.Paths == 1 {
			summary = "1 path"
		}
		out = append(out, Change{h.Number, ms(h.Began), h.Tool, h.Title, summary, append([]int{}, h.Undoes...), h.Paths > 0 && undone[h.Number] >= h.Paths})
	}
	return out, err
}

// consoleOwner is the owner of undos from the console.
var consoleOwner = session.Owner{Principal: "console", Session: "console"}

type changeQuery struct {
	Session string   `json:"session"`
	N       int      `json:"n"`
	Paths   []string `json:"paths"`
}

// Changed describes a change set with its paths.
type Changed struct {
	N     int           `json:"n"`
	Paths []ChangedPath `json:"paths"`
}

// ChangedPath is the change at one path.
type ChangedPath struct {
	Path string `json:"path"`
	What string `json:"what"`
	Diff string `json:"diff"`
	Note string `json:"note"` // why there is no diff; may be ""
}

// set returns a change set of a session, or an undo of one from the console.
func (l *Local) set(q changeQuery) (*undo.Set, error) {
	o, _, err := l.find(q.Session)
	if err != nil {
		return nil, err
	}
	list, err := l.changes(o)
	switch {
	case slices.ContainsFunc(list, func(c Change) bool { return c.N == q.N }):
		return l.Undo.Get(q.N)
	case err != nil:
		return nil, fmt.Errorf("reading the change sets: %w", err)
	}
	return nil, missing(fmt.Sprintf("the session has no change set %d", q.N), "Look at its changes.")
}

func (l *Local) change(ctx context.Context, q changeQuery) (any, error) {
	set, err := l.set(q)
	if err != nil {
		return nil, err
	}
	shown, err := l.Undo.Show(ctx, set)
	if err != nil {
		return nil, err
	}
	out := Changed{q.N, []ChangedPath{}}
	for _, s := range shown {
		out.Paths = append(out.Paths, ChangedPath(s))
	}
	return out, nil
}

// Undone is the answer to an undo.
type Undone struct {
	Text      string     `json:"text"`
	Conflicts []Conflict `json:"conflicts"`
}

// Conflict is a path that was not undone.
type Conflict struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

func (l *Local) undo(ctx context.Context, q changeQuery) (any, error) {
	if _, err := l.set(q); err != nil {
		return nil, err
	}
	out, err := l.Undo.Restore(ctx, undo.Request{Owner: consoleOwner, Numbers: []int{q.N}, Paths: q.Paths})
	switch {
	case err != nil && out.Number > 0:
		return nil, &Error{http.StatusInternalServerError, "the undo stopped: " + plain.Line(err.Error()), fmt.Sprintf("Undo %d again to finish it, or undo %d to take back what it did.", q.N, out.Number)}
	case err != nil:
		return nil, &Error{http.StatusConflict, fmt.Sprintf("%d cannot be undone: %s", q.N, plain.Line(err.Error())), "Look at the change set."}
	}
	root := ""
	if len(l.Roots) > 0 {
		root = l.Roots[0]
	}
	answer := Undone{out.Text(root, false), []Conflict{}}
	for _, s := range out.Refused {
		answer.Conflicts = append(answer.Conflicts, Conflict{s.Path, s.Text})
	}
	return answer, nil
}
