package feed

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

const (
	// tick is the interval in which a watched server looks for changes of calls and approvals. It
	// looks for those of tasks and sessions each slow ticks.
	tick = 100 * time.Millisecond
	slow = 5
	// beat is the number of ticks after which a watcher gets an empty update, so that it notices a
	// server that does not answer.
	beat = 100
	// many is the number of approvals beyond which their list is sent only each slow ticks, and
	// maxShown the limit of a text in that list, in characters.
	many     = 100
	maxShown = 2000
)

// Config holds the parts of a server that its feed describes.
type Config struct {
	Name      string
	Version   string
	Transport string
	Mode      string
	Process   int
	Started   time.Time
	Roots     []string
	Scheduler *concurrency.Scheduler
	Ring      *Ring
	Approvals *approval.Store
	Parts
}

// Local is the feed of this process. It is safe for concurrent use.
type Local struct {
	Config

	mu       sync.Mutex
	sessions map[session.Owner]*used
}

// used is a session that has been used.
type used struct {
	view  session.View
	since time.Time
	last  int // number of calls that files was computed for
	files int
}

// mostSessions limits the sessions that are shown. The server ends those that are not used.
const mostSessions = 1000

// New returns a feed.
func New(c Config) *Local { return &Local{Config: c, sessions: map[session.Owner]*used{}} }

// Use records the use of a session.
func (l *Local) Use(v session.View) {
	o := v.Owner()
	l.mu.Lock()
	defer l.mu.Unlock()
	if u := l.sessions[o]; u != nil {
		u.view = v
		return
	}
	if len(l.sessions) < mostSessions {
		l.sessions[o] = &used{view: v, since: time.Now()}
	}
}

// Forget drops a session that has ended.
func (l *Local) Forget(o session.Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, o)
}

// client returns the name of the client of a lane or, if that is not known, the name of the lane.
func client(lane string, clients map[string]string) string {
	if name := clients[lane]; name != "" {
		return name
	}
	if lane != "" && lane[0] == '-' {
		return "client" + lane
	}
	return lane
}

// clients returns the names of clients by the names of their lanes, which are PRINCIPAL-ID.
func (l *Local) clients() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string]string, len(l.sessions))
	for o, u := range l.sessions {
		out[o.Principal+"-"+o.Session] = nameOf(u.view)
	}
	return out
}

// watcher holds the state that one watcher has.
type watcher struct {
	l          *Local
	finished   uint64
	calls      map[uint64]Call // those that have not finished
	generation uint64
	approvals  []Approval
	tasks      []Task
	sessions   []Session
}

// Watch implements Source.
func (l *Local) Watch(ctx context.Context, send func(Update) error) error {
	w := &watcher{l: l}
	if err := send(Update{Server: w.start()}); err != nil {
		return err
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		if u := w.next(n%slow == 0); n%beat == 0 || !reflect.ValueOf(u).IsZero() {
			if err := send(u); err != nil {
				return err
			}
		}
	}
}

// start returns the whole state of the server, from which next goes on.
func (w *watcher) start() *Server {
	l := w.l
	s := &Server{
		Name: l.Name, Process: l.Process, Version: l.Version, Transport: l.Transport, Started: ms(l.Started), Mode: l.Mode, Calls: []Call{},
	}
	clients := l.clients()
	present := l.Scheduler.Present() // before the finished ones
	var done []concurrency.Record
	done, w.finished, _ = l.Ring.since(0)
	for _, r := range done {
		s.Calls = append(s.Calls, callOf(r, "", clients))
		present = slices.DeleteFunc(present, func(p concurrency.Present) bool { return p.Number == r.Number })
	}
	w.calls = callsOf(present, clients)
	for _, n := range slices.Sorted(maps.Keys(w.calls)) {
		s.Calls = append(s.Calls, w.calls[n])
	}
	w.generation = l.Approvals.Generation()
	w.approvals, w.tasks, w.sessions = l.approvals(), l.tasks(), l.list()
	s.Approvals, s.Tasks, s.Sessions = w.approvals, w.tasks, w.sessions
	return s
}

// next returns the changes since the last update.
func (w *watcher) next(all bool) (u Update) {
	l := w.l
	present := l.Scheduler.Present() // before the finished ones, so that none is missed
	done, finished, whole := l.Ring.since(w.finished)
	if !whole {
		return Update{Server: w.start()}
	}
	if len(present) > 0 || len(done) > 0 {
		clients := l.clients()
		now := callsOf(present, clients)
		for _, r := range done {
			delete(now, r.Number)
			u.Calls = append(u.Calls, callOf(r, "", clients))
		}
		for _, n := range slices.Sorted(maps.Keys(now)) {
			if now[n] != w.calls[n] {
				u.Calls = append(u.Calls, now[n])
			}
		}
		w.finished, w.calls = finished, now
	}
	if g := l.Approvals.Generation(); g != w.generation && len(w.approvals) <= many || all {
		w.generation = g
		if list := l.approvals(); !reflect.DeepEqual(list, w.approvals) {
			w.approvals, u.Approvals = list, &list
		}
	}
	if all {
		if list := l.tasks(); !slices.Equal(list, w.tasks) {
			w.tasks, u.Tasks = list, &list
		}
		if list := l.list(); !reflect.DeepEqual(list, w.sessions) {
			w.sessions, u.Sessions = list, &list
		}
	}
	return u
}

// callsOf returns present calls by their numbers.
func callsOf(present []concurrency.Present, clients map[string]string) map[uint64]Call {
	out := map[uint64]Call{}
	for _, p := range present {
		out[p.Number] = callOf(p.Record, p.Waits, clients)
	}
	return out
}

var stages = map[concurrency.Stage]string{
	concurrency.StageArrived: "waiting", concurrency.StageTurn: "deciding", concurrency.StageSettled: "settled", concurrency.StageStarted: "running",
}

func callOf(r concurrency.Record, waits string, clients map[string]string) Call {
	stage := stages[r.Stage]
	if !r.Left.IsZero() {
		stage = "done"
	}
	return Call{
		Number: r.Number, Lane: client(r.Lane, clients), LaneNumber: r.LaneNumber, Tool: r.Kind, Title: r.Title, Safe: r.Safe, Stage: stage,
		Arrived: ms(r.Arrived), Turn: ms(r.Turn), Settled: ms(r.Settled), Started: ms(r.Started), Left: ms(r.Left),
		Waits: waits, Cancelled: r.Cancelled, Shared: r.Shared, Outcome: r.Outcome,
	}
}

// approvals returns the approvals and questions that wait, with long texts cut: the request
// "approval" has them in full.
func (l *Local) approvals() []Approval {
	out := []Approval{}
	for _, i := range l.Approvals.Items(0) {
		a := approvalOf(i)
		for _, text := range []*string{&a.Title, &a.Reason, &a.Covers, &a.Opens, &a.Further} {
			*text = plain.Cut(*text, maxShown)
		}
		a.Questions = slices.Clone(a.Questions)
		for i := range a.Questions {
			a.Questions[i].Body = plain.Cut(a.Questions[i].Body, maxShown)
		}
		out = append(out, a)
	}
	return out
}

func approvalOf(i approval.Item) Approval {
	a := Approval{
		Number: i.Number, Key: i.Key, Tool: i.Tool, Title: i.Title, Dir: i.Dir, Root: i.Root, Principal: i.Principal, Client: approval.AskedBy(i), Reason: i.Reason,
		Since: ms(i.Since), Ends: ms(i.Ends), Approved: i.Approved, Always: i.Always, Opens: i.Subject.Opens, Further: approval.FurtherText(i), Questions: i.Questions, Size: len(i.Input),
	}
	if a.Always == "" && a.Questions == nil {
		a.Covers = approval.SubjectText(i.Tool, i.Subject) + ", in the workspace " + i.Root
	}
	return a
}

// Ask implements Source.
func (l *Local) Ask(ctx context.Context, op string, params json.RawMessage) (json.RawMessage, error) {
	answer := answers[op]
	if answer == nil {
		return nil, missing("there is no request "+op, "Restart the server with the version of mcp-toolset that the console has.")
	}
	out, err := answer(l, ctx, params)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}
