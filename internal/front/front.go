// Package front gives each user of an HTTP server a workspace of its own: a child process that runs
// the same program, with its own folders, home, state and environment. The front finds the workspace
// of a principal by rules, starts its process on demand, and passes requests on to it.
//
// A front and a process are connected by sockets without a name, one for each connection, which the
// front sends to the process. Nothing else can connect, so the process trusts the principal that the
// front passes with each request.
//
// The body of a request is complete in memory before it is passed on. A proxy that streams it cuts
// answers: https://github.com/golang/go/issues/40747.
package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"mcp-toolset/internal/event/trigger"
	"mcp-toolset/internal/identity"
)

// Config holds the parameters of a front.
type Config struct {
	Rules   *Rules
	Program Program
	Idle    time.Duration // after which an unused process ends
	Drain   time.Duration // that the calls of a process have to finish when it ends
	Log     *slog.Logger

	start func(*Spec) (process, error) // nil: as Program says
}

// Front passes requests on to the processes of workspaces.
type Front struct {
	Config
	figures figures
	groups  *groups // control groups; nil: no rule limits memory or processors

	mu     sync.Mutex
	of     map[string]*workspace
	meters map[string]*meter // by ID of the principal
	closed bool
}

// New returns a front. It fails if the limits of its rules cannot hold on this machine.
func New(c Config) (*Front, error) {
	f := &Front{Config: c, of: map[string]*workspace{}, meters: map[string]*meter{}}
	if f.start == nil {
		f.start = f.run
	}
	if info, err := os.Stat(c.Rules.Base); c.Rules.hasUsers() && err == nil && info.Mode().Perm()&0o001 == 0 {
		return nil, fmt.Errorf("a rule has a user, who cannot enter %s; run chmod 711 on it", c.Rules.Base)
	}
	if c.Rules.limitsMachine() {
		var err error
		if f.groups, err = openGroups("/sys/fs/cgroup", "/proc/self/cgroup"); err != nil {
			return nil, fmt.Errorf("memoryMB and cpu need a control group of version 2 that this program may divide (systemd: Delegate=yes): %w", err)
		}
	}
	return f, nil
}

// Wake starts the workspaces that have durable schedules, which would not fire otherwise.
func (f *Front) Wake(ctx context.Context) {
	for _, p := range f.Rules.recorded() {
		s, ok := f.Rules.Find(p)
		if !ok || len(stored(s.State, "schedules.json", "schedules", "id")) == 0 {
			continue
		}
		if w, err := f.workspace(s); err == nil {
			if _, err := w.enter(ctx, p); err == nil {
				w.leave()
			}
		}
	}
}

// Serve passes a request of a principal on to the process of its workspace. read returns the complete
// body, or answers and returns false.
func (f *Front) Serve(w http.ResponseWriter, r *http.Request, read func() ([]byte, bool)) {
	by := identity.From(r.Context())
	spec, ok := f.Rules.Find(by)
	if !ok {
		f.figures.refused("no workspace")
		http.Error(w, "no workspace is configured for this user", http.StatusForbidden)
		return
	}
	m := f.meterOf(by.ID, spec.Limits)
	if wait := m.late(); wait > 0 {
		f.refuse(w, nil, &refusal{reason: "rate", status: http.StatusTooManyRequests, code: codeLimit, wait: wait,
			text: fmt.Sprintf("this user sends more than %d requests a minute; wait and send it again", spec.Limits.RequestsPerMinute)})
		return
	}
	body, ok := read()
	if !ok {
		return
	}
	if m.counts(body) {
		if !m.enter() {
			f.refuse(w, body, &refusal{reason: "calls", status: http.StatusTooManyRequests, code: codeLimit, wait: time.Second,
				text: fmt.Sprintf("%d calls of this user are in progress; send it again when one has ended", spec.Limits.Calls)})
			return
		}
		defer m.leave()
	}
	f.toWorkspace(w, r, spec, by, r.URL.Path, body)
}

// Trigger passes a request to /events/WORKSPACE/NAME on. principal is the ID of its sender; "" if it
// has no token. It returns the text of an answer with status 401, or "".
func (f *Front) Trigger(w http.ResponseWriter, r *http.Request, principal string, read func() ([]byte, bool)) (unauthorized string) {
	name, hook, ok := cutTwo(r.URL.Path[len(trigger.Path):])
	spec := f.known(name)
	var space *workspace
	if ok && spec != nil && (principal != "" || r.Header.Get(trigger.Header) != "") {
		space, _ = f.workspace(spec)
	}
	if space == nil || !space.running() && !contains(stored(spec.State, "triggers.json", "triggers", "name"), hook) {
		if principal == "" {
			return trigger.Unsigned
		}
		http.Error(w, trigger.Unknown(hook), http.StatusNotFound)
		return ""
	}
	body, ok := read()
	if !ok {
		return ""
	}
	caught := &catch{ResponseWriter: w}
	f.toWorkspace(caught, r, spec, identity.Principal{ID: principal}, trigger.Path+hook, body)
	return caught.text.String()
}

// toWorkspace passes a request on.
func (f *Front) toWorkspace(w http.ResponseWriter, r *http.Request, spec *Spec, by identity.Principal, path string, body []byte) {
	space, err := f.workspace(spec)
	for err == nil {
		var p process
		if p, err = space.enter(r.Context(), by); err != nil {
			break
		}
		f.figures.passed(spec.Name)
		sent := func() bool {
			defer space.leave()
			return f.pass(w, r, p, by, path, body)
		}()
		if sent {
			return
		}
		select { // nothing was sent: it has ended
		case <-p.done():
		case <-r.Context().Done():
			return
		}
	}
	var no *refusal
	switch {
	case errors.As(err, &no):
		f.refuse(w, body, no)
	case r.Context().Err() == nil:
		f.Log.Error("a workspace could not be started", "workspace", spec.Name, "error", err.Error())
		f.refuse(w, body, &refusal{reason: "start", status: http.StatusServiceUnavailable, code: codeOverload, wait: time.Second,
			text: "the workspace of this user could not be started; tell the operator, whose log has the reason"})
	}
}

// EndPrincipals ends the sessions of principals for which valid returns false.
func (f *Front) EndPrincipals(valid func(identity.Principal) bool) {
	for _, w := range f.all() {
		w.endPrincipals(valid)
	}
}

// Close ends all processes, and waits for their end.
func (f *Front) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	var all sync.WaitGroup
	for _, w := range f.all() {
		all.Go(w.close)
	}
	all.Wait()
}

func (f *Front) all() (all []*workspace) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.of {
		all = append(all, w)
	}
	return all
}

// workspace returns the workspace that a rule describes.
func (f *Front) workspace(s *Spec) (*workspace, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.of[s.Name]
	switch {
	case f.closed:
		return nil, errClosing
	case w == nil:
		w = &workspace{f: f, spec: s, seen: map[seen]identity.Principal{}}
		f.of[s.Name] = w
	case w.spec.template != s.template || !w.spec.same(s):
		return nil, fmt.Errorf("two rules give the workspace %s in different ways; give them names that differ, or the same properties", s.Name)
	}
	return w, nil
}

// known returns the description of a workspace that has been used before, or nil.
func (f *Front) known(name string) *Spec {
	if !validName.MatchString(name) {
		return nil
	}
	r, err := readRecord(f.Rules.Base, name)
	if err != nil {
		return nil
	}
	if s, ok := f.Rules.Find(r.Principal); ok && s.Name == name {
		return s
	}
	return nil
}

// The codes of errors of JSON-RPC, as in package server.
const codeLimit, codeOverload = -32029, -32000

// refusal is the reason for which a request is not passed on.
type refusal struct {
	reason string // for the figures
	status int
	code   int
	wait   time.Duration
	text   string
}

func (r *refusal) Error() string { return r.text }

var errClosing = &refusal{reason: "ending", status: http.StatusServiceUnavailable, code: codeOverload, wait: time.Second, text: "the server is ending; send this again when it is back"}

// refuse answers a request with an error. body is its body, as far as it was read.
func (f *Front) refuse(w http.ResponseWriter, body []byte, r *refusal) {
	f.figures.refused(r.reason)
	w.Header().Set("Retry-After", strconv.Itoa(int((r.wait+time.Second-1)/time.Second)))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	text, _ := json.Marshal(r.text)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", idOf(body), r.code, text)
}
