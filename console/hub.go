package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"mcp-toolset/console/feed"
	"mcp-toolset/internal/text/plain"
)

const (
	// findEvery is the interval in which the hub looks for new servers while there is a stream. The
	// first snapshot waits for their answers until the second look.
	findEvery = time.Second
	// mostCalls is the limit of finished calls of a server that a snapshot has.
	mostCalls = 1000
	// maxQueued limits the events that wait for a slow reader, in number and bytes. Beyond it the
	// reader gets a snapshot instead.
	maxQueued      = 256
	maxQueuedBytes = 4 << 20
)

// Servers returns the present servers by their ids.
type Servers func() (map[string]feed.Source, error)

// hub watches all servers for all streams. It watches none while there is no stream.
type hub struct {
	servers Servers

	mu      sync.Mutex
	streams map[*stream]bool
	stop    context.CancelFunc // ends watching; nil: nothing is watched
	begun   bool               // streams may have snapshots
	done    sync.WaitGroup
	state   map[string]*watched
	last    uint64 // id of the last event
	closed  bool
}

// watched is the state of one server.
type watched struct {
	feed.Server
	calls    map[uint64]feed.Call // those that have not finished
	finished []feed.Call          // the last ones
	alive    bool                 // it is being watched
	known    bool                 // it has sent its state, or a problem
}

// stream is one reader of events.
type stream struct {
	ready chan struct{} // has one token if there is something to send

	// The lock of the hub guards these.
	queue []message
	bytes int
	whole bool // a snapshot is due in place of the queue
}

// message is one event.
type message struct {
	id    uint64
	event string
	data  []byte
}

func newHub(s Servers) *hub {
	return &hub{servers: s, streams: map[*stream]bool{}, state: map[string]*watched{}}
}

// join adds a stream. It returns nil if there are maxStreams. The first message of a stream is
// a snapshot. The caller must call leave.
func (h *hub) join() *stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.streams) >= maxStreams {
		return nil
	}
	s := &stream{ready: make(chan struct{}, 1), whole: true}
	h.streams[s] = true
	s.wake()
	if h.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		h.stop, h.begun = stop, false
		h.find(ctx)
		h.settle()
		h.done.Go(func() { h.follow(ctx) })
	}
	return s
}

// settle begins if all servers that were found have answered or ended. The caller must hold the lock.
func (h *hub) settle() {
	for _, w := range h.state {
		if !w.known {
			return
		}
	}
	h.begin()
}

// begin lets streams have their first snapshot. The caller must hold the lock.
func (h *hub) begin() {
	if h.begun {
		return
	}
	h.begun = true
	for s := range h.streams {
		s.wake()
	}
}

// leave removes a stream. The last one ends all watching.
func (h *hub) leave(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, s)
	if len(h.streams) == 0 && h.stop != nil {
		h.stop()
		h.stop = nil
		h.state = map[string]*watched{}
	}
}

// close ends all watching and waits for its end.
func (h *hub) close() {
	h.mu.Lock()
	if h.closed = true; h.stop != nil {
		h.stop()
	}
	h.mu.Unlock()
	h.done.Wait()
}

func (s *stream) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// take returns the next events of a stream.
func (h *hub) take(s *stream) []message {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case s.whole && !h.begun:
		return nil
	case s.whole:
		s.whole, s.queue, s.bytes = false, nil, 0
		return []message{h.snapshot()}
	}
	out := s.queue
	s.queue, s.bytes = nil, 0
	return out
}

// snapshot returns the whole state. The caller must hold the lock.
func (h *hub) snapshot() message {
	list := []feed.Server{}
	for _, id := range slices.Sorted(maps.Keys(h.state)) {
		if w := h.state[id]; w.known {
			list = append(list, w.whole())
		}
	}
	return message{h.last, "snapshot", encode(map[string]any{"servers": list})}
}

func (w *watched) whole() feed.Server {
	s := w.Server
	s.Calls = append([]feed.Call{}, w.finished...)
	s.Calls = append(s.Calls, slices.SortedFunc(maps.Values(w.calls), func(a, b feed.Call) int { return cmp.Compare(a.Number, b.Number) })...)
	return s
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot happen: strings, numbers and lists of them
	}
	return data
}

// send queues an event for all streams. The caller must hold the lock.
func (h *hub) send(event string, v any) {
	h.last++
	m := message{h.last, event, encode(v)}
	for s := range h.streams {
		if !s.whole {
			s.queue = append(s.queue, m)
			s.bytes += len(m.data)
			if len(s.queue) > maxQueued || s.bytes > maxQueuedBytes {
				s.whole, s.queue, s.bytes = true, nil, 0
			}
		}
		s.wake()
	}
}

// sendServer queues the whole state of a server. The caller must hold the lock.
func (h *hub) sendServer(w *watched) { h.send("server", map[string]any{"server": w.whole()}) }

// unanswered returns the state of a server that has not sent one.
func unanswered(id string) feed.Server {
	return feed.Server{ID: id, Name: id, Tasks: []feed.Task{}, Approvals: []feed.Approval{}, Sessions: []feed.Session{}}
}

// follow looks for servers until ctx ends.
func (h *hub) follow(ctx context.Context) {
	ticker := time.NewTicker(findEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			h.mu.Lock()
			if ctx.Err() == nil {
				h.begin()
				h.find(ctx)
			}
			h.mu.Unlock()
		}
	}
}

// find begins to watch new servers. The caller must hold the lock.
func (h *hub) find(ctx context.Context) {
	sources, err := h.servers()
	if err != nil {
		h.trouble(err)
		return
	}
	for id, source := range sources {
		if w := h.state[id]; w == nil || !w.alive {
			if w == nil {
				w = &watched{Server: feed.Server{ID: id}}
			}
			w.alive = true
			h.state[id] = w
			h.done.Go(func() { h.watch(ctx, id, source, w) })
		}
	}
	for id, w := range h.state {
		if sources[id] == nil && !w.alive {
			delete(h.state, id)
			h.send("gone", map[string]string{"id": id})
		}
	}
}

// noServers is the id under which the reason is shown why no servers can be found.
const noServers = "servers"

// trouble shows why no servers can be found. The caller must hold the lock.
func (h *hub) trouble(err error) {
	text := plain.Line(err.Error())
	if w := h.state[noServers]; w != nil && w.Problem == text {
		return
	}
	w := &watched{known: true, Server: unanswered(noServers)}
	w.Problem = text
	h.state[noServers] = w
	h.sendServer(w)
}

// watch follows one server until ctx or the server ends.
func (h *hub) watch(ctx context.Context, id string, source feed.Source, w *watched) {
	err := source.Watch(ctx, func(u feed.Update) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		w.known = true
		h.apply(id, w, u)
		h.settle()
		return nil
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	defer h.settle()
	w.alive = false
	var refused *feed.Error
	switch {
	case !errors.As(err, &refused):
		// It has ended, or was killed before.
		delete(h.state, id)
		if w.known {
			h.send("gone", map[string]string{"id": id})
		}
	case w.Problem != refused.Error(): // tried again with the next search
		if !w.known {
			w.Server = unanswered(id)
		}
		w.known, w.Problem = true, refused.Error()
		h.sendServer(w)
	}
}

// apply changes the state of a server and sends the change.
func (h *hub) apply(id string, w *watched, u feed.Update) {
	if u.Server != nil {
		w.Server, w.finished, w.calls = *u.Server, nil, map[uint64]feed.Call{}
		w.ID, w.Calls = id, nil
		w.add(u.Server.Calls)
		h.sendServer(w)
		return
	}
	if len(u.Calls) > 0 {
		w.add(u.Calls)
		h.send("calls", map[string]any{"id": id, "calls": u.Calls})
	}
	if u.Tasks != nil {
		w.Tasks = *u.Tasks
		h.send("tasks", map[string]any{"id": id, "tasks": w.Tasks})
	}
	if u.Approvals != nil {
		w.Approvals = *u.Approvals
		h.send("approvals", map[string]any{"id": id, "approvals": w.Approvals})
	}
	if u.Sessions != nil {
		w.Sessions = *u.Sessions
		h.send("sessions", map[string]any{"id": id, "sessions": w.Sessions})
	}
}

// add records changed calls.
func (w *watched) add(calls []feed.Call) {
	for _, c := range calls {
		if c.Stage != "done" {
			w.calls[c.Number] = c
			continue
		}
		delete(w.calls, c.Number)
		w.finished = append(w.finished, c)
	}
	if over := len(w.finished) - mostCalls; over > 0 {
		w.finished = slices.Clone(w.finished[over:])
	}
}
