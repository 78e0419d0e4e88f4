package server

// This file is how the body of an HTTP request is read: within the limits of
// size and time, and of the bytes that all requests together may hold.

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	maxBody = 16 << 20 // bytes of one request

	// maxBodies bounds the bytes that bodies of requests in progress take. Those
	// that have not grown beyond smallBody have a share of their own, so that a
	// cancel comes through when large ones take all the rest.
	maxBodies      = 256 << 20
	smallBody      = 64 << 10
	maxSmallBodies = 32 << 20
	// maxParsing bounds the larger bodies that are parsed at once, which takes
	// several times their size.
	maxParsing = 2
	// firstBody is where a body begins to grow: most messages fit.
	firstBody = 4 << 10
	// oneByte is how long a byte of a body that found no room is waited for.
	oneByte = 200 * time.Millisecond
	// bodyRetry is when to come again who found no room, in seconds.
	bodyRetry = "1"
)

// room is what all bodies may still take, in bytes.
type room struct {
	mu           sync.Mutex
	small, large int

	parsing chan struct{} // one element for each larger body that is being parsed
}

func newRoom(small, large int) *room {
	return &room{small: small, large: large, parsing: make(chan struct{}, maxParsing)}
}

// share is what a buffer of n bytes is taken from. The caller holds mu.
func (m *room) share(n int) *int {
	if n <= smallBody {
		return &m.small
	}
	return &m.large
}

func (m *room) take(n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	from := m.share(n)
	if *from < n {
		return false
	}
	*from -= n
	return true
}

func (m *room) give(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*m.share(n) += n
}

var errNoRoom = errors.New("requests in progress take all the memory there is for them")

// body is what has arrived of a request's body. It takes room as it grows, so
// that one that is announced and does not come holds next to nothing.
type body struct {
	room *room
	data []byte // all of its capacity is taken
}

// release gives the room back. The data must not be used any more.
func (b *body) release() {
	b.room.give(cap(b.data))
	b.data = nil
}

// grow makes room for more, up to expected bytes if that is known.
func (b *body) grow(expected int64) error {
	n := max(firstBody, 2*cap(b.data))
	if want := int(min(expected, maxBody)) + 1; want > len(b.data) { // with one byte more to see the end
		n = min(n, max(want, firstBody))
	}
	if !b.room.take(n) {
		return errNoRoom
	}
	data := make([]byte, len(b.data), n)
	copy(data, b.data)
	b.room.give(cap(b.data))
	b.data = data
	return nil
}

// readFrom reads to the end of r.
func (b *body) readFrom(r io.Reader, expected int64) error {
	for {
		if len(b.data) == cap(b.data) {
			if err := b.grow(expected); err != nil {
				return err
			}
		}
		n, err := r.Read(b.data[len(b.data):cap(b.data)])
		b.data = b.data[:len(b.data)+n]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readBody reads a request's body. What it returns must be released when the
// request is over, also beside a failure.
func readBody(w http.ResponseWriter, r *http.Request, from *room, timeout time.Duration) (*body, *httpFailure) {
	b := &body{room: from}
	tooLong := &httpFailure{status: http.StatusRequestEntityTooLarge, text: fmt.Sprintf("the body is over %d MiB", maxBody>>20)}
	if r.ContentLength > maxBody {
		return b, tooLong
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(timeout))
	err := b.readFrom(http.MaxBytesReader(w, r.Body, maxBody), r.ContentLength)
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return b, tooLong
	case errors.Is(err, errNoRoom):
		b.release()
		// With one more byte net/http knows that it is to hang up on somebody who
		// sends. It then waits a little with that: else the system might drop the
		// answer for what was sent and not read.
		_ = rc.SetReadDeadline(time.Now().Add(oneByte))
		_, _ = http.MaxBytesReader(w, r.Body, 0).Read(make([]byte, 1))
		return b, &httpFailure{status: http.StatusServiceUnavailable, rpc: &rpcError{
			code: codeOverload, text: err.Error() + "; send this one again when some are answered"}}
	case err != nil:
		return b, &httpFailure{status: http.StatusRequestTimeout, text: "the body did not arrive"}
	}
	_ = rc.SetReadDeadline(time.Time{}) // not before: the rest of a slow body must not be waited for
	return b, nil
}
