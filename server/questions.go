package server

import (
	"crypto/rand"
	"encoding/json"
	"sync"
)

// questions holds the requests sent to one client that are not answered yet. An
// answer counts once and only in the conversation that asked. Any other answer
// is dropped.
type questions struct {
	mu      sync.Mutex
	waiting map[string]chan message // by canonical id
	ended   bool
	closed  chan struct{} // closed when no answer can come any more
}

func newQuestions() *questions {
	return &questions{waiting: map[string]chan message{}, closed: make(chan struct{})}
}

// register registers a question. id is the id for the request to send. The caller
// must call forget when it stops waiting.
func (q *questions) register() (id string, answer <-chan message) {
	// The library numbers its requests, so a word never collides with them. The
	// id is random, so that one client cannot answer for another even if
	// conversations were mixed up.
	id = "ask-" + rand.Text()
	room := make(chan message, 1)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting["s"+id] = room
	return id, room
}

// forget removes a question; its answer will be dropped.
func (q *questions) forget(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, "s"+id)
}

// answer delivers a client's answer, and reports whether the question was
// registered.
func (q *questions) answer(m message) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	room, asked := q.waiting[m.id]
	if asked {
		delete(q.waiting, m.id)
		room <- m
	}
	return asked
}

// end closes gone: no answer can come any more.
func (q *questions) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		q.ended = true
		close(q.closed)
	}
}

// encodeRequest returns a request of the server as a message.
func encodeRequest(id, method string, params any) ([]byte, error) {
	return json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}
