package front

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/identity"
)

// process is the process of a workspace.
type process interface {
	// roundTrip sends a request.
	roundTrip(*http.Request) (*http.Response, error)
	// ready waits until the process takes requests. It fails if it ends before.
	ready(context.Context) error
	// end asks the process to end.
	end()
	// kill ends the process at once.
	kill()
	// done is closed when the process has ended and nothing of it is left.
	done() <-chan struct{}
	// how describes the end of a process that has ended.
	how() string
}

// workspace is a workspace with its process, if it runs.
type workspace struct {
	f    *Front
	spec *Spec

	mu       sync.Mutex
	process  process  // nil: none, or it is starting or ending
	changing *attempt // to start or end it; nil: neither
	active   int      // requests in progress
	idle     *time.Timer
	starts   []time.Time // in the last startTime
	seen     map[seen]identity.Principal
	closed   bool
}

// attempt is an attempt to start or end a process.
type attempt struct {
	done chan struct{}
	err  error // set when done is closed
}

// seen identifies a principal with one of its tokens.
type seen struct {
	id string
	by identity.Hash
}

const (
	// maxStarts is the limit of starts in startTime, so that a process that crashes at each start is
	// not started again and again.
	maxStarts = 5
	startTime = time.Minute
	// readyTime is the time in which a process must be ready.
	readyTime = time.Minute
	// endGrace is the time that a process may take to end, after the time for its calls.
	endGrace = 5 * time.Second
	askTime  = 5 * time.Second
	maxSeen  = 10_000
)

// same reports whether two rules describe a workspace in the same way.
func (s *Spec) same(other *Spec) bool { return reflect.DeepEqual(s, other) }

// running reports whether the process runs.
func (w *workspace) running() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.process != nil
}

// enter returns the process for a request of a principal, and starts it if there is none. The caller
// must call leave after a success.
func (w *workspace) enter(ctx context.Context, by identity.Principal) (process, error) {
	var waited *attempt
	for {
		w.mu.Lock()
		p, change := w.process, w.changing
		if p != nil && ended(p) {
			w.crashed(p)
			p = nil
		}
		switch {
		case w.closed:
			w.mu.Unlock()
			return nil, errClosing
		case p != nil:
			w.active++
			if w.idle != nil {
				w.idle.Stop()
			}
			if len(w.seen) < maxSeen && strings.HasPrefix(by.ID, named) {
				w.seen[seen{by.ID, by.By}] = by
			}
			w.mu.Unlock()
			return p, nil
		case waited != nil && waited.err != nil:
			w.mu.Unlock()
			return nil, waited.err
		case change == nil:
			var err error
			if change, err = w.start(by); err != nil {
				w.mu.Unlock()
				return nil, err
			}
		}
		w.mu.Unlock()
		select {
		case <-change.done:
			waited = change
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// start begins an attempt to start the process. The caller holds mu.
func (w *workspace) start(by identity.Principal) (*attempt, error) {
	now := time.Now()
	for len(w.starts) > 0 && now.Sub(w.starts[0]) >= startTime {
		w.starts = w.starts[1:]
	}
	if len(w.starts) >= maxStarts {
		return nil, &refusal{reason: "starts", status: http.StatusServiceUnavailable, code: codeOverload, wait: startTime - now.Sub(w.starts[0]),
			text: fmt.Sprintf("the workspace of this user ended %d times within a minute; try again later, and tell the operator, whose log has the reason", maxStarts)}
	}
	w.starts = append(w.starts, now)
	a := &attempt{done: make(chan struct{})}
	w.changing = a
	go func() {
		p, err := w.launch(by)
		w.mu.Lock()
		defer w.mu.Unlock()
		if err == nil && w.closed {
			p.kill()
			err = errClosing
		}
		if w.changing, a.err = nil, err; err == nil {
			w.process = p
			w.f.figures.started()
			w.rest()
			go w.watch(p)
		}
		close(a.done)
	}()
	return a, nil
}

// launch starts the process and waits until it is ready.
func (w *workspace) launch(by identity.Principal) (process, error) {
	own, err := owner(w.spec.User)
	if err == nil {
		err = w.spec.prepare(w.f.Rules.Base, by, own)
	}
	if err != nil {
		return nil, err
	}
	p, err := w.f.start(w.spec)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	if err := p.ready(ctx); err != nil {
		p.kill()
		<-p.done()
		return nil, fmt.Errorf("the process was not ready: %w: %s", err, p.how())
	}
	w.f.Log.Info("a workspace was started", "workspace", w.spec.Name)
	return p, nil
}

// watch forgets a process that ends by itself.
func (w *workspace) watch(p process) {
	<-p.done()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.process == p {
		w.crashed(p)
	}
}

// crashed forgets a process that has ended by itself. The caller holds mu.
func (w *workspace) crashed(p process) {
	w.process = nil
	w.f.figures.crashed()
	w.f.Log.Error("a workspace ended by itself; its sessions are gone", "workspace", w.spec.Name, "how", p.how())
}

func ended(p process) bool {
	select {
	case <-p.done():
		return true
	default:
		return false
	}
}

// leave ends a request.
func (w *workspace) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active--
	w.rest()
}

// rest starts the time after which the process ends, if it is not used. The caller holds mu.
func (w *workspace) rest() {
	if w.active > 0 || w.process == nil || w.closed {
		return
	}
	if w.idle == nil {
		w.idle = time.AfterFunc(w.f.Idle, w.endIdle)
		return
	}
	w.idle.Reset(w.f.Idle)
}

// BusyPath is the path at which a process says what it does; "" means nothing. EndPath is the path
// at which it takes the principals whose sessions end.
const BusyPath, EndPath = "/own/busy", "/own/end"

// endIdle ends the process unless it has work.
func (w *workspace) endIdle() {
	w.mu.Lock()
	p := w.process
	w.mu.Unlock()
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	busy, err := ask(ctx, p, BusyPath, nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.process != p || w.active > 0 || w.closed {
		return
	}
	if err != nil || strings.TrimSpace(busy) != "" || len(stored(w.spec.State, "schedules.json", "schedules", "id")) > 0 {
		w.rest()
		return
	}
	a := &attempt{done: make(chan struct{})}
	w.process, w.changing = nil, a
	go func() {
		w.stop(p)
		w.f.Log.Info("an unused workspace was ended", "workspace", w.spec.Name)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changing = nil
		close(a.done)
	}()
}

// stop ends a process, by force if it does not end in time.
func (w *workspace) stop(p process) {
	p.end()
	late := time.NewTimer(w.f.Drain + endGrace)
	defer late.Stop()
	select {
	case <-p.done():
	case <-late.C:
		w.f.Log.Warn("a workspace did not end in time", "workspace", w.spec.Name)
		p.kill()
		<-p.done()
	}
}

// close ends the process for good, and waits for its end.
func (w *workspace) close() {
	w.mu.Lock()
	w.closed = true
	if w.idle != nil {
		w.idle.Stop()
	}
	p, change := w.process, w.changing
	w.process = nil
	w.mu.Unlock()
	if change != nil {
		<-change.done // it has seen closed
	}
	if p != nil {
		w.stop(p)
	}
}

// endPrincipals ends the sessions of principals for which valid returns false.
func (w *workspace) endPrincipals(valid func(identity.Principal) bool) {
	w.mu.Lock()
	p := w.process
	var gone []identity.Principal
	for key, one := range w.seen {
		if !valid(one) {
			gone = append(gone, one)
			delete(w.seen, key)
		}
	}
	w.mu.Unlock()
	if p == nil || len(gone) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	if _, err := ask(ctx, p, EndPath, gone); err != nil {
		w.f.Log.Error("a workspace could not end the sessions of removed users, and is ended", "workspace", w.spec.Name, "error", err.Error())
		p.kill()
	}
}

// Running returns the descriptions of the workspaces whose processes run.
func (f *Front) Running() (out []*Spec) {
	for _, w := range f.all() {
		if w.running() {
			out = append(out, w.spec)
		}
	}
	return out
}

// recorded returns the principals of all workspaces.
func (r *Rules) recorded() (all []identity.Principal) {
	entries, err := os.ReadDir(r.Base + "/" + records)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			if rec, err := readRecord(r.Base, name); err == nil {
				all = append(all, rec.Principal)
			}
		}
	}
	return all
}
