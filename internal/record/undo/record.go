package undo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

// Call describes a call whose changes are recorded.
type Call struct {
	Owner session.Owner
	Tool  string
	ID    string
	Title string
}

// Recording records the changes of one call. It is safe for concurrent use.
type Recording struct {
	s     *Store
	call  Call
	began time.Time
	whole bool  // the call may change anything in the roots
	start *tree // the listing before the call; nil if there is none
	why   error // why there is none
	// pending is the path of the file by Secure; "": none
	pending string

	mu      sync.Mutex
	exact   []Change // by Watch
	claimed []Change // by other calls meanwhile
	holds   int      // what still changes files for the call
	ended   func()   // called when nothing does any more
	late    bool     // the call has been answered
}

// Begin begins to record a call that may change anything in the roots. It stores what the
// call may change, for a limited time. It fails only if ctx ends.
func (s *Store) Begin(ctx context.Context, c Call) (*Recording, error) {
	r := &Recording{s: s, call: c, whole: true}
	if !Commands {
		r.why = errors.ErrUnsupported
		return r, nil
	}
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	r.start, r.why = s.checkpoint(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r.began = s.o.Now()
	s.active[r] = true
	return r, nil
}

// BeginExact begins to record a call that changes files only through Watch.
func (s *Store) BeginExact(c Call) *Recording {
	return &Recording{s: s, call: c, began: s.o.Now()}
}

func notCovered(n int, some []string) string {
	if n == 0 {
		return ""
	}
	names := plain.Line(strings.Join(some, ", "))
	if n > len(some) {
		names += fmt.Sprintf(" and %d more", n-len(some))
	}
	return names + " cannot be restored"
}

// Watch records the content of a file before it is replaced. It is a workspace.Watch.
func (r *Recording) Watch(path string, old *workspace.Old, data []byte) func(workspace.Written) {
	if workspace.Containing(r.s.o.Roots.Paths(), path) == "" {
		return nil
	}
	c := Change{Path: path}
	if r.s.lock(context.Background()) != nil {
		return nil
	}
	defer r.s.unlock()
	err := r.s.open()
	if err == nil && old != nil {
		c.Before = stateOf(fromInfo(old.Info))
		if old.Info.Size() <= maxExact {
			before := make([]byte, old.Info.Size())
			if _, failed := io.ReadFull(io.NewSectionReader(old.File, 0, old.Info.Size()), before); failed == nil {
				c.Before.Hash, err = r.s.objects.put(before, 0)
				c.Before.Known = err == nil
			}
		}
	}
	if err == nil && len(data) <= maxExact {
		c.After.Hash, err = r.s.objects.put(data, 0)
		c.After.Known = err == nil
	}
	if err != nil {
		r.s.o.Log.Warn("a change cannot be recorded for undo", "error", err.Error())
	}
	return func(w workspace.Written) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, made := range w.MadeDirs {
			if l := r.s.lookAt(made); l != nil && l.Info.IsDir() {
				r.add(Change{Path: made, After: stateOf(fromInfo(l.Info))})
			}
		}
		if l := r.s.lookAt(path); l != nil && workspace.IdentityOf(l.Info) == w.Identity {
			after := stateOf(fromInfo(l.Info))
			after.Known, after.Hash = c.After.Known && !w.Torn, c.After.Hash
			c.After = after
			r.add(c)
		}
	}
}

// add records a change, together with an earlier one of the same path.
func (r *Recording) add(c Change) {
	if i := slices.IndexFunc(r.exact, func(e Change) bool { return e.Path == c.Path }); i >= 0 {
		r.exact[i].After = c.After
		return
	}
	r.exact = append(r.exact, c)
}

func (s *Store) lookAt(path string) *workspace.Look {
	spot, err := s.o.Roots.Spot(path)
	if err != nil {
		return nil
	}
	defer spot.Close()
	l, err := spot.Look()
	if err != nil {
		return nil
	}
	return l
}

func stateOf(st stamp) State {
	return State{Kind: st.kind(), Mode: st.Mode & bits, Size: st.Size, User: st.User, Group: st.Group, Links: st.Links, Stamp: st, Known: st.kind() == Folder}
}

// MaxLate is the time for which the changes of processes that a command has left running are recorded.
// Later, most changes would be those of others.
const MaxLate = 10 * time.Minute

// Hold keeps the recording open after the end of the call, until release is called or a time has
// passed.
func (r *Recording) Hold(most time.Duration) (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds++
	timer := time.AfterFunc(most, func() { r.release(1 << 20) })
	return sync.OnceFunc(func() {
		timer.Stop()
		r.release(1)
	})
}

func (r *Recording) release(n int) {
	r.mu.Lock()
	r.holds -= n
	ended := r.ended
	if r.holds > 0 || ended == nil {
		r.mu.Unlock()
		return
	}
	r.ended = nil
	r.mu.Unlock()
	ended()
}

// End ends the recording and stores the change set. It returns a line for the answer of the
// call: what changed, with the number of the change set; "" if nothing changed. While something
// of the call still runs, it returns "", and the change set is stored later.
func (r *Recording) End(ctx context.Context) string {
	r.mu.Lock()
	if r.holds > 0 {
		r.late = true
		r.ended = func() { // the store waits for it when it is closed
			r.s.start(func() { r.end(context.WithoutCancel(ctx)) })
		}
		r.mu.Unlock()
		return ""
	}
	r.mu.Unlock()
	return r.end(context.WithoutCancel(ctx))
}

func (r *Recording) end(ctx context.Context) string {
	s := r.s
	if !r.whole {
		if len(r.exact) == 0 {
			return ""
		}
	} else if !Commands {
		return ""
	}
	if err := s.lock(ctx); err != nil {
		return ""
	}
	defer s.unlock()
	delete(s.active, r)
	if r.whole && r.start == nil {
		return s.say(r.why)
	}
	changes := r.exact
	if r.whole {
		var err error
		if changes, err = r.compare(ctx); err != nil {
			return s.say(err)
		}
	}
	if len(changes) == 0 {
		r.forgetPending()
		return ""
	}
	s.claim(r, changes)
	set := &Set{Header: r.header(), Changes: changes}
	if err := s.add(set, r.pending != ""); err != nil { // durable in place of the file by Secure
		s.o.Log.Warn("a change set cannot be stored", "error", err.Error())
		return fmt.Sprintf("changes of this call cannot be undone: %s", plain.Line(reason(err)))
	}
	r.forgetPending()
	s.tidy()
	return set.Line()
}

// header returns the header of the change set, as of now.
func (r *Recording) header() Header {
	return Header{
		Principal: r.call.Owner.Principal, Session: r.s.session(r.call.Owner), Tool: r.call.Tool, Call: r.call.ID, Title: r.call.Title,
		Began: r.began, Ended: r.s.o.Now(), Late: r.late, Exact: !r.whole,
	}
}

func (r *Recording) forgetPending() {
	if r.pending != "" {
		_ = os.Remove(r.pending)
	}
}

// say returns a line on changes that are not recorded, once for each reason. The caller must hold
// the lock.
func (s *Store) say(why error) string {
	text := reason(why)
	if text == s.said {
		return ""
	}
	s.said = text
	return fmt.Sprintf("changes cannot be undone from now on: %s", plain.Line(text))
}

// compare lists the roots and returns the changes since the beginning of the recording.
func (r *Recording) compare(ctx context.Context) ([]Change, error) {
	s := r.s
	fresh, err := s.look(ctx, listing)
	if err != nil {
		return nil, err
	}
	fresh.carryFrom(r.start)
	pairs := diff(r.start, fresh)
	if len(pairs) == 0 {
		return nil, nil
	}
	var jobs []job
	for _, p := range pairs {
		if p.after == nil {
			continue
		}
		if k := p.after.Stamp.kind(); (k == File && p.after.Stamp.Size <= maxFile || k == Link) && p.after.Content == nil {
			jobs = append(jobs, job{path: p.path, e: p.after})
		}
	}
	r.claimOthers()
	limited, cancel := context.WithTimeout(ctx, max(after, s.o.Now().Sub(r.began)/20))
	defer cancel()
	if s.copy(limited, jobs, 0) != nil {
		s.filled.Store(false)
		s.Warm() // runs when the lock is free
	}
	was, is := r.start.groups(), fresh.groups()
	had := sync.OnceValue(r.start.inodes)
	var out []Change
	for _, p := range pairs {
		c := Change{Path: p.path}
		if p.before != nil {
			c.Before = p.before.state(p.path, was)
		}
		if p.after != nil {
			c.After = p.after.state(p.path, is)
			c.After.Moved = p.before == nil && c.After.Kind == File && c.After.Links == 1 && r.isOlder(p.path) && !had()[inodeOf(p.after.Stamp)]
		}
		if r.unclaimed(&c) && !(c.Before.same(&c.After) && !c.relinked()) {
			out = append(out, c)
		}
	}
	return out, nil
}

// isOlder reports whether the file at a path was created before the call.
func (r *Recording) isOlder(path string) bool {
	at, ok := born(path)
	return ok && r.began.Sub(at) > young
}

// claim attributes changes to a recording alone, and not to others that run at the same time.
func (s *Store) claim(by *Recording, changes []Change) {
	for other := range s.active {
		if by == nil || !by.whole || !other.began.After(by.began) {
			other.claimed = append(other.claimed, changes...)
		}
	}
}

// claimOthers attributes to file tools and undos of other servers what they have changed since the
// beginning of the recording.
func (r *Recording) claimOthers() {
	have, err := r.s.numbers()
	if err != nil {
		return
	}
	var others []Change
	for _, n := range slices.Backward(have) {
		set, err := r.s.read(n, false)
		if err != nil {
			continue
		}
		if set.Ended.Before(r.began) {
			break
		}
		if !set.Exact || set.Unfinished || set.Began.Before(r.began) || strings.HasPrefix(set.Session, r.s.o.Instance+"-") {
			continue
		}
		if set, err = r.s.read(n, true); err == nil {
			others = append(slices.Clone(set.Changes), others...)
		}
	}
	r.claimed = append(r.claimed, others...)
}

// unclaimed takes from a change what others did. It returns false if nothing remains.
func (r *Recording) unclaimed(c *Change) bool {
	var first, last *Change
	for i := range r.claimed {
		if r.claimed[i].Path == c.Path {
			if first == nil {
				first = &r.claimed[i]
			}
			last = &r.claimed[i]
		}
	}
	switch {
	case first == nil:
		return true
	case last.After.same(&c.After):
		c.After = first.Before
	default:
		c.Before = last.After
	}
	return !c.Before.same(&c.After) || c.relinked()
}

// Line returns a line on the changes for an answer.
func (s *Set) Line() string {
	var modified, deleted, created, missing int
	var names []string
	for i := range s.Changes {
		c := &s.Changes[i]
		switch {
		case c.Before.Kind == Nothing:
			created++
		case c.After.Kind == Nothing:
			deleted++
		default:
			modified++
		}
		if !c.Before.restorable() {
			if missing++; len(names) < 3 {
				names = append(names, plain.Line(c.Path))
			}
		}
	}
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{modified, "modified"}, {deleted, "deleted"}, {created, "created"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	text := fmt.Sprintf("changed: %s (undo %d)", strings.Join(parts, ", "), s.Number)
	if missing > 0 {
		more := ""
		if missing > len(names) {
			more = fmt.Sprintf(" and %d more", missing-len(names))
		}
		text += fmt.Sprintf("; undo covers %d of %d, not: %s%s", len(s.Changes)-missing, len(s.Changes), strings.Join(names, ", "), more)
	}
	return text
}
