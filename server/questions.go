package server

import (
	"crypto/rand"
	"encoding/json"
	"sync"
)

// questions are the requests that the client of one conversation was sent and
// has not answered yet. An answer counts in the conversation it was asked for in
// and once; any other is dropped.
type questions struct {
	mu      sync.Mutex
	waiting map[string]chan message // by canonical id
	ended   bool
	gone    chan struct{} // closed when no answer can come any more
}

func newQuestions() *questions {
	return &questions{waiting: map[string]chan message{}, gone: make(chan struct{})}
}

// put makes room for an answer: id is that of the request to send. The caller
// forgets it when it no longer waits.
func (q *questions) put() (id string, answer <-chan message) {
	// The library numbers its requests; a word never collides with those. That
	// nobody can guess it keeps one client from answering for another even
	// where conversations were mixed up.
	id = "ask-" + rand.Text()
	room := make(chan message, 1)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting["s"+id] = room
	return id, room
}

// forget drops an answer that nobody waits for.
func (q *questions) forget(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, "s"+id)
}

// answer hands over what the client said, and reports whether it was asked.
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

// end says that no answer can come any more.
func (q *questions) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		q.ended = true
		close(q.gone)
	}
}

// encodeRequest is a request of ours as a message.
func encodeRequest(id, method string, params any) ([]byte, error) {
	return json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}
